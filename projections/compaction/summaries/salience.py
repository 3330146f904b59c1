"""Which of the user's messages matter most, told without a model.

Words that bind (never, must, until …) and exact values (numbers, paths, names in capitals) weigh
more than talk. Of two messages that differ in numbers only (amounts, dates), the later one counts:
a value that was replaced must not come back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_BINDING = re.compile(
    r"\b(?:never|always|must|mustn't|only|don't|do not|cannot|can't|should|shall|without|unless"
    r"|until|before|instead|not|no longer|prefers?|wants?|needs?|requires?|rule|constraint"
    r"|forbidden|deadline|budget|limit|cap|approv\w+|consent|confirm\w*|secret|private|remember"
    r"|important|goal|task|next|fix|decided?|use|keep|avoid|stop|question|awaiting)\b"
    r"|不要|不能|不得|必须|禁止|只能|务必|请勿|目标|必要|してください|禁止",
    re.I,
)
_EXACT = re.compile(r"\S*\d\S*|https?://\S+|\S*/\S+|`[^`]+`|\b[A-Z]{2,}\b|\b\w+_\w+\b")
_LABEL = re.compile(r"^\W*(?:[A-Z][A-Z _-]{2,}:|(?i:note|remember|important|rule)\b)", re.MULTILINE)
_NUMBER = re.compile(r"(?<!\w)[$€£¥]?\d[\d.,:/-]*%?(?!\w)")
_WORD = re.compile(r"\w+")

BINDING, EXACT, LABEL, MOST = 2, 1, 3, 6
"""What a binding word, an exact value and a label (``RULE: …``) weigh, and how many of each count.
Chosen: a demand outweighs any mention of a value."""


class Said(NamedTuple):
    """A message of the user.

    Attributes:
        order: Its place among them.
        text: What was said.
    """

    order: int
    text: str


def weight(text: str) -> int:
    """How much a message binds what comes after it."""
    binding = {found.group().casefold() for found in _BINDING.finditer(text)}
    exact = set(_EXACT.findall(text))
    label = LABEL if _LABEL.search(text) else 0
    return label + BINDING * min(len(binding), MOST) + EXACT * min(len(exact), MOST)


def current(texts: Iterable[str]) -> list[Said]:
    """The messages that were not replaced by a later one, in order; repeated ones count once."""
    newest: dict[frozenset[str], Said] = {}
    for order, text in enumerate(texts):
        if text.strip():
            newest[_shape(text)] = Said(order, text)
    return sorted(newest.values())


def _shape(text: str) -> frozenset[str]:
    """The words of a message without its numbers: these may be changed later on.

    Names with digits in them are words: a rule about ``t1`` does not replace one about ``t2``.
    """
    words = frozenset(word.casefold() for word in _WORD.findall(_NUMBER.sub(" ", text)))
    return words if len(words) >= 3 else frozenset({text.strip()})
