"""What programs sent when they resumed an export, beside what foldlog shows.

Requests of both kinds are read as parts: who said what, which call, which result. A program adds
parts before and after (its own instructions, the new prompt); those of the view must be there, in
order and without a gap.

``tests/fixtures/resumed/PROGRAM-VERSION`` holds the exported session and the request that the real
program sent for it. ``FOLDLOG_WRITE_GOLDEN=1 make clients`` records them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

from foldlog import EventStore, Session

FIXTURES = Path(__file__).parents[2] / "fixtures" / "resumed"
Json: TypeAlias = Any
Part: TypeAlias = tuple[str, ...]

PROMPT = "And now?"
"""What a person says to the resumed program."""


@dataclass(frozen=True)
class Program:
    """A program that resumes an export.

    Attributes:
        name: Its format.
        version: Its version.
        lost: The kinds of parts that its form has no place for.
        marks_failures: Whether it says of a result that it failed.
        reads: Reads the parts of a request.
        sorts_results: Whether the results of parallel calls come in the order of the calls.
    """

    name: str
    version: str
    lost: frozenset[str]
    marks_failures: bool
    reads: Callable[[Json], Iterator[Part]]
    sorts_results: bool = False

    @property
    def folder(self) -> Path:
        """Where its recording is."""
        return FIXTURES / f"{self.name}-{self.version}"

    def expected(self, store: EventStore, session: str) -> list[Part]:
        """The parts of the view that it is to send."""
        shown = Session(store, session).render(open="recover")
        return self._ordered(self._carried(of_messages(shown)))

    def _carried(self, parts: Iterable[Part]) -> Iterator[Part]:
        for part in parts:
            if part[0] not in self.lost:
                yield part if self.marks_failures or part[0] != "failed" else ("result", *part[1:])

    def sent(self, body: Json) -> list[Part]:
        """The parts of a request."""
        return self._ordered(self.reads(body))

    def _ordered(self, parts: Iterable[Part]) -> list[Part]:
        runs = groupby(parts, lambda part: part[0] in ("result", "failed"))
        return [
            part
            for is_results, run in runs
            for part in (sorted(run) if is_results and self.sorts_results else run)
        ]


def holds(parts: list[Part], expected: list[Part]) -> bool:
    """Whether some parts hold others, in order and without a gap, and then the new prompt."""
    size = len(expected)
    ends = [at + size for at in range(len(parts)) if parts[at : at + size] == expected]
    return any(PROMPT in part[-1] for end in ends for part in parts[end:])


# -- the Messages API ----------------------------------------------------------------------------


def of_messages(body: Json) -> Iterator[Part]:
    """The parts of a request to the Messages API."""
    for message in body["messages"]:
        for block in _listed(message["content"]):
            yield from _of_block(message["role"], block)


def _of_block(role: str, block: Json) -> Iterator[Part]:
    match block["type"]:
        case "text":
            yield ("text", role, block["text"].strip())
        case "image" | "document":
            source = block["source"]
            known = source.get("data") or source.get("url")
            yield (f"{block['type']} by {source['type']}", role, known)
        case "tool_use":
            yield ("call", block["id"], block["name"], json.dumps(block["input"], sort_keys=True))
        case "tool_result":
            name = "failed" if block.get("is_error") else "result"
            inner = [
                part for each in _listed(block.get("content", [])) for part in _of_block("", each)
            ]
            yield (name, block["tool_use_id"], *(word for part in inner for word in part))
        case "thinking":
            yield ("thinking", role, block["thinking"])
        case other:
            yield (other, role)


def _listed(content: Json) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


# -- the Responses API ---------------------------------------------------------------------------


def of_responses(body: Json) -> Iterator[Part]:
    """The parts of a request to the Responses API, named as those of the Messages API."""
    for item in body["input"]:
        match item["type"]:
            case "message":
                for part in item["content"]:
                    yield _of_part(item["role"], part)
            case "function_call":
                given = json.dumps(json.loads(item["arguments"]), sort_keys=True)
                yield ("call", item["call_id"], item["name"], given)
            case "function_call_output":
                output = item["output"]
                listed = (
                    [{"type": "input_text", "text": output}] if isinstance(output, str) else output
                )
                inner = (_of_part("", part) for part in listed)
                yield ("result", item["call_id"], *(word for part in inner for word in part))
            case other:
                yield (other,)


def _of_part(role: str, part: Json) -> Part:
    if part["type"] == "input_image":
        url: str = part["image_url"]
        inline = url.startswith("data:")
        form = "base64" if inline else "url"
        return (f"image by {form}", role, url.partition(",")[2] if inline else url)
    return ("text", role, part["text"].strip())


SERVER = {"server_tool_use", "web_search_tool_result"}
DOCUMENTS = {"document by base64", "document by url"}

PROGRAMS = {
    program.name: program
    for program in (
        Program(
            *("codex", "0.171.0", frozenset({"thinking", "image by url", *SERVER, *DOCUMENTS})),
            *(False, of_responses),
        ),
        Program("opencode", "1.18.33", frozenset(SERVER), True, of_messages, sorts_results=True),
        Program("pi", "1.6.0", frozenset({"image by url", *SERVER, *DOCUMENTS}), True, of_messages),
    )
}
"""The programs whose resumes are recorded."""


# -- recordings ----------------------------------------------------------------------------------


def record(program: Program, file: bytes, body: Json, root: Path) -> None:
    """Record what a program sent for an exported session, without what is of it or this machine."""
    program.folder.mkdir(parents=True, exist_ok=True)
    neutral = file.replace(str(root).encode(), b"/home/user")
    (program.folder / "session").write_bytes(neutral)
    kept = {key: body[key] for key in ("model", "messages", "input") if key in body}
    plain = json.dumps(_cut(kept), ensure_ascii=False, indent=1).replace(str(root), "/home/user")
    (program.folder / "request.json").write_text(plain + "\n", encoding="utf-8")


def recorded(program: Program) -> tuple[bytes, Json]:
    """An exported session, and the request that the program sent for it."""
    request = json.loads((program.folder / "request.json").read_text("utf-8"))
    return (program.folder / "session").read_bytes(), request


def _cut(value: Json) -> Json:
    """A request with the program's own long texts cut."""
    if isinstance(value, str):
        return value if len(value) < 1_500 else f"[{len(value)} characters, cut]"
    if isinstance(value, list):
        return [_cut(each) for each in value]
    if isinstance(value, dict):
        return {key: _cut(each) for key, each in value.items()}
    return value
