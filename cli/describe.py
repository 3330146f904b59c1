"""Events and changes as text for people: one line for a log, all of it for a page.

Everything returned here is safe to print.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from foldlog.cli.output import Column, note, show
from foldlog.cli.safe import one_line, safe, shortened
from foldlog.eventstore import Event
from foldlog.eventstore.events import Json
from foldlog.projections import Change
from foldlog.projections.wire.blocks import (
    CALLS,
    MEDIA,
    RESULT,
    blocks,
    content_of,
    is_server_result,
    kind,
    objects,
)
from foldlog.projections.wire.contents import content

HEADLINE = 120
"""Characters of a line in a log, where no terminal says otherwise."""

EACH_ALONE = "Tokens, estimated for each piece by itself"
"""What figures of pieces count, for people. ``compact`` counts the whole request."""

CHANGE_COLUMNS: list[Column[Change]] = [
    Column("first", lambda change: change.first),
    Column("last", lambda change: change.last),
    Column("before", lambda change: change.before.kind if change.before else "-"),
    Column("after", lambda change: change.after.kind if change.after else "-", style="cyan"),
    Column("tokens", lambda change: f"{-change.tokens:+,}"),
    Column("rule", lambda change: change.cause.rule if change.cause else None),
    Column(
        "reason", lambda change: change.cause.reason if change.cause else None, folds=True, least=40
    ),
]


def clock(time: str) -> str:
    """Return a time of the store as people read it, to the second, in UTC."""
    return one_line(time[:19].replace("T", " "))


def event_json(event: Event) -> dict[str, Any]:
    """Return an event as ``foldlog log --json`` prints it."""
    return {
        "position": event.position,
        "session": event.session,
        "version": event.version,
        "id": event.id,
        "type": event.type,
        "schema": event.schema,
        "at": event.at,
        "key": event.key,
        "data": event.data,
        "meta": event.meta,
        "hash": event.hash,
    }


def headline(event: Event, chars: int = HEADLINE) -> str:
    """Return what happened, on one line."""
    tell = _HEADLINES.get(event.type)
    said = tell(event.data) if tell else _of_content(event)
    return shortened(f"broke off: {said}" if event.data.get("partial") is True else said, chars)


def page(event: Event) -> Iterator[str]:
    """Yield all that an event says, line by line; several blocks are numbered."""
    found = content(event)
    if found is None:
        yield from _data(event.data)
        return
    parts = blocks(found)
    for number, block in enumerate(parts, start=1):
        if len(parts) > 1:
            yield f"#{number} {one_line(kind(block))}"
        yield from block_lines(block)


def block_lines(block: Json) -> Iterator[str]:
    """Yield a content block as text."""
    name = kind(block)
    if name == "text":
        yield from _text(block.get("text"))
    elif name == "thinking":
        yield from _text(block.get("thinking"))
    elif name in CALLS:
        yield one_line(f"{block.get('name')} {block.get('id')}")
        yield from _indented(_data(block.get("input")))
    elif name == RESULT or is_server_result(name):
        failed = " failed" if block.get("is_error") is True else ""
        yield one_line(f"result of {block.get('tool_use_id')}{failed}")
        for inner in blocks(content_of(block.get("content"))):
            yield from _indented(block_lines(inner))
    elif name in MEDIA:
        yield media_line(block)
    else:
        yield from _data(block)


def media_line(block: Json) -> str:
    """Return an image or a document in a few words."""
    source = block.get("source") if isinstance(block.get("source"), dict) else {}
    data = source.get("data")
    size = f", {len(data) * 3 // 4:,} bytes" if isinstance(data, str) else ""
    where = source.get("media_type") or source.get("url") or source.get("file_id") or "?"
    return one_line(f"[{kind(block)}: {where}{size}]")


def call_text(block: Json, chars: int = HEADLINE) -> str:
    """Return a call as ``Bash(command: ls)``."""
    given = block.get("input")
    pairs = given.items() if isinstance(given, dict) else [("input", given)]
    arguments = ", ".join(
        f"{key}: {shortened(value if isinstance(value, str) else _compact(value), chars)}"
        for key, value in pairs
    )
    return shortened(f"{block.get('name')}({arguments})", chars)


def show_changes(changes: Sequence[Change], *, json: bool) -> None:
    """Print what changed between two views, and for people what it saves in all."""
    show(changes, CHANGE_COLUMNS, json=json, to_json=Change.to_json, empty="Nothing changed.")
    if changes and not json:
        saved = sum(change.tokens for change in changes)
        difference = f"{saved:,} fewer" if saved >= 0 else f"{-saved:,} more"
        note(f"{EACH_ALONE}: {difference}.")


def _of_content(event: Event) -> str:
    found = content(event)
    if found is None:
        return _compact(event.data) if event.data else ""
    return _blocks_headline(found)


def _blocks_headline(found: Json) -> str:
    return " · ".join(filter(None, map(_block_headline, blocks(content_of(found)))))


def _block_headline(block: Json) -> str:
    name = kind(block)
    if name in CALLS:
        return call_text(block)
    if name == "thinking":
        return f"(thinking) {str(block.get('thinking'))[:HEADLINE]}"
    if name == RESULT:
        inner = blocks(content_of(block.get("content")))
        return "→ " + " · ".join(map(_block_headline, inner))
    return (
        " ".join(block_lines(block)) if name != "text" else str(block.get("text"))[: 8 * HEADLINE]
    )


def _edit(data: dict[str, Json]) -> str:
    kinds: dict[str, int] = {}
    for entry in objects(data.get("edits")):
        shown = str(entry.get("shown"))
        kinds[shown] = kinds.get(shown, 0) + 1
    ranges = ", ".join(f"{count} {shown}" for shown, count in kinds.items())
    return f"{data.get('rule')}: {data.get('reason')} ({ranges})"


def _moved(data: dict[str, Json]) -> str:
    path = data.get("path")
    return f"to {data.get('to')}" + (f", along {_compact(path)}" if path else "")


def _result(data: dict[str, Json]) -> str:
    failed = "failed: " if data.get("is_error") is True else ""
    said = (_block_headline(block) for block in blocks(content_of(data.get("content"))))
    return failed + " · ".join(said)


def _unreadable(data: dict[str, Json]) -> str:
    return f"{data.get('reason')}: {data.get('text')}"


def _started(data: dict[str, Json]) -> str:
    """Return its title, folder, recorder and parent, as far as they are known."""
    origin, parent = _object(data.get("origin")), _object(data.get("parent"))
    by = origin.get("program") or origin.get("harness") or origin.get("importer")
    of = f"{parent.get('kind')} of {parent.get('session')}"
    if parent.get("version"):
        of += f" at {parent.get('version')}"
    said = (
        data.get("title"),
        f"in {data.get('cwd')}" if data.get("cwd") else None,
        f"by {by}" if by else None,
        of if parent else None,
    )
    return ", ".join(str(part) for part in said if part)


def _tools(data: dict[str, Json]) -> str:
    return ", ".join(
        str(tool.get("name") or tool.get("type")) for tool in objects(data.get("tools"))
    )


def _state(data: dict[str, Json]) -> str:
    value = data.get("value")
    return f"{data.get('key')}: {value if isinstance(value, str) else _compact(value)}"


def _sent(data: dict[str, Json]) -> str:
    """Return what was asked of whom, and which version it showed."""
    said = [data.get("purpose") or "turn", data.get("model"), f"view {data.get('view')}"]
    if data.get("divergence"):
        said.append("diverged")
    return ", ".join(str(part) for part in said if part)


def _failed(data: dict[str, Json]) -> str:
    error = data.get("error")
    told = _object(error)
    said = [str(told[key]) for key in ("status", "type", "message") if told.get(key)]
    text = " ".join(said) or (error if isinstance(error, str) else _compact(error))
    attempt = data.get("attempt")
    return f"{text} (attempt {attempt})" if attempt else text


def _decided(data: dict[str, Json]) -> str:
    what = data.get("pattern") or data.get("tool_use_id")
    return f"{data.get('decision')} {data.get('scope')}: {what}, by {data.get('by')}"


def _named(*keys: str) -> Callable[[dict[str, Json]], str]:
    """Return a function that gives the values of these keys, and nothing else."""
    return lambda data: " ".join(str(data[key]) for key in keys if data.get(key) is not None)


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


_HEADLINES: dict[str, Callable[[dict[str, Json]], str]] = {
    "view.edited": _edit,
    "head.moved": _moved,
    "tool.result": _result,
    "source.unreadable": _unreadable,
    "session.started": _started,
    "session.moved": _named("cwd"),
    "tools.set": _tools,
    "state.set": _state,
    "policy.set": _named("name"),
    "request.sent": _sent,
    "request.failed": _failed,
    "request.answered": lambda data: _blocks_headline(data.get("content")),
    "permission.decided": _decided,
    "tool.started": _named("tool_use_id"),
    "turn.stopped": lambda data: f"by {data.get('by')}",
    "snapshot.taken": lambda data: f"the view at {data.get('version')}",
    "task.created": _named("id", "subject"),
}


def _data(value: Json) -> Iterator[str]:
    """Yield JSON for people: an object by its keys, longer text as it is."""
    if not isinstance(value, dict):
        yield from _text(json.dumps(value, ensure_ascii=False, indent=2))
        return
    for key, item in value.items():
        if isinstance(item, str) and "\n" in item:
            yield f"{one_line(key)}:"
            yield from _indented(_text(item))
        else:
            shown = (
                item if isinstance(item, str) else json.dumps(item, ensure_ascii=False, indent=2)
            )
            yield from _text(f"{key}: {shown}")


def _text(value: Json) -> Iterator[str]:
    yield from safe(value if isinstance(value, str) else "").split("\n")


def _indented(lines: Iterator[str]) -> Iterator[str]:
    return (f"  {line}" if line else line for line in lines)
