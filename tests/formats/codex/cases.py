"""The rollouts that the tests import, and rollouts that they write."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from foldlog.cli.formats import import_path
from foldlog.cli.formats.report import ImportReport
from foldlog.eventstore import EventStore
from foldlog.projections import Session
from foldlog.projections.render.items import items
from foldlog.projections.view.view import View

DATA = Path(__file__).parent / "data" / "gen_v0171"
RESUMES = DATA.parent / "resumed_0.171.0"
CORPUS = Path(os.environ.get("FOLDLOG_CORPUS") or Path(__file__).parents[4] / "shared" / "data")
"""A folder with more and larger rollouts; the tests that need it run where it is."""

THREAD = "01a22868-a845-7c90-b0e7-a73049bc5a60"
FORK = "01a2286a-cd90-7993-88f0-682ac22dfdb5"

Part = tuple[str, Any]
"""The role of a message, and one block of it."""


def imported(path: Path, store: EventStore | None = None) -> tuple[EventStore, list[ImportReport]]:
    """Return a store that a path was imported into, and the reports."""
    store = store or EventStore(":memory:")
    return store, list(import_path(store, path, format="codex"))


def shown(view: View) -> list[Part]:
    """Return what a view shows, block by block, before anything is repaired."""
    return [part for item in items(view) for part in parts(item.role, item.content)]


def parts(role: str, content: Any) -> list[Part]:
    """Return content as blocks, each with its role."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [(role, block) for block in blocks]


def texts(store: EventStore, session: str, at: Any = None) -> list[str]:
    """Return what the view of a session says, call or text, in order."""
    session_ = Session(store, session)
    view = session_.view() if at is None else session_.view(at)
    return [
        str(block.get("text") or block.get("name") or block.get("content"))
        for _, block in shown(view)
    ]


class Rollout:
    """Writes a rollout line by line."""

    def __init__(self, **meta: Any) -> None:
        self.lines: list[dict[str, Any]] = []
        self.line("session_meta", {"id": "t-1", "cwd": "/w", "cli_version": "0.140.0", **meta})

    def line(self, type: str, payload: dict[str, Any]) -> Rollout:
        time = f"2026-01-01T00:00:{len(self.lines):02}.000Z"
        self.lines.append({"timestamp": time, "type": type, "payload": payload})
        return self

    def event(self, type: str, **payload: Any) -> Rollout:
        return self.line("event_msg", {"type": type, **payload})

    def message(self, role: str, text: str) -> Rollout:
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": text}]
        return self.line("response_item", {"type": "message", "role": role, "content": content})

    def call(self, id: str, output: str | None = None) -> Rollout:
        made = {"type": "function_call", "name": f"run-{id}", "arguments": "{}", "call_id": id}
        self.line("response_item", made)
        if output is not None:
            answer = {"type": "function_call_output", "call_id": id, "output": output}
            self.line("response_item", answer)
        return self

    def tokens(self, last: int, total: int) -> Rollout:
        counts = {"input_tokens": last, "cached_input_tokens": 0, "output_tokens": 1}
        info = {"last_token_usage": counts, "total_token_usage": {"total_tokens": total}}
        return self.event("token_count", info=info)

    def write(self, folder: Path, name: str = "rollout-x.jsonl") -> Path:
        path = folder / name
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines))
        return path
