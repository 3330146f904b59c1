"""What the log says of a stretch of a session, without judgement.

Read in one pass: of what may be large, only as much is kept as a digest can show.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from foldlog.eventstore.events import Event, Json
from foldlog.projections.summaries.task import SummaryTask, said
from foldlog.projections.tokens.truncate import one_line
from foldlog.projections.view.address import Handle
from foldlog.projections.wire.blocks import content_of, plain_text
from foldlog.projections.wire.tool_calls import Call, Calls, How, touch, touched_files

LINE = 400
"""The most characters of one message, command or error. Chosen: two sentences, or an error with
its place."""

REPLIES = 20
"""How many of the agent's newest texts are kept. Chosen: more than any digest has room for."""


class Facts:
    """What the log says of a task's ranges.

    Attributes:
        done: The commands that ran and the other calls that touched no file, and what came of
            each, by the place of the call, in order.
        attached: What the harness put before the model, a line each.
        failures: The calls that failed, and what they said, by the place of the call.
        files: What was done to each file, the one touched last at the end.
        replies: What the agent said, the newest texts, on a line each.
    """

    def __init__(self, task: SummaryTask) -> None:
        self._task = task
        self._spoken: list[str] = []
        self._ends: tuple[int, int] | None = None
        self.done: dict[tuple[int, int], str] = {}
        self.attached: dict[str, None] = {}
        self.failures: dict[tuple[int, int], tuple[str, str]] = {}
        self.files: dict[str, set[How]] = {}
        self.replies: deque[str] = deque(maxlen=REPLIES)
        made = Calls()
        for event in task.events():
            self._read(event)
            for call in made.add(event):
                self._did(call)
        for call in made.open():
            self._did(call)

    def _read(self, event: Event) -> None:
        first, _ = self._ends or (event.version, event.version)
        self._ends = first, event.version
        if event.type == "message.user":
            self._spoken.append(said(event))
        elif event.type == "message.assistant":
            words = unquoted(one_line(plain_text(content_of(event.data.get("content"))), LINE))
            if words:
                self.replies.append(words)
        elif event.type == "attachment.added":
            text = one_line(plain_text(content_of(event.data.get("content"))), LINE // 8)
            self.attached[unquoted(f"{event.data.get('kind')}: {text}")] = None

    def _did(self, call: Call) -> None:
        if call.command:
            self.done[call.place] = f"{_code(call.command, LINE // 2)}: {_outcome(call)}"
        elif not touched_files(call):
            self.done[call.place] = f"{_about(call)}: {_outcome(call, told=True)}"
        if call.failed:
            self.failures[call.place] = _about(call), unquoted(one_line(call.text, LINE))
        else:
            self.failures.pop(call.place, None)
        touch(self.files, call)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was said, done or attached."""
        done = self.done or self.failures or self.files
        return not (self.spoken or self.replies or done or self.attached)

    @cached_property
    def spoken(self) -> list[UserMessage]:
        """What the user said and did not replace, in order."""
        return current(self._spoken)

    @cached_property
    def asked(self) -> list[UserMessage]:
        """What the user said on the lineage: where it all stays verbatim, it is the goal still."""
        return current(self._task.spoken())

    @property
    def earlier(self) -> str:
        """What a model wrote of the time before; a digest of it is made again from the log."""
        first = next((item for item in self._task.items if item.kind == "summary"), None)
        prompt = str(first.event.data.get("prompt")) if first and first.event else ""
        return "" if prompt.startswith("digest@") else unquoted(self._task.previous or "")

    @property
    def handles(self) -> list[str]:
        """What leads to the first and the last of the events."""
        session = self._task.view.session
        return [str(Handle(session, version)) for version in dict.fromkeys(self._ends or ())]

    def state(self, key: str) -> Json:
        """Return the host's state under a key."""
        return self._task.view.state(key)


def _outcome(call: Call, *, told: bool = False) -> str:
    """Return what came of a call.

    Args:
        told: Also how the result of one that worked begins: nothing else says what it did.
    """
    if call.answered is None:
        return "no result"
    said = unquoted(one_line(call.text, LINE // 4))
    if call.failed:
        return f"failed: {said}"
    return f"done: {said}" if told and said else "done"


def _about(call: Call) -> str:
    """Return a call on one line: the tool, and its command or its main arguments."""
    given = call.command or _arguments(call.input)
    return f"{call.name} {_code(given, LINE // 4)}" if given else call.name


def _code(text: str, chars: int) -> str:
    """Return a text as code on one line; what is quoted in code is no quotation."""
    line = one_line(text, chars).replace("`", "'")
    return f"`{line}`"


_QUOTES = str.maketrans(dict.fromkeys('"“”„«»「」『』', "'"))


def unquoted(text: str) -> str:
    """Return a text without quotation marks: it may claim that the user said something."""
    return text.translate(_QUOTES)


def _arguments(given: Mapping[str, Json]) -> str:
    """Return the arguments that say what a call was about: texts and numbers, the first ones."""
    plain = [(k, v) for k, v in given.items() if isinstance(v, str | int | float) and v != ""]
    if len(plain) == 1:
        return str(plain[0][1])
    return ", ".join(f"{key}: {one_line(str(value), LINE // 8)}" for key, value in plain[:4])


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


class UserMessage(NamedTuple):
    """A message of the user.

    Attributes:
        order: Its place among them.
        text: What was said.
    """

    order: int
    text: str


def weight(text: str) -> int:
    """Return how much a message binds what comes after it."""
    binding = {found.group().casefold() for found in _BINDING.finditer(text)}
    exact = set(_EXACT.findall(text))
    label = LABEL if _LABEL.search(text) else 0
    return label + BINDING * min(len(binding), MOST) + EXACT * min(len(exact), MOST)


def current(texts: Iterable[str]) -> list[UserMessage]:
    """Return the messages that no later one replaced, in order; repeated ones count once."""
    newest: dict[frozenset[str], UserMessage] = {}
    for order, text in enumerate(texts):
        if text.strip():
            newest[_shape(text)] = UserMessage(order, text)
    return sorted(newest.values())


def _shape(text: str) -> frozenset[str]:
    """Return the words of a message without its numbers: these may be changed later on.

    Names with digits in them are words: a rule about ``t1`` does not replace one about ``t2``.
    """
    words = frozenset(word.casefold() for word in _WORD.findall(_NUMBER.sub(" ", text)))
    return words if len(words) >= 3 else frozenset({text.strip()})
