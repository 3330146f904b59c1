"""Lines for events that never were lines: what was recorded live, as Claude Code would keep it.

Each block of a reply is a line of its own with the reply's id; a result hangs on its call; a rewind
is a branch; a compaction is a boundary with what it keeps, and its summary. What else a view shows
in another way than it happened, ``shown`` puts into the events that are written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, UUID, uuid5

from foldlog.projections.render.call_names import CallNames
from foldlog.projections.view.lineage import Lineage, Moves, is_version
from foldlog.projections.wire.blocks import blocks, content_of, objects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from foldlog.cli.formats.claude_code.lines import Line
    from foldlog.cli.formats.claude_code.shown import ShownLines
    from foldlog.eventstore.events import Event, Json

VERSION = "2.1.332"
"""The version of the program whose lines these are like."""

NAMESPACE = uuid5(NAMESPACE_URL, "https://foldlog/claude-code")
"""Where the uuids of written lines come from: the same event is always the same line."""


def session_id(session: str) -> str:
    """Return the id that Claude Code can resume a session by: its own, if that is a UUID."""
    try:
        return str(UUID(session))
    except ValueError:
        return str(uuid5(NAMESPACE, session))


class Writer:
    """Writes the lines of one session. It is given every event, in order.

    Args:
        session: The session's id.
        shown: Which compactions count.
    """

    def __init__(self, session: str, shown: ShownLines) -> None:
        self._session = session
        self._shown = shown
        self._common: Line = {"userType": "external", "cwd": "", "sessionId": session_id(session)}
        self._moves = Moves()
        self._uuids: dict[int, list[str]] = {}
        self._calls: dict[str, str] = {}
        self._names = CallNames()
        self._summaries: dict[int, Event] = {}
        self._newest: str | None = None
        self._version = 0
        self._wrote = False

    def know(self, event: Event, line: Line) -> None:
        """Take up an event that is a line already."""
        self._names.event(event)
        uuid = line.get("uuid")
        if isinstance(uuid, str) and event.type in _WRITERS:
            self._uuids[event.version], self._newest = [uuid], uuid
        for block in _blocks(event.data.get("content")):
            if block.get("type") == "tool_use" and isinstance(uuid, str):
                self._calls[str(block.get("id"))] = uuid
        known = {key: line[key] for key in ("cwd", "sessionId", "gitBranch") if line.get(key)}
        self._common |= known
        self._version = event.version

    def lines(self, event: Event) -> list[Line]:
        """Return the lines of an event that has none yet; many stay without."""
        self._version = event.version
        if event.type == "head.moved":
            self._moves.add(event.version, event.data)
        write = _WRITERS.get(event.type) if "of" not in event.meta else None
        return write(self, self._names.event(event)) if write is not None else []

    def marker(self, event: Event, text: str) -> Line:
        """Return the line of a marker, which hangs on what came before the event."""
        return self._node(event, "user", message={"role": "user", "content": text})

    def end(self) -> list[Line]:
        """Return a line that says where the conversation is, if it is not at the last line."""
        tip = self._tip(self._version)
        if not self._wrote or tip is None or tip == self._newest:
            return []
        leaf = {"type": "last-prompt", "lastPrompt": "", "leafUuid": tip, "explicit": True}
        return [{**leaf, "sessionId": self._common["sessionId"]}]

    # -- one event ---------------------------------------------------------------------------

    def _started(self, event: Event) -> list[Line]:
        self._common["cwd"] = event.data.get("cwd") or ""
        return self._titled(event)

    def _titled(self, event: Event) -> list[Line]:
        title = event.data.get("title")
        line = {"type": "custom-title", "customTitle": title}
        return [{**line, "sessionId": self._common["sessionId"]}] if title else []

    def _user(self, event: Event) -> list[Line]:
        message = {"role": "user", "content": event.data.get("content")}
        return [self._node(event, "user", message=message)]

    def _result(self, event: Event) -> list[Line]:
        fields = {key: value for key, value in event.data.items() if key != "synthesized"}
        block = {"type": "tool_result", **fields}
        line = self._node(event, "user", message={"role": "user", "content": [block]})
        call = self._calls.get(str(event.data.get("tool_use_id")))
        if call is not None:
            line |= {"parentUuid": call, "sourceToolAssistantUUID": call}
        return [line]

    def _assistant(self, event: Event) -> list[Line]:
        data = event.data
        message: Line = {
            "id": data.get("id") or f"msg_{self._uuid(event).replace('-', '')}",
            "type": "message",
            "role": "assistant",
            "model": data.get("model") or "unknown",
            "content": [],
            "stop_reason": data.get("stop_reason"),
            "stop_sequence": None,
            "usage": data.get("usage") or {"input_tokens": 0, "output_tokens": 0},
        }
        lines = []
        for place, block in enumerate(_blocks(data.get("content"))):
            body = {"message": {**message, "content": [block]}}
            if data.get("request_id"):
                body["requestId"] = data["request_id"]
            lines.append(self._node(event, "assistant", place, **body))
            if block.get("type") == "tool_use":
                self._calls[str(block.get("id"))] = lines[-1]["uuid"]
        return lines

    def _attachment(self, event: Event) -> list[Line]:
        texts = [block.get("text") for block in _blocks(event.data.get("content"))]
        if not texts or not all(isinstance(text, str) for text in texts):
            return []
        role = "system" if event.data.get("join") else "user"
        rendered = [{"content": text} for text in texts]
        kind = {"type": str(event.data.get("kind"))}
        return [
            self._node(event, "attachment", attachment=kind, rendered=rendered, renderedRole=role)
        ]

    def _summary(self, event: Event) -> list[Line]:
        self._summaries[event.version] = event
        return []

    def _edited(self, event: Event) -> list[Line]:
        """Return what an edit that shows a summary is: a boundary, then the summary."""
        shown = [
            entry
            for entry in objects(event.data.get("edits"))
            if _shows_summary(entry) and self._shown.shows_summary(entry["summary"])
        ]
        summary = self._summaries.pop(shown[0]["summary"], None) if shown else None
        if summary is None:
            return []
        lineage = self._moves.lineage(event.version)
        before = self._tip(summary.version - 1)
        boundary = self._line(event, "system", self._uuid(event), None, logicalParentUuid=before)
        boundary |= {"subtype": "compact_boundary", "content": "Conversation compacted"}
        content = summary.data.get("text", summary.data.get("content"))
        said = self._node(summary, "user", message={"role": "user", "content": content})
        said |= {"parentUuid": boundary["uuid"], "isCompactSummary": True}
        kept = self._kept(lineage, shown, summary.version)
        metadata: Line = {"trigger": "manual", "preTokens": event.data.get("tokens_before") or 0}
        if kept:
            covers_the_end = lineage.place(shown[-1]["last"]) or 0
            first = next(v for v, uuids in self._uuids.items() if kept[0] in uuids)
            is_before = (lineage.place(first) or 0) < covers_the_end
            anchor = boundary["uuid"] if is_before else said["uuid"]
            metadata["preservedMessages"] = {"anchorUuid": anchor, "uuids": kept, "allUuids": kept}
        return [{**boundary, "compactMetadata": metadata}, said]

    def _kept(self, lineage: Lineage, shown: Iterable[Line], summary: int) -> list[str]:
        ranges = [(entry["first"], entry["last"]) for entry in shown]
        return [
            uuid
            for version in lineage
            if version < summary and not any(first <= version <= last for first, last in ranges)
            for uuid in self._uuids.get(version, ())
        ]

    # -- what lines have in common -----------------------------------------------------------

    def _node(self, event: Event, type_: str, place: int = 0, **fields: Any) -> Line:
        """Return a line of the conversation, hanging on what came before the event."""
        uuid = self._uuid(event, place)
        parent = self._newest if place else self._tip(event.version - 1)
        self._uuids.setdefault(event.version, []).append(uuid)
        self._newest, self._wrote = uuid, True
        return self._line(event, type_, uuid, parent, **fields)

    def _line(self, event: Event, type_: str, uuid: str, parent: str | None, **fields: Any) -> Line:
        head = {"parentUuid": parent, "isSidechain": False, **self._common, "version": VERSION}
        return {**head, "type": type_, "uuid": uuid, "timestamp": event.occurred, **fields}

    def _uuid(self, event: Event, place: int = 0) -> str:
        return str(uuid5(NAMESPACE, f"{self._session}/{event.version}/{place}"))

    def _tip(self, version: int) -> str | None:
        """Return the line that the lineage ends with at a version."""
        for first, last in reversed(self._moves.lineage(version).ranges):
            for candidate in range(last, first - 1, -1):
                if candidate in self._uuids:
                    return self._uuids[candidate][-1]
        return None


def _shows_summary(entry: Line) -> bool:
    numbers = (entry.get(key) for key in ("first", "last", "summary"))
    return entry.get("shown") == "summary" and all(map(is_version, numbers))


def _blocks(content: Json) -> list[Line]:
    return objects(blocks(content_of(content)))


_WRITERS: dict[str, Callable[[Writer, Event], list[Line]]] = {
    "session.started": Writer._started,
    "session.renamed": Writer._titled,
    "message.user": Writer._user,
    "message.assistant": Writer._assistant,
    "tool.result": Writer._result,
    "attachment.added": Writer._attachment,
    "summary.written": Writer._summary,
    "view.edited": Writer._edited,
}
