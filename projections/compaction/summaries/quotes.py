"""What a summary quotes of the user must be what the user said.

A summary that invents a user's consent is worse than none: whoever goes on acts upon it. So each
quotation that is ascribed to the user is looked for in what the user really said, white space,
typographic marks and case aside.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

LONG = 4
"""Words from which on a quotation counts as the user's wherever a line speaks of the user; shorter
ones may be names, and count where a word of saying stands before them."""

_QUOTED = re.compile(
    r"`[^`\n]*`"
    r'|"([^"\n]+)"|“([^”\n]+)”|„([^“”\n]+)[“”]|«([^»\n]+)»|「([^」\n]+)」|『([^』\n]+)』'
)
"""A quotation; or code, in which quotation marks are no quotation."""

_USER = re.compile(r"\b(?:users?|human|customer|client)\b|用户|ユーザー", re.I)
_SAYING = re.compile(
    r"\b(?:said|says|asked|asks|told|tells|wrote|writes|replied|replies|answered|stated|states"
    r"|agreed|agrees|approved|approves|confirmed|confirms|consented|allowed|allows|granted"
    r"|permitted|authori[sz]ed|accepted|requested|requests|demanded|insisted|instructed"
    r"|wants|wanted|prefers|preferred|message|messages|words?|quote|verbatim)\b"
    r"|说|要求|同意|确认|允许|批准|言った",
    re.I,
)
_SECTION = re.compile(r"^\s*(?:#{1,6}\s|\*\*|\d+[.)]\s)")
_USERS_WORDS = re.compile(r"user messages|user's (?:own )?words|what the user said|用户消息", re.I)
_GAP = re.compile(r"\s*(?:\.\.\.|…|\[…\]|\[\.\.\.\])\s*")
_FENCED = re.compile(r"^[ \t]*```.*?(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)
_SIGNS = str.maketrans(dict.fromkeys('"‘’“”`', "'") | dict.fromkeys("–—", "-"))
_ENDS = " \t.,;:!?。，！？\"'"


def invented(text: str, spoken: Iterable[str]) -> list[str]:
    """The quotations in a summary that are ascribed to the user and were never said.

    Args:
        text: The summary. What stands in backticks is no quotation.
        spoken: All that the user said. It is not asked for where there is nothing to check.
    """
    found = list(dict.fromkeys(ascribed(text)))
    if not found:
        return []
    said = [normalized(words) for words in spoken]
    return [quote for quote in found if not any(_is_in(quote, words) for words in said)]


def ascribed(text: str) -> Iterator[str]:
    """The quotations that a summary ascribes to the user."""
    of_user = False
    for line in _FENCED.sub("", text).splitlines():
        if _SECTION.match(line):
            of_user = bool(_USERS_WORDS.search(line))
        speaks = of_user or bool(_USER.search(line))
        if of_user and line.lstrip().startswith(">"):
            yield line.lstrip(" >")
            continue
        for match in _QUOTED.finditer(line) if speaks else ():
            quote = next(filter(None, match.groups()), "")
            said = of_user or _SAYING.search(line[: match.start()])
            if quote and (said or len(quote.split()) >= LONG):
                yield quote


def normalized(text: str) -> str:
    """A text with one blank for each run of white space, plain signs, in lower case."""
    plain = unicodedata.normalize("NFKC", text).translate(_SIGNS)
    return " ".join(plain.split()).casefold()


def _is_in(quote: str, said: str) -> bool:
    """Whether the parts of a quotation, ellipses between them, stand in what was said, in order."""
    at = 0
    parts = [part.strip(_ENDS) for part in map(normalized, _GAP.split(quote))]
    for number, part in enumerate(parts):
        pattern = _pattern(part, begins=number == 0, ends=number == len(parts) - 1)
        found = pattern.search(said, at) if part else None
        if part and found is None:
            return False
        at = found.end() if found else at
    return True


def _pattern(part: str, *, begins: bool, ends: bool) -> re.Pattern[str]:
    """Whole words, "go" is not said by "going"; an ellipsis may cut a word."""
    before = r"(?<![a-z0-9])" if begins and part[:1].isascii() and part[:1].isalnum() else ""
    after = r"(?![a-z0-9])" if ends and part[-1:].isascii() and part[-1:].isalnum() else ""
    return re.compile(before + re.escape(part) + after)
