"""Whether a reply may stand for what it summarizes: one small check for each reason to refuse it.

A summary takes the place of what happened, in the eyes of a model. So nothing is accepted that is
empty or cut off, that only fills in a form, that puts words into the user's mouth, or that is no
smaller than what it stands for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator

from foldlog.projections.summaries.failure import Reason, SummaryFailed
from foldlog.projections.summaries.task import SummaryReply, SummaryTask
from foldlog.projections.tokens.estimate import estimate

Problem = str | None
"""Why a reply is refused, as it is said to the model; None where it is not."""


def check(reply: SummaryReply, task: SummaryTask) -> None:
    """Accept a reply, or refuse it.

    Raises:
        SummaryFailed: It is refused: the first reason that was found, with what is known of the
            reply.
    """
    for reason, problem_of in CHECKS.items():
        problem = problem_of(reply, task)
        if problem:
            raise SummaryFailed(reason, problem, **reply.fields())


def not_a_call(reply: SummaryReply, task: SummaryTask) -> Problem:
    """Refuse a reply that called a tool."""
    return f"it called {', '.join(reply.calls)}; no tool may be called." if reply.calls else None


def not_cut_off(reply: SummaryReply, task: SummaryTask) -> Problem:
    """Refuse a reply that was cut off."""
    cut = reply.stop_reason in ("max_tokens", "model_context_window_exceeded")
    return f"it was cut off ({reply.stop_reason}); write less." if cut else None


def not_declined(reply: SummaryReply, task: SummaryTask) -> Problem:
    """Refuse the refusal of a model to answer."""
    return "the model refused to answer." if reply.stop_reason == "refusal" else None


def not_empty(reply: SummaryReply, task: SummaryTask) -> Problem:
    """Refuse a reply without a text."""
    return None if says_something(reply.text) else "it is empty."


def has_headings(reply: SummaryReply, task: SummaryTask) -> Problem:
    """Refuse a reply without the headings that are required."""
    there = sections(reply.text, task.required)
    missing = [name for name in task.required if name not in there]
    return f"these headings are missing: {', '.join(missing)}." if missing else None


def not_a_skeleton(reply: SummaryReply, task: SummaryTask) -> Problem:
    """Refuse an empty form: something must be said below the first heading, and below others."""
    there = sections(reply.text, task.headings)
    if not there:
        return None
    filled = [name for name, body in there.items() if says_something(body)]
    own = [name for name in filled if name.casefold() != (task.prompt.files or "").casefold()]
    first = task.headings[0]
    if own and (first not in there or first in filled):
        return None
    return f"nothing is said below {first!r}." if own else "its headings are empty."


def no_invented_quote(reply: SummaryReply, task: SummaryTask) -> Problem:
    """Refuse quotations of the user that the user never said."""
    found = invented(reply.text, task.spoken())
    quotes = "; ".join(f'"{quote}"' for quote in found)
    return f"the user never said {quotes}. Quote the user's own words or none." if found else None


def smaller(reply: SummaryReply, task: SummaryTask) -> Problem:
    """Refuse a reply that takes no fewer tokens than what it stands for."""
    size = estimate(reply.text)
    if size < task.replaces:
        return None
    return f"it takes {size:,} tokens, what it stands for takes {task.replaces:,}; write less."


def under_target(reply: SummaryReply, task: SummaryTask) -> Problem:
    """Refuse a reply that takes more tokens than there is room for."""
    size = estimate(reply.text)
    if task.at_most is None or size <= task.at_most:
        return None
    return f"it takes {size:,} tokens and there is room for {task.at_most:,}; write less."


CHECKS: dict[Reason, Callable[[SummaryReply, SummaryTask], Problem]] = {
    "tool_call": not_a_call,
    "cut_off": not_cut_off,
    "declined": not_declined,
    "empty": not_empty,
    "headings": has_headings,
    "skeleton": not_a_skeleton,
    "invented_quote": no_invented_quote,
    "not_smaller": smaller,
    "over_target": under_target,
}
"""All checks, in the order in which they are made."""


_MARKS = re.compile(r"^[\s#>*\d.)(-]+|[\s*:#]+$")
_NOTHING = re.compile(
    r"[\s\W]*(?:(?:none|nothing|n/?a|tbd|todo|unknown|empty|not applicable|无|没有)[\s\W]*)*", re.I
)
_ELEMENT = re.compile(r"\s*<(\w+)>(.*?)(?:</\1>)?\s*$")
_MARKED = re.compile(r"\s*(?:#{1,6}\s|\*\*|\d+[.)]\s|[-*]\s)")
_FILLED_IN = re.compile(r"\[[^\]\n]*\]|<[^>\n]*>|\.\.\.|…")
"""What a template has where something should be filled in."""


def sections(text: str, names: Iterable[str]) -> dict[str, str]:
    """Return the body below each of these headings that is there, by its name."""
    known = {_plain(name): name for name in names}
    found: dict[str, list[str]] = {}
    body: list[str] | None = None
    for line in text.splitlines():
        name, rest = _heading(line, known)
        if name is not None:
            body = found.setdefault(name, [])
            body.extend([rest] if rest else [])
        elif body is not None:
            body.append(line)
    return {name: "\n".join(lines).strip() for name, lines in found.items()}


def says_something(body: str) -> bool:
    """Return whether a body holds more than "none" or the brackets of a template."""
    return not _NOTHING.fullmatch(_FILLED_IN.sub("", body))


def _heading(line: str, known: dict[str, str]) -> tuple[str | None, str]:
    """Return the heading that a line is, and what stands after it on the line."""
    element = _ELEMENT.match(line)
    if element and element[1].casefold() in known:
        return known[element[1].casefold()], element[2]
    whole = known.get(_plain(line))
    if whole is not None:
        return whole, ""
    before, colon, rest = line.partition(":")
    name = known.get(_plain(before)) if colon and _is_marked(line, before) else None
    return name, rest.strip(" *_")


def _is_marked(line: str, before: str) -> bool:
    """Return whether a line that begins like a heading is one: marked, or in capitals."""
    return bool(_MARKED.match(line)) or before.isupper()


def _plain(line: str) -> str:
    return _MARKS.sub("", line).casefold()


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
    """Return the quotations in a summary that are ascribed to the user and were never said.

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
    """Yield the quotations that a summary ascribes to the user."""
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
    """Return a text with one blank for each run of white space, plain signs, in lower case."""
    plain = unicodedata.normalize("NFKC", text).translate(_SIGNS)
    return " ".join(plain.split()).casefold()


def _is_in(quote: str, said: str) -> bool:
    """Return whether the parts of a quotation, between ellipses, were said in this order."""
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
