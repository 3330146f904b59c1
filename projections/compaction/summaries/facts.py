"""What the log tells of a stretch of a session, without judgement.

Read in one pass: of what may be large, only as much is kept as a digest can show.
"""

from __future__ import annotations

from collections import deque
from functools import cached_property

from foldlog.eventstore.events import Event, Json
from foldlog.projections.blocks import content_of, plain_text
from foldlog.projections.compaction.activity import Call, Calls, How, touch
from foldlog.projections.compaction.cut import one_line
from foldlog.projections.compaction.summaries.salience import Said, current
from foldlog.projections.compaction.summaries.task import SummaryTask, said
from foldlog.projections.handles import Handle

LINE = 400
"""The most characters of one message, command or error. Chosen: two sentences, or an error with
its place."""

REPLIES = 20
"""How many of the agent's newest texts are kept. Chosen: more than any digest has room for."""


class Facts:
    """What the log tells of a task's ranges.

    Attributes:
        commands: What ran in a shell, and what came of it, by the id of the call.
        failures: The calls that failed, and what they said, by the id of the call.
        files: What was done to each file, the one touched last at the end.
        replies: What the agent said, the newest texts, on a line each.
    """

    def __init__(self, task: SummaryTask) -> None:
        self._task = task
        self._spoken: list[str] = []
        self._ends: tuple[int, int] | None = None
        self.commands: dict[str, tuple[str, str]] = {}
        self.failures: dict[str, tuple[str, str]] = {}
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
            words = one_line(plain_text(content_of(event.data.get("content"))), LINE)
            if words:
                self.replies.append(words)

    def _did(self, call: Call) -> None:
        if call.command:
            self.commands[call.id] = one_line(call.command, LINE // 2), _outcome(call)
        if call.failed:
            self.failures[call.id] = _about(call), one_line(call.text, LINE)
        else:
            self.failures.pop(call.id, None)
        touch(self.files, call)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was said and nothing was done."""
        return not (self.spoken or self.replies or self.commands or self.failures or self.files)

    @cached_property
    def spoken(self) -> list[Said]:
        """What the user said and did not replace, in order."""
        return current(self._spoken)

    @cached_property
    def asked(self) -> list[Said]:
        """What the user said on the lineage: where it all stays verbatim, it is the goal still."""
        return current(self._task.spoken())

    @property
    def earlier(self) -> str:
        """What a model wrote of the time before; a digest of it is made anew from the log."""
        first = next((item for item in self._task.items if item.kind == "summary"), None)
        prompt = str(first.event.data.get("prompt")) if first and first.event else ""
        return "" if prompt.startswith("digest@") else (self._task.previous or "")

    @property
    def handles(self) -> list[str]:
        """What leads to the first and the last of the events."""
        session = self._task.view.session
        return [str(Handle(session, version)) for version in dict.fromkeys(self._ends or ())]

    def state(self, key: str) -> Json:
        """The host's state under a key."""
        return self._task.view.state(key)


def _outcome(call: Call) -> str:
    if call.answered is None:
        return "no result"
    return f"failed: {one_line(call.text, LINE // 4)}" if call.failed else "done"


def _about(call: Call) -> str:
    """A call on one line: the tool, and the command or the first text among its arguments."""
    texts = (value for value in call.input.values() if isinstance(value, str))
    return f"{call.name} `{one_line(call.command or next(texts, ''), LINE // 4)}`"
