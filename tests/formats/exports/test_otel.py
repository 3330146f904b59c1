"""Spans: each reply once, by the names of the conventions, as a collector decodes them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import Parse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.semconv._incubating.attributes import error_attributes, gen_ai_attributes

from foldlog.cli.formats import import_path
from foldlog.cli.formats.conversation import Conversation
from foldlog.cli.formats.otel import exporting
from foldlog.eventstore import EventDraft, EventStore
from foldlog.eventstore.errors import FoldlogError
from foldlog.projections import Session
from foldlog.projections.explain.replies import Replies
from tests.formats.exports.conftest import is_golden
from tests.formats.exports.sessions import CHILD, EVERYTHING, FORK, MODEL, USAGE
from tests.projections.build import call

CLAUDE = Path(__file__).parents[2] / "fixtures" / "claude"
KNOWN = {
    value
    for module in (gen_ai_attributes, error_attributes)
    for name, value in vars(module).items()
    if name.isupper() and isinstance(value, str)
}
"""The names of the conventions, as their own package has them."""


def spans(store: EventStore, session: str, *, content: bool = False) -> list[dict[str, Any]]:
    """The spans of a session, each with its attributes by name."""
    conversation = Conversation.of(store, session, content=content)
    (resource,) = json.loads(b"".join(exporting.export_view(conversation)))["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    return [{**span, **attributes(span)} for span in scope["spans"]]


def attributes(span: dict[str, Any]) -> dict[str, Any]:
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}


def chats(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [span for span in found if span["gen_ai.operation.name"] == "chat"]


@dataclass
class Collector:
    """A collector: what it was sent, decoded; and what it answers."""

    url: str = ""
    status: int = 200
    paths: list[str] = field(default_factory=list)
    requests: list[Any] = field(default_factory=list)

    @property
    def ids(self) -> list[bytes]:
        """The ids of all spans that it was sent."""
        return [
            span.span_id
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector on a free port of the loopback."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["content-length"]))
            collector.paths.append(self.path)
            request = ExportTraceServiceRequest()
            request.ParseFromString(raw)
            collector.requests.append(request)
            self.send_response(collector.status)
            self.end_headers()
            self.wfile.write(ExportTraceServiceResponse().SerializeToString())

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    http = HTTPServer(("127.0.0.1", 0), Handler)
    collector.url = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield collector
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


@pytest.mark.parametrize("content", [False, True], ids=["plain", "content"])
def test_it_is_what_it_was(store: EventStore, content: bool) -> None:
    conversation = Conversation.of(store, EVERYTHING, content=content)
    made = json.loads(b"".join(exporting.export_view(conversation)))
    (scope,) = made["resourceSpans"][0]["scopeSpans"]
    scope["scope"]["version"] = "0"  # whatever foldlog's is
    name = f"otel{'-content' if content else ''}.json"
    assert is_golden(name, json.dumps(made, ensure_ascii=False, indent=1).encode() + b"\n")


def test_a_collector_takes_the_document(store: EventStore) -> None:
    content = b"".join(exporting.export_view(Conversation.of(store, EVERYTHING)))
    document = json.loads(content)
    for span in document["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        assert len(bytes.fromhex(span["traceId"])) == 16
        assert len(bytes.fromhex(span["spanId"])) == 8
        for name in ("traceId", "spanId", "parentSpanId"):
            span.pop(name, None)  # JSON of protobuf has base64 there, OTLP has hexadecimal
    Parse(json.dumps(document), ExportTraceServiceRequest())


def test_the_attributes_are_those_of_the_conventions(store: EventStore) -> None:
    found = spans(store, EVERYTHING, content=True)
    names = {each["key"] for span in found for each in span["attributes"]}
    assert {name for name in names if not name.startswith("foldlog.")} <= KNOWN
    assert {span["gen_ai.operation.name"] for span in found} == {
        *("invoke_agent", "chat", "execute_tool")
    }


def test_spans_are_within_each_other(store: EventStore) -> None:
    found = spans(store, EVERYTHING)
    ids = [span["spanId"] for span in found]
    assert len(set(ids)) == len(ids)
    assert len({span["traceId"] for span in found}) == 1
    (agent, *others) = found
    assert "parentSpanId" not in agent
    assert all(span["parentSpanId"] in ids for span in others)
    (child,) = [span for span in found if span["gen_ai.conversation.id"] == CHILD][:1]
    started = next(span for span in found if span.get("gen_ai.tool.call.id") == "toolu_3")
    assert child["parentSpanId"] == started["spanId"]
    assert all(int(s["startTimeUnixNano"]) <= int(s["endTimeUnixNano"]) for s in found)


@pytest.mark.parametrize(
    "name",
    [
        "gen_v332_rewind_then_compact.jsonl",
        "entire_compact_2.0.76.jsonl",
        "spotter_tool_heavy_2.1.38.jsonl",
    ],
)
def test_each_reply_is_one_span_with_what_the_api_counted(name: str) -> None:
    with EventStore(":memory:") as store:
        (session, *_) = [report.session for report in import_path(store, CLAUDE / name)]
        assert session is not None
        replies = Replies()
        for event in store.read(session):
            replies.take(event)
        counted = list(replies.once())
        own = [s for s in chats(spans(store, session)) if s["gen_ai.conversation.id"] == session]
        told = [span for span in own if int(span.get("gen_ai.usage.output_tokens", 0))]
        ids = [span["gen_ai.response.id"] for span in told]
        assert len(set(ids)) == len(ids)
        assert sum(int(span["gen_ai.usage.output_tokens"]) for span in told) == sum(
            reply.usage.get("output_tokens") or 0 for reply in counted
        )
        assert sum(int(span["gen_ai.usage.cache_read.input_tokens"]) for span in told) == sum(
            reply.usage.get("cache_read_input_tokens") or 0 for reply in counted
        )


def test_texts_are_left_out_unless_they_are_asked_for(store: EventStore) -> None:
    plain = json.dumps(spans(store, EVERYTHING), ensure_ascii=False)
    assert "测试" not in plain
    assert "pytest" not in plain
    assert "Be brief." not in plain
    whole = spans(store, EVERYTHING, content=True)
    (looked,) = [span for span in whole if span.get("gen_ai.response.id") == "msg_1"]
    (said,) = json.loads(looked["gen_ai.input.messages"])
    assert said["role"] == "user"
    assert said["parts"][0] == {"type": "text", "content": "Look: 测试"}
    (replied,) = json.loads(looked["gen_ai.output.messages"])
    assert replied["finish_reason"] == "tool_use"
    assert {part["type"] for part in replied["parts"]} == {"reasoning", "text", "tool_call"}


def test_a_failed_tool_and_a_failed_request_are_errors(store: EventStore) -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "later"}}
    Session(store, EVERYTHING).append(EventDraft("request.failed", {"error": error}))
    failed = [span for span in spans(store, EVERYTHING) if span["status"].get("code") == 2]
    assert [span["error.type"] for span in failed] == ["tool_error", "overloaded_error"]


def test_an_id_that_two_branches_use_is_two_spans(store: EventStore) -> None:
    session = Session(store, "branches")
    session.user("Look.")
    for reply in ("msg_1", "msg_2"):
        session.assistant([call("toolu_1", "ls")], model=MODEL, id=reply)
        session.tool_result("toolu_1", "a.txt")
        session.rewind(1)
    ids = [span["spanId"] for span in spans(store, "branches")]
    assert len(set(ids)) == len(ids) == 5


def test_a_call_whose_id_was_used_before_has_its_own_result(store: EventStore) -> None:
    session = Session(store, "gateway")
    session.user("Look.")
    for number in ("1", "2"):
        session.assistant([call("call_1", "ls")], model=MODEL, id=f"msg_{number}")
        session.tool_result("call_1", f"{number}.txt")
    found = spans(store, "gateway", content=True)
    results = [s["gen_ai.tool.call.result"] for s in found if "gen_ai.tool.call.result" in s]
    assert [result.strip('"') for result in results] == ["1.txt", "2.txt"]
    assert len({span["spanId"] for span in found}) == len(found)


def test_a_fork_tells_what_it_did_itself(store: EventStore) -> None:
    session = Session(store, FORK)
    session.assistant([{"type": "text", "text": "Here."}], model=MODEL, id="msg_f", usage=USAGE)
    assert [span["gen_ai.response.id"] for span in chats(spans(store, FORK))] == ["msg_f"]


def test_what_came_since_keeps_the_ids_of_what_was_exported(store: EventStore) -> None:
    before = {span["spanId"] for span in spans(store, EVERYTHING)}
    Session(store, EVERYTHING).tool_result("toolu_5", "awake")
    Session(store, EVERYTHING).assistant([call("toolu_6")], model=MODEL, id="msg_6")
    after = {span["spanId"] for span in spans(store, EVERYTHING)}
    assert before < after
    assert len(after - before) == 2


def test_a_collector_gets_the_spans(store: EventStore) -> None:
    with collecting() as collector:
        sent = exporting.send(Conversation.of(store, EVERYTHING), collector.url)
    assert collector.paths == ["/v1/traces"]
    assert sent == len(collector.ids) == len(spans(store, EVERYTHING))
    assert [id.hex() for id in collector.ids] == [s["spanId"] for s in spans(store, EVERYTHING)]


def test_many_spans_are_sent_in_batches(store: EventStore) -> None:
    session = Session(store, "long")
    for number in range(exporting.BATCH):
        session.user("more")
        session.assistant([{"type": "text", "text": "ok"}], model=MODEL, id=f"msg_{number}")
    with collecting() as collector:
        sent = exporting.send(Conversation.of(store, "long"), f"{collector.url}/v1/traces")
    assert collector.paths == ["/v1/traces"] * 2
    assert len(set(collector.ids)) == sent == exporting.BATCH + 1


def test_a_collector_that_refuses_is_an_error(store: EventStore) -> None:
    with collecting() as collector:
        collector.status = 400
        with pytest.raises(FoldlogError, match="did not take the spans 1 to"):
            exporting.send(Conversation.of(store, EVERYTHING), collector.url)
