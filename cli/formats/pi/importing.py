"""The tree of a session's entries, as events; the head is where pi goes on: at the last entry.

An entry without an id hangs on the one before it: so did all of version 1. What an entry means for
what is sent depends on its branch: the prompt that is in force, the calls that wait for a result,
the edits of what is before it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from foldlog.cli.formats.jsonl_source import Reading
from foldlog.cli.formats.pi import entries
from foldlog.cli.formats.pi.prompt import Prompt
from foldlog.cli.formats.pi.tree import Node, events_of, is_sent, kept_from
from foldlog.cli.formats.report import LineNote
from foldlog.cli.formats.shown_events import GONE, ShownEvents
from foldlog.projections.wire.blocks import kind, objects, plain_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.cli.formats.pi.entries import Entry
    from foldlog.cli.formats.protocols import Source
    from foldlog.cli.formats.report import ImportReport
    from foldlog.eventstore.events import Json

NO_RESULT = "No result provided"
"""What pi sends as the result of a call that has none (0.73.1 and 1.6.0)."""

START = 1
"""The version of ``session.started``, where a summary is shown that stands for nothing else."""

GOES_ON = frozenset({"message.user", "message.assistant", "attachment.added", "request.failed"})
"""What closes the calls before it that have no result."""


class TreeImport:
    """Reads one session file into its log.

    Args:
        run: The import that it is part of.
        source: The file.
    """

    def __init__(self, run: ImportRun, source: Source) -> None:
        self._run = run
        self._source = source
        self._nodes: dict[str, Node] = {}
        self._order: list[Node] = []
        self._root = self._leaf = Node({}, None, Prompt())

    def report(self) -> ImportReport:
        """Import all and return the report."""
        read = self._run.read(self._source)
        if not read.records:
            return self._run.report(self._source, reading=read)
        reading = Reading([*_keyed(read.records)], read.pending)
        header = next(
            (r.value for r in reading.records if r.value and entries.is_header(r.value)), {}
        )
        first = reading.records[0].digest
        id = header.get("id")
        wanted = id if isinstance(id, str) and id else self._source.path.stem
        log = self._run.session(self._run.name_for(wanted, self._source.file, first), self._source)
        self._shown = ShownEvents(log)
        notices = [] if log.departs(reading.records) is None else [LineNote(0, GONE)]
        log.start(occurred=header.get("timestamp"), **self._start(header, first))
        for record in self._run.each(self._source, reading.records):
            self._read(record)
        self._shown.finish()
        return self._run.report(self._source, log, reading=reading, notices=notices)

    def _start(self, header: Entry, first: str) -> Entry:
        parent = header.get("parentSession", header.get("branchedFrom"))
        name = parent.replace("\\", "/").rsplit("/", 1)[-1] if isinstance(parent, str) else ""
        session = name.removesuffix(".jsonl").partition("_")[2]
        return {
            "title": None,
            "cwd": header.get("cwd") if isinstance(header.get("cwd"), str) else None,
            "origin": {
                "harness": "pi",
                "importer": "foldlog",
                "file": self._source.file,
                "first": first,
            },
            "parent": {"session": session, "kind": "copy"} if session else None,
        }

    # -- the tree ----------------------------------------------------------------------------

    def _read(self, record: Record) -> None:
        entry = record.value
        if entry is None:
            self._leaf.versions.append(self._shown.unreadable(record))
        elif entries.is_header(entry):
            self._leaf.versions.append(self._shown.write("pi.session", entry, record))
            self._order.append(self._root)
        else:
            self._add(entry, record)

    def _add(self, entry: Entry, record: Record) -> None:
        """Write an entry at its place in the tree."""
        node = self._place(entry)
        if node.parent is not self._leaf and node.parent is not None:
            self._shown.only(events_of(node.parent.path()))
        self._write(node, record)
        if isinstance(entry.get("id"), str):
            self._nodes[entry["id"]] = node
        self._order.append(node)
        self._leaf = node

    def _place(self, entry: Entry) -> Node:
        """Return the node of an entry, hanging where its file says."""
        above, parent = entry.get("parentId"), self._root
        if "id" not in entry and "parentId" not in entry:
            parent = self._leaf
        elif isinstance(above, str):
            parent = self._nodes.get(above, self._root)
        return Node(entry, parent, parent.prompt, parent.model, parent.waiting)

    # -- one entry ---------------------------------------------------------------------------

    def _write(self, node: Node, record: Record) -> None:
        """Write an entry and what follows from it."""
        entry = node.entry
        found = entries.mapped(entry, f"pi-{record.digest}")
        node.type, node.data = found.type, found.data
        if node.waiting and found.type in GOES_ON:
            self._close_calls(node, record)
        special = _SPECIAL.get(entries.role_of(entry) or str(entry.get("type")))
        if special is not None and special(self, node, record):
            return
        self._own(node, record, found.type, found.data, found.keeps_line)
        self._note(node)

    def _own(
        self, node: Node, record: Record, type_: str, data: Entry, keeps_line: bool = True
    ) -> int:
        line = node.entry if keeps_line else None
        time = node.entry.get("timestamp")
        version = self._shown.write(type_, data, record, occurred=time, line=line)
        node.versions.append(version)
        return version

    def _derived(self, node: Node, type_: str, data: Entry, key: str, of: int) -> int:
        version = self._shown.write(type_, data, key, of=of)
        node.versions.append(version)
        return version

    def _note(self, node: Node) -> None:
        """Note what a message changes for those after it."""
        model = node.entry.get("modelId", node.data.get("model"))
        node.model = model if isinstance(model, str) else node.model
        if node.type == "message.assistant":
            node.waiting = tuple(entries.call_ids(node.data))
        elif node.type == "tool.result":
            call = node.data["tool_use_id"]
            node.waiting = tuple(other for other in node.waiting if other != call)

    def _close_calls(self, node: Node, record: Record) -> None:
        """Write what pi sends for calls that had no result when the conversation went on."""
        asked = next(n for n in reversed(node.path()[:-1]) if n.type == "message.assistant")
        for call in node.waiting:
            content = [{"type": "text", "text": NO_RESULT}]
            data = {"tool_use_id": call, "content": content, "is_error": True, "synthesized": True}
            key = f"{record.key}/unanswered/{call}"
            self._derived(node, "tool.result", data, key, asked.versions[-1])
        node.waiting = ()

    # -- entries that change what is before them ---------------------------------------------

    def _system(self, node: Node, record: Record) -> bool:
        """Write a system message as the whole prompt that is in force from there on."""
        version = self._own(node, record, "pi.system", node.entry, keeps_line=False)
        self._set(node, record, node.prompt.after(entries.message_of(node.entry)), version)
        return True

    def _set(self, node: Node, record: Record, prompt: Prompt, of: int) -> None:
        before, node.prompt = node.prompt, prompt
        if prompt.system != before.system:
            system = {"system": prompt.system}
            self._derived(node, "system.set", system, f"{record.key}/system", of)
        if prompt.declared != before.declared:
            tools = {"tools": prompt.declared}
            self._derived(node, "tools.set", tools, f"{record.key}/tools", of)

    def _compaction(self, node: Node, record: Record) -> bool:
        """Show the summary for all that the compaction does not keep."""
        entry, path = node.entry, node.path()[:-1]
        node.kept = self._first_kept(entry)
        kept = set(events_of(path, path[kept_from(path, node.kept) :]))
        before = entry.get("tokensBefore")
        node.versions = self._shown.summarize(
            entries.COMPACTED.format(entry.get("summary")),
            [START, *sorted(version for version in events_of(path) if version not in kept)],
            record,
            occurred=entry.get("timestamp"),
            line=entry,
            reason="pi compacted",
            tokens_before=before if isinstance(before, int) else None,
        )
        node.type = "summary.written"
        self._count(node, record, node.versions[0])
        if isinstance(entry.get("systemMessage"), dict):
            self._set(node, record, Prompt().after(entry["systemMessage"]), node.versions[0])
        return True

    def _first_kept(self, entry: Entry) -> Node | None:
        """Return the first entry that a compaction keeps: named by its id, or its place."""
        id, place = entry.get("firstKeptEntryId"), entry.get("firstKeptEntryIndex")
        if isinstance(id, str):
            return self._nodes.get(id)
        if isinstance(place, int) and 0 <= place < len(self._order):
            return self._order[place]
        return None

    def _branch_summary(self, node: Node, record: Record) -> bool:
        version = self._own(node, record, node.type, node.data)
        self._count(node, record, version)
        return True

    def _count(self, node: Node, record: Record, of: int) -> None:
        """Write what the request for a summary took."""
        usage = entries.usage(node.entry.get("usage"))
        if usage:
            data = {"content": [], "model": node.model, "usage": usage}
            self._derived(node, "request.answered", data, f"{record.key}/usage", of)

    def _edit(self, node: Node, record: Record) -> bool:
        """Show an earlier entry as the edit says: not at all, or with another content."""
        version = self._own(node, record, "pi.context_edit", node.entry, keeps_line=False)
        id = node.entry.get("targetId")
        node.target = self._nodes.get(id) if isinstance(id, str) else None
        if node.target is None or not is_sent(node.target, node.path()):
            return True
        earlier = [v for n in node.path() if n.target is node.target for v in n.instead]
        shown = self._instead(node, node.target, record, version)
        self._shown.only(events_of(node.path()))
        self._paint(node, shown, node.target.versions[-1:], f"{record.key}/edit", version)
        self._paint(node, {"shown": "hidden"}, earlier, f"{record.key}/earlier", version)
        return True

    def _paint(self, node: Node, shown: Entry, versions: list[int], key: str, of: int) -> None:
        """Show events as an edit of the context says."""
        reason = "an edit of the context in pi"
        edit = self._shown.edit(shown, versions, key, of=of, rule="context_edit", reason=reason)
        node.versions += [] if edit is None else [edit]

    def _instead(self, node: Node, target: Node, record: Record, of: int) -> Entry:
        """Return how an edited entry is shown; what no edit can show is an event of its own."""
        replacement = node.entry.get("replacement")
        if not isinstance(replacement, dict):
            return {"shown": "hidden"}
        edited = entries.with_content(target.entry, replacement.get("content"))
        data = {**target.data, "content": entries.mapped(edited, "").data["content"]}
        if _is_plain(data["content"]) and not entries.call_ids(target.data):
            return {"shown": "cleared", "text": plain_text(data["content"])}
        data.pop("usage", None)
        node.instead = [self._shown.write(target.type, data, f"{record.key}/instead", of=of)]
        return {"shown": "hidden"}


def _is_plain(content: str | list[Json]) -> bool:
    """Return whether a content is one text."""
    return isinstance(content, str) or [kind(block) for block in objects(content)] == ["text"]


def _keyed(records: Iterable[Record]) -> Iterator[Record]:
    """Return records with digests of what their entries say: see ``entries.digest``."""
    seen: Counter[str] = Counter()
    for record in records:
        own = record.digest if record.value is None else entries.digest(record.value)
        seen[own] += 1
        yield record._replace(digest=own, occurrence=seen[own])


_SPECIAL: dict[str, Callable[[TreeImport, Node, Record], bool]] = {
    "system": TreeImport._system,
    "compaction": TreeImport._compaction,
    "branch_summary": TreeImport._branch_summary,
    "context_edit": TreeImport._edit,
}
"""What an entry does besides being an event, by the role of its message or by its type."""
