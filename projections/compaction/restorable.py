"""What may come back after a summary, kind by kind: by the host's state and by the log.

files     the newest reading of each             skills    their text
plan      what is open of it                     tasks     the open ones, of a board or a list
agents    those that still run                   tools     declarations that were discovered
rules     the rules files that were loaded
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from foldlog.eventstore.events import Event, Json
from foldlog.projections.render.items import items
from foldlog.projections.summaries.task import happened
from foldlog.projections.tasks.board import Board
from foldlog.projections.tasks.entries import entries, is_finished, open_entries
from foldlog.projections.tokens.truncate import one_line
from foldlog.projections.view.view import View
from foldlog.projections.wire.blocks import content_of, plain_text
from foldlog.projections.wire.tool_calls import Call, Calls, touched_files

T = TypeVar("T")

AGAIN = "[{what}, put here again after a compaction]"
"""Stands above what comes back."""

SKILLS = ("skill", "skills", "invoked_skill")
RULES = ("rules", "memory", "nested_memory")
"""Kinds of attachments that hold a skill, a rules file."""

LOADING = ("skill", "use_skill", "load_skill", "activate_skill")
"""Tools that load a skill, in lower case."""


@dataclass(frozen=True, slots=True)
class Restorable:
    """Something that may come back.

    Attributes:
        name: Which of its kind it is.
        text: What is put before the model.
        of: The version at which all of it stands.
    """

    name: str
    text: str
    of: int | None = None


class Past:
    """What happened on a view's lineage, and what of it is seen. Read in one pass.

    Attributes:
        view: The view.
        board: The task board of a name.
        reads: The newest reading of each file that did not fail.
        changed: What changed a file since.
        skills: The newest text of each skill and the version at which it stands.
        rules: The same of rules files.
    """

    def __init__(self, view: View, board: Callable[[str], Board] | None = None) -> None:
        self.view = view
        self.board = board
        self.reads: dict[str, Call] = {}
        self.changed: dict[str, Call] = {}
        self.skills: dict[str, tuple[str, int]] = {}
        self.rules: dict[str, tuple[str, int]] = {}
        made = Calls()
        for event in happened(view, view.lineage):
            if event.type == "attachment.added" and not event.data.get("restored"):
                self._attached(event)
            for call in made.add(event):
                self._did(call)

    def _attached(self, event: Event) -> None:
        known = {**dict.fromkeys(SKILLS, self.skills), **dict.fromkeys(RULES, self.rules)}
        kind = known.get(str(event.data.get("kind")))
        if kind is not None:
            text = plain_text(content_of(event.data.get("content")))
            name = str(event.data.get("name") or one_line(text.partition("\n")[0], 80))
            _put_last(kind, name, (text, event.version))

    def _did(self, call: Call) -> None:
        if call.failed or call.answered is None:
            return
        if call.name.lower() in LOADING:
            name = _named(call.input, "skill", "name", "skill_name", "command")
            _put_last(self.skills, name, (call.text, call.answered))
        for path, how in touched_files(call):
            if how == "read":
                _put_last(self.reads, path, call)
                self.changed.pop(path, None)
            else:
                self.changed[path] = call

    def state(self, key: str) -> Json:
        """Return the host's state under a key."""
        return self.view.state(key)

    def shows(self, version: int | None) -> bool:
        """Return whether an event is seen whole in its place."""
        piece = self.view.piece(version) if version is not None else None
        return piece is not None and piece.shown.kind == "whole"

    @cached_property
    def attached(self) -> dict[tuple[str, str], str]:
        """The text of each attachment that is seen, by its kind and its name."""
        return {
            (str(item.event.data.get("kind")), str(item.event.data.get("name"))): plain_text(
                item.content
            )
            for item in items(self.view)
            if item.kind == "attachment" and item.event
        }


def _files(past: Past) -> Iterator[Restorable]:
    """Yield the newest reading of each file that is not seen any more, the one read last first."""
    given = dict(_held_files(past))
    yield from given.values()
    for path, call in reversed(past.reads.items()):
        if path not in given and not past.shows(call.answered):
            yield _file(path, call, past.changed.get(path))


def _held_files(past: Past) -> Iterator[tuple[str, Restorable]]:
    """Yield the files that the host holds itself, the one read last first."""
    for entry in reversed(entries(past.state("read_files"))):
        path = entry.get("path") if isinstance(entry, Mapping) else None
        if isinstance(path, str) and isinstance(entry.get("content"), str):
            yield path, Restorable(path, f"{_again(f'The file {path}')}\n{entry['content']}")


def _file(path: str, call: Call, changed: Call | None) -> Restorable:
    what = f"The file {path}, as it was read"
    if changed is not None:
        what += f"; it was changed since, at version {changed.version}: read it again"
    return Restorable(path, f"{_again(what)}\n{call.text}", call.answered)


def _skills(past: Past) -> Iterator[Restorable]:
    """Yield the skills whose text is known: the host's, then the one used last first."""
    held = dict(_held_skills(past))
    for name, text in held.items():
        yield Restorable(name, f"{_again(f'The skill {name}')}\n{text}")
    for name, (text, version) in reversed(past.skills.items()):
        if name not in held and not past.shows(version):
            yield Restorable(name, f"{_again(f'The skill {name}')}\n{text}", version)


def _held_skills(past: Past) -> Iterator[tuple[str, str]]:
    """Yield the skills whose text the host holds itself, the one used last first."""
    for entry in reversed(entries(past.state("skills"))):
        if isinstance(entry, Mapping) and isinstance(entry.get("content"), str):
            yield str(entry.get("name")), entry["content"]


def skills_without_text(past: Past) -> Iterator[str]:
    """Yield the skills that the host says are loaded, and whose text nobody has."""
    known = {*past.skills, *dict(_held_skills(past))}
    for entry in entries(past.state("skills")):
        name = entry.get("name") if isinstance(entry, Mapping) else entry
        if isinstance(name, str) and name not in known:
            yield name


def _plan(past: Past) -> Iterator[Restorable]:
    """Yield what is open of the plan; a finished one is not revived."""
    plan = past.state("plan")
    lines = open_entries(plan)
    if isinstance(plan, str):
        yield from [Restorable("plan", f"{_again('The plan')}\n{plan}")] if lines else []
    elif lines:
        yield Restorable("plan", "\n".join([_again("What is open of the plan"), *_listed(lines)]))


def _tasks(past: Past) -> Iterator[Restorable]:
    """Yield the open tasks, of the board that the host names or of its own list."""
    held = past.state("tasks")
    name = held.get("board") if isinstance(held, Mapping) else None
    if isinstance(name, str):
        lines = [task.line() for task in past.board(name).open()] if past.board else []
    else:
        lines = open_entries(held)
    if lines:
        text = "\n".join([_again("The open tasks"), *_listed(lines)])
        yield Restorable(name or "tasks", text)


def _agents(past: Past) -> Iterator[Restorable]:
    """Yield the agents that still run, and what each of them does."""
    for entry in entries(past.state("agents")):
        if not is_finished(entry):
            name = (
                str(entry.get("name") or entry.get("id")) if isinstance(entry, Mapping) else entry
            )
            told = entry if isinstance(entry, str) else _json(entry)
            yield Restorable(str(name), f"{_again(f'An agent that still runs: {name}')}\n{told}")


def _tools(past: Past) -> Iterator[Restorable]:
    """Yield the tools that were discovered on the way, those of the request left out."""
    declared = {t.get("name") for t in (past.view.tools or {}).get("tools") or ()}
    found = [
        tool
        for tool in entries(past.state("tools"))
        if not (isinstance(tool, Mapping) and tool.get("name") in declared)
    ]
    if found:
        lines = [tool if isinstance(tool, str) else _json(tool) for tool in found]
        yield Restorable("tools", "\n".join([_again("Tools that were discovered"), *lines]))


def _rules(past: Past) -> Iterator[Restorable]:
    """Yield the rules files: the host's, then those that were put before the model."""
    held = past.state("rules")
    given = [held] if isinstance(held, str) else entries(held)
    names: set[str] = set()
    for entry in given:
        text = entry if isinstance(entry, str) else _named(entry, "content")
        name = "rules" if isinstance(entry, str) else _named(entry, "path", "name") or "rules"
        names.add(name)
        yield Restorable(name, f"{_again(f'Rules: {name}')}\n{text}" if text else "")
    for name, (text, version) in reversed(past.rules.items()):
        if name not in names and not past.shows(version):
            yield Restorable(name, f"{_again(f'Rules: {name}')}\n{text}", version)


KINDS: dict[str, Callable[[Past], Iterator[Restorable]]] = {
    "files": _files,
    "skills": _skills,
    "plan": _plan,
    "tasks": _tasks,
    "agents": _agents,
    "tools": _tools,
    "rules": _rules,
}
"""What may come back of each kind, what matters most first."""


def _again(what: str) -> str:
    return AGAIN.format(what=what)


def _listed(lines: Iterable[str]) -> list[str]:
    return [f"- {line}" for line in lines]


def _put_last(known: dict[str, T], name: str, value: T) -> None:
    known.pop(name, None)
    known[name] = value


def _named(entry: Json, *keys: str) -> str:
    """Return the first of these keys that an entry has something under."""
    if not isinstance(entry, Mapping):
        return str(entry)
    return next((str(entry[key]) for key in keys if entry.get(key)), "")


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
