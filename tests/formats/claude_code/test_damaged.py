"""Whatever happened to a file: lines are kept, the head is a resume's, no request is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foldlog.cli.formats.claude_code.exporting import is_line
from foldlog.cli.formats.claude_code.resume import resume, turns
from foldlog.cli.formats.claude_code.transcript import Transcript
from foldlog.eventstore import EventStore
from foldlog.projections.render.api_rules import check
from tests.formats.claude_code.cases import (
    PROBES,
    exported,
    lines_of,
    read,
    report_of,
    request,
    said,
    transcripts,
)

BOUNDARY = {"type": "system", "subtype": "compact_boundary", "uuid": "B", "parentUuid": None}
SUMMARY = {"type": "user", "uuid": "S", "parentUuid": "B", "message": {"content": "SUMMARY"}}

Lines = list[bytes]


def _uuids(lines: Lines) -> list[Any]:
    values = [record.value or {} for record in read(b"\n".join(lines) + b"\n").records]
    return [value["uuid"] for value in values if "uuid" in value] or [None]


def _hang_elsewhere(data: st.DataObject, lines: Lines, at: int) -> None:
    record = next(iter(read(lines[at] + b"\n").records), None)
    if record is not None and record.value is not None:
        parent = data.draw(st.sampled_from([*_uuids(lines), None, "gone"]))
        lines[at] = json.dumps({**record.value, "parentUuid": parent}).encode()


def _compact(data: st.DataObject, lines: Lines, at: int) -> None:
    uuids = _uuids(lines)
    kept = {"anchorUuid": data.draw(st.sampled_from("BS")), "uuids": data.draw(_some(uuids))}
    boundary = {**BOUNDARY, "logicalParentUuid": data.draw(st.sampled_from([*uuids, None]))}
    summary = {**SUMMARY, "isCompactSummary": True}
    following = {
        **SUMMARY,
        "uuid": "N",
        "parentUuid": data.draw(st.sampled_from(["B", "S", *uuids])),
    }
    added = [{**boundary, "compactMetadata": {"preservedMessages": kept}}, summary, following]
    lines[at:at] = [json.dumps(line).encode() for line in added]


def _some(uuids: list[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(uuids), max_size=3, unique=True)


def _swap(data: st.DataObject, lines: Lines, at: int) -> None:
    other = data.draw(st.integers(0, len(lines) - 1))
    lines[at], lines[other] = lines[other], lines[at]


def _cut(data: st.DataObject, lines: Lines, at: int) -> None:
    lines[at] = lines[at][: data.draw(st.integers(0, len(lines[at])))]


def _join(data: st.DataObject, lines: Lines, at: int) -> None:
    lines[at : at + 2] = [b"".join(lines[at : at + 2])]


def _double(data: st.DataObject, lines: Lines, at: int) -> None:
    lines.insert(data.draw(st.integers(0, len(lines))), lines[at])


def _lose(data: st.DataObject, lines: Lines, at: int) -> None:
    del lines[at]


DAMAGE = [_hang_elsewhere, _compact, _swap, _cut, _join, _double, _lose]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A probe, or two behind one another, that suffered a few things."""
    data = draw(st.data())
    chosen = draw(st.lists(st.sampled_from(transcripts(PROBES)), min_size=1, max_size=2))
    lines = [line for path in chosen for line in path.read_bytes().split(b"\n") if line]
    for damage in draw(st.lists(st.sampled_from(DAMAGE), max_size=5)):
        if lines:
            damage(data, lines, draw(st.integers(0, len(lines) - 1)))
    return b"".join(line + b"\n" for line in lines)


def followed(store: EventStore, session: str) -> Transcript:
    """What is known of a recorded session."""
    events = list(store.read(session))
    lines = [event.meta.get("line", event.data) for event in events if is_line(event)]
    agent = any(line.get("isSidechain") for line in lines)
    transcript = Transcript(session, agent=agent)
    for event in events:
        transcript.recall(event)
    return transcript


ODD = [
    '{"type":"mode","x":1e999}',
    '{"type":"mode","x":NaN}{"type":"mode","sessionId":"a","y":Infinity}',
    '{"type":"mode","x":' + "[" * 3000 + "]" * 3000 + "}",
    '{"type":""}',
    '{"type":"\\ud800x"}',
    '{"type":"user","uuid":"\\ud800","cwd":"\\udfff","message":{"content":"a"}}',
    '{"type":"user","uuid":"","message":{"content":"a"}}',
    '{"type":"user","uuid":"q","parentUuid":"q","message":{"content":"its own parent"}}',
    '{"type":"user","uuid":"z","timestamp":"\\u0000","message":{"content":"\\u0000"}}',
    '{"type":"user","uuid":"n","sessionId":7,"timestamp":9,"cwd":[],"message":{"content":"x"}}',
    '{"type":"user","uuid":"r","message":{"content":[{"type":"tool_result","tool_use_id":{}}]}}',
    '{"type":"user","uuid":"i","isSidechain":true,"agentId":{"a":1},"message":{"content":"x"}}',
    '{"type":"user","uuid":"j","isSidechain":true,"agentId":"\\ud800","message":{"content":"x"}}',
    '{"type":"user","uuid":"m","forkedFrom":{"sessionId":5},"message":{"content":"x"}}',
    '{"type":"assistant","uuid":"a","message":{"id":5,"content":[{"type":"tool_use","id":7}]}}',
    '{"type":"assistant","uuid":"l","isApiErrorMessage":true,"message":{"content":"plain"}}',
    '{"type":"attachment","uuid":"c","attachment":"x","rendered":"y"}',
    '{"type":"attachment","uuid":"d","attachment":{"type":{}},"rendered":[{"content":"x","z":1}]}',
    (
        '{"type":"system","uuid":"e","subtype":"compact_boundary","compactMetadata":{"preservedMessages":'
        '{"uuids":[1,null]}},"logicalParentUuid":4}'
    ),
    '{"type":"system","uuid":"g","subtype":"microcompact_boundary","microcompactMetadata":5}',
    '{"type":"system","uuid":"h","subtype":"local_command"}',
    '{"type":"system","uuid":"k","subtype":"api_error","error":null}',
    '{"type":["user"],"uuid":["n"],"parentUuid":{},"message":{"content":"x"}}',
    '{"type":"user","uuid":["o"],"parentUuid":null,"message":{"content":"x"}}',
    '{"type":"assistant","uuid":"p","requestRef":"r","message":{"id":"m","model":"m","content":[{"type":[]}]}}',
    (
        '{"type":"system","uuid":"q","subtype":"compact_boundary","compactMetadata":{"preservedMessages":'
        '{"anchorUuid":[],"uuids":["0","0"]}}}'
    ),
    (
        '{"type":"system","uuid":"r","subtype":"compact_boundary","compactMetadata":{"preservedMessages":'
        '{"uuids":7}}}'
    ),
    '{"type":"user","uuid":"s","parentUuid":"q","isCompactSummary":true,"message":{"content":"x"}}',
    '{"type":"system","uuid":"t","subtype":"microcompact_boundary","microcompactMetadata":{"compactedToolIds":[[]]}}',
    '{"type":"last-prompt","leafUuid":{}}',
    '{"type":"summary","summary":5,"leafUuid":[]}',
    '{"type":"custom-title","customTitle":"\\ud800"}',
    '{"type":"api-request","id":[],"shapeHash":{}}',
    '{"type":"api-request","id":"r","shapeHash":{}}',
    '{"type":"api-request-shape","shapeHash":"a","shape":5}',
    '{"type":"file-history-snapshot","snapshot":{"timestamp":5}}',
    '{"$payload":0,"$literal":1,"type":"mode"}',
]


@pytest.mark.parametrize("line", [*ODD, "\n".join(ODD)], ids=[*(x[:40] for x in ODD), "all"])
def test_an_odd_line(line: str, tmp_path: Path) -> None:
    """What no version writes, and a file may hold all the same."""
    path = tmp_path / "s.jsonl"
    path.write_text('{"type":"user","uuid":"0","message":{"content":"hi"}}\n' + line + "\n")
    store = EventStore(":memory:")
    check_import(store, path)
    assert report_of(store, path).new == 0


@pytest.mark.parametrize("field", ["requestRef", "x"])
def test_a_record_of_any_depth(field: str, tmp_path: Path) -> None:
    """One that is too deep to be recorded is kept as text; none that is recorded cannot be read."""
    path = tmp_path / "s.jsonl"
    start = '{"type":"user","uuid":"u%d","message":{"content":"\\ud800"},"' + field + '":'
    depths = (1, 200, 253, 254, 300, 2_000, 100_000)
    path.write_text("".join(start % d + '{"$literal":' * d + "1" + "}" * d + "}\n" for d in depths))
    store = EventStore(":memory:")
    check_import(store, path)
    assert report_of(store, path).new == 0


@given(content=damaged(), cut=st.floats(0, 1))
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_damaged_file(content: bytes, cut: float, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    store = EventStore(":memory:")
    path.write_bytes(content[: int(len(content) * cut)])
    report_of(store, path)
    path.write_bytes(content)
    check_import(store, path)


def check_import(store: EventStore, path: Path) -> None:
    """Import a file, and hold what became of it against the file."""
    report = report_of(store, path)
    if report.session is None:
        return
    back = [said(record) for record in read(exported(store, report.session)).records]
    assert back == [said(record) for record in lines_of(path)]
    transcript = followed(store, report.session)
    wanted = resume(transcript.nodes, transcript.last_prompt)
    assert turns(transcript.seen()) == turns(wanted)
    assert check(request(store, report.session)) == []
    assert all(verdict.ok for verdict in store.verify())
