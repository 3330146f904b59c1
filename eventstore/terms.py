"""What people search for, and what a search gives: terms, hits and excerpts.

A text is prepared before it is compared, and so is a query:

* case, accents and other marks do not count, nor does the form in which Unicode writes a character
  (composed or not, full width, ligatures): ``STRASSE`` finds ``Straße``;
* a character of a script that writes no spaces (Chinese, Japanese, Korean, Thai, Lao, Khmer,
  Burmese) is a word of its own, so that a word of two characters is found as two neighbours,
  wherever it is; and so is an emoji;
* an identifier such as ``parseConfigFile`` is found whole and by its parts (``snake_case`` falls
  into its parts by itself).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from unicodedata import combining, normalize

from foldlog.eventstore.errors import StoreError
from foldlog.eventstore.facets import clean

CONTEXT = 60
"""Characters of an excerpt on either side of what was found."""

SPACELESS = re.compile(
    "(["
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # kana and iteration marks
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"  # Hangul
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "])"
)
"""Characters of scripts that write no spaces between words."""

EMOJI = re.compile("[\u231a-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]")
CAMEL = re.compile(r"\b[A-Za-z]+(?:[a-z0-9][A-Z]|[A-Z][A-Z][a-z])[A-Za-z0-9]*")
HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
TERM = re.compile(r'"([^"]*)"|(\S+)')
WORDS = re.compile(r"[^\W_]+")
"""What counts as a word: an underscore separates two of them."""
SIGNS = re.compile(f"{WORDS.pattern}|{EMOJI.pattern}")


@dataclass(frozen=True, slots=True)
class Hit:
    """One event in which something was found.

    Attributes:
        position: Its place in the store; pass it as ``before`` to search for the older ones.
        session, version, type: Which event.
        at: When it happened.
        tool: The tool it calls or answers.
        snippet: The text around what was found, on one line.
    """

    position: int
    session: str
    version: int
    type: str
    at: str
    tool: str | None
    snippet: str


@dataclass(frozen=True, slots=True)
class Term:
    """A word or phrase of a query.

    Attributes:
        spaced: Its words with spaces between them, without quotation marks.
        begins: Whether words that only begin with its last word match as well (``begin*``).
        written: As a person wrote it.
    """

    spaced: str
    begins: bool
    written: str

    @property
    def pattern(self) -> str:
        """A regular expression that finds it in a folded text, whatever is between its words."""
        return r"[\W_]*".join(map(re.escape, SIGNS.findall(fold(self.written))))

    def is_in(self, words: list[str]) -> bool:
        """Return whether its words follow one another in a list of folded words."""
        *wanted, last = WORDS.findall(fold(self.spaced))
        starts = range(len(words) - len(wanted))
        return any(
            words[start : start + len(wanted)] == wanted
            and _matches(last, words[start + len(wanted)], self.begins)
            for start in starts
        )


def parse(text: str) -> list[Term]:
    """Return the terms of a query.

    Raises:
        StoreError: There is no word in it.
    """
    terms = []
    for phrase, word in TERM.findall(text):
        written = phrase or word.rstrip("*")
        spaced = spread(written).replace('"', " ")
        if WORDS.search(spaced):
            terms.append(Term(spaced, word.endswith("*"), written))
    if not terms:
        raise StoreError(f"there is no word to look for in {text!r}. Search for letters or digits.")
    return terms


def says(text: str, terms: Iterable[Term]) -> bool:
    """Return whether all terms occur in a text; for backends without an index."""
    columns = [WORDS.findall(fold(column)) for column in (spread(text), parts(text))]
    return all(any(map(term.is_in, columns)) for term in terms)


def spread(text: str) -> str:
    """Return the text as words with something between them, as an index holds them."""
    found = (clean(text) or "").replace("\0", " ")
    if found.isascii():
        return found
    folded = SPACELESS.sub(r" \1 ", fold(normalize("NFKC", found)))
    return EMOJI.sub(lambda sign: f" emoji{ord(sign[0]):x} ", folded)


def parts(text: str) -> str:
    """Return the parts of the identifiers in camel case in a text, each identifier once."""
    identifiers = dict.fromkeys(CAMEL.findall(text))
    return " ".join(part for identifier in identifiers for part in HUMP.findall(identifier))


def excerpt(text: str, terms: Iterable[Term]) -> str:
    """Return the text around the first term that is found in it, on one line."""
    text = normalize("NFC", text)
    folded = fold(text)
    found = (re.search(term.pattern, folded) for term in terms)
    place = _before_folding(text, next((match.start() for match in found if match), 0))
    start = max(0, place - CONTEXT)
    end = place + 2 * CONTEXT
    shown = " ".join(text[start:end].split())
    return ("…" if start else "") + shown + ("…" if end < len(text) else "")


class _Folded(dict[int, str]):
    """Each character as it is compared: in lower case, without marks, in its plainest form."""

    def __missing__(self, code: int) -> str:
        plain = normalize("NFKC", chr(code)).casefold()
        if not SPACELESS.search(plain):  # Korean is left composed
            plain = normalize("NFKD", plain)
        self[code] = "".join(sign for sign in plain if not combining(sign))
        return self[code]


_FOLDED = _Folded()


def fold(text: str) -> str:
    """Return the text as it is compared; it may be shorter or longer than before."""
    return text.lower() if text.isascii() else text.translate(_FOLDED)


def _before_folding(text: str, place: int) -> int:
    """Return the place in a text of what is at a place in the folded text."""
    if text.isascii() or not place:
        return place
    lengths = accumulate(len(_FOLDED[ord(sign)]) for sign in text)
    return next(at for at, length in enumerate(lengths) if length > place)


def _matches(wanted: str, word: str, begins: bool) -> bool:
    return word.startswith(wanted) if begins else word == wanted
