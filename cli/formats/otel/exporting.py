"""Spans as OTLP: one JSON document, or to a collector over HTTP, by OpenTelemetry's packages."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from foldlog.cli.formats.otel.spans import Span, spans, trace_id
from foldlog.eventstore.errors import FoldlogError
from foldlog.projections.render.repairs.characters import whole_characters

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

    from foldlog.cli.formats.conversation import Conversation

EXTRA = 'OpenTelemetry is not installed. Run `pip install "foldlog[otel]"`.'

PATH = "/v1/traces"
"""Where a collector takes spans (OTLP/HTTP)."""

BATCH = 512
"""How many spans are sent at once: the default of OpenTelemetry's own batches."""

TIMEOUT = 10.0
"""Seconds that a batch may take; OpenTelemetry's default."""

IDS = ("traceId", "spanId", "parentSpanId")
"""The ids, which OTLP's JSON writes in hexadecimal where JSON of protobuf has base64."""


def export_view(conversation: Conversation) -> Iterator[bytes]:
    """Yield one JSON document, as a collector takes it at ``/v1/traces``.

    Raises:
        FoldlogError: The packages are not installed.
    """
    try:
        from google.protobuf.json_format import MessageToDict
        from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    except ImportError as error:
        raise FoldlogError(EXTRA) from error
    request = encode_spans(_readable(conversation))
    made = MessageToDict(request, use_integers_for_enums=True)
    yield json.dumps(_with_hex_ids(made), ensure_ascii=False).encode() + b"\n"


def send(conversation: Conversation, endpoint: str) -> int:
    """Send the spans to a collector and return how many there were.

    Args:
        endpoint: Its address; ``/v1/traces`` is added if it is not there. Headers come from
            ``OTEL_EXPORTER_OTLP_HEADERS``.

    Raises:
        FoldlogError: The packages are not installed, or the collector did not take them.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import SpanExportResult
    except ImportError as error:
        raise FoldlogError(EXTRA) from error
    url = endpoint.rstrip("/")
    url = url if url.endswith(PATH) else url + PATH
    exporter = OTLPSpanExporter(endpoint=url, timeout=TIMEOUT)
    found = _readable(conversation)
    for at in range(0, len(found), BATCH):
        if exporter.export(found[at : at + BATCH]) is not SpanExportResult.SUCCESS:
            raise FoldlogError(
                f"{url} did not take the spans {at + 1} to {min(at + BATCH, len(found))} of"
                f" {len(found)}. Check that a collector listens there, and export again:"
                " what it has is sent with the same ids."
            )
    exporter.shutdown()  # type: ignore[no-untyped-call]
    return len(found)


def _readable(conversation: Conversation) -> list[ReadableSpan]:
    """Return the spans in OpenTelemetry's own type."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, SpanKind, TraceFlags
    from opentelemetry.trace.status import Status, StatusCode

    trace = trace_id(conversation.id)
    name = whole_characters(str(conversation.harness.get("harness") or "foldlog"))
    resource = Resource({"service.name": name})
    scope = InstrumentationScope("foldlog", version("foldlog"))

    def context(id: int) -> SpanContext:
        return SpanContext(trace, id, is_remote=False, trace_flags=TraceFlags(1))

    def made(span: Span) -> ReadableSpan:
        return ReadableSpan(
            whole_characters(span.name),
            context=context(span.id),
            parent=None if span.parent is None else context(span.parent),
            resource=resource,
            attributes=whole_characters(span.attributes),
            kind=SpanKind.CLIENT if span.is_call else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR, span.error) if span.error else Status(),
            start_time=span.start * 1000,
            end_time=span.end * 1000,
            instrumentation_scope=scope,
        )

    return [made(span) for span in spans(conversation)]


def _with_hex_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_hex_ids(each) for each in value]
    if isinstance(value, dict):
        return {key: _hex(key, _with_hex_ids(each)) for key, each in value.items()}
    return value


def _hex(key: str, value: Any) -> Any:
    return b64decode(value).hex() if key in IDS and isinstance(value, str) else value
