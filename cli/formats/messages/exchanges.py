"""What a record of a log says: a request as it was sent, and its response.

claude-trace   ``{"request": {"timestamp", "url", "headers", "body"}, "response": {"status_code",
               "body" or "body_raw", …}}``; what was streamed is in ``body_raw`` as it came
plain          ``{"request": {"model", "messages", …}, "response": {"content", …}}``
cassette       ``{"request": {"uri", "headers", "parsed_body" or "body"}, "response": {"status":
               {"code"}, "headers", "parsed_body" or "body": {"string"}}}``
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from foldlog.cli.proxy.bodies import is_request, json_object
from foldlog.eventstore.codec import dumps
from foldlog.projections.live.stream import MessageStream

if TYPE_CHECKING:
    from foldlog.eventstore.events import Json

FAILED = 400
"""The status from which on a response is an error."""

SECRET = ("auth", "key", "token", "cookie", "secret")
"""What the names of headers with credentials hold; they are not recorded."""

BODIES = ("body", "body_raw", "parsed_body")
"""The fields with what was sent, in any of the forms."""

Object = dict[str, Any]


class Exchange(NamedTuple):
    """A request for a message, and its response.

    Attributes:
        body: The JSON of the request.
        headers: Its headers, their names in lower case.
        url: Where it was sent; empty where the log does not say.
        status: The status of the response.
        answer: Its content, JSON or a stream; None where the log holds none.
        sent: When the request was sent, as the log writes it.
        answered: When the response came.
        request_id: The id that the API gave the request.
        line: All else that the record holds, without credentials.
    """

    body: Object
    headers: dict[str, str]
    url: str
    status: int
    answer: bytes | None
    sent: Json
    answered: Json
    request_id: str | None
    line: Object

    @property
    def is_stream(self) -> bool:
        """The response came in pieces."""
        return self.answer is not None and json_object(self.answer) is None

    @property
    def betas(self) -> frozenset[str]:
        """What its ``anthropic-beta`` header names."""
        names = (name.strip() for name in self.headers.get("anthropic-beta", "").split(","))
        return frozenset(filter(None, names))

    @property
    def reply(self) -> Mapping[str, Any]:
        """The message of the response; empty where it holds none."""
        if self.answer is None or self.status >= FAILED:
            return {}
        if not self.is_stream:
            return json_object(self.answer) or {}
        stream = MessageStream()
        stream.feed(self.answer)
        return stream.message or {}


def is_exchange(value: Mapping[str, Json]) -> bool:
    """Return whether an object is a request for a message with its response, by their fields."""
    exchange = exchange_of(value)
    if exchange is None or "response" not in value:
        return False
    return isinstance(exchange.body.get("model"), str) and "max_tokens" in exchange.body


def exchange_of(value: Mapping[str, Json]) -> Exchange | None:
    """Return what a record says; None if it is no request for a message."""
    request, response = _object(value.get("request")), value.get("response")
    inner = _body(request)
    body = request if inner is None else inner
    url = _first_text(request.get("url"), request.get("uri"), value.get("path"))
    if not is_request(body) or not body["messages"] or not _asks_for_message(url):
        return None
    answer = _object(response)
    headers = _headers(answer.get("headers"))
    return Exchange(
        body=body,
        headers=_headers(request.get("headers")),
        url=url,
        status=_status(answer),
        answer=_answer(response),
        sent=_first(request.get("timestamp"), value.get("timestamp"), value.get("ts")),
        answered=_first(answer.get("timestamp"), value.get("logged_at"), value.get("ts")),
        request_id=headers.get("request-id"),
        line=_rest(value),
    )


def _body(request: Object) -> Object | None:
    """Return the body of a request that is wrapped in what else is known of it."""
    body = request.get("parsed_body", request.get("body"))
    if isinstance(body, str):
        body = json_object(body.encode("utf-8", "replace"))
    return body if isinstance(body, dict) else None


def _asks_for_message(url: str) -> bool:
    try:
        path = urlsplit(url).path
    except ValueError:
        return False
    return not url or path.endswith("/messages")


def _answer(response: Json) -> bytes | None:
    """Return the content of a response, where it is in any of the forms."""
    if isinstance(response, str):
        return response.encode("utf-8", "replace")
    if not isinstance(response, dict):
        return None
    body = response.get("parsed_body", response.get("body_raw", response.get("body")))
    if isinstance(body, dict) and isinstance(body.get("string"), str):
        body = body["string"]
    if isinstance(body, str):
        return body.encode("utf-8", "replace")
    whole = body if isinstance(body, dict) else response
    is_answer = isinstance(whole.get("content"), list) or "error" in whole
    return dumps(whole) if is_answer else None


def _status(answer: Object) -> int:
    status = answer.get("status")
    code = status.get("code") if isinstance(status, dict) else status
    given = _first(answer.get("status_code"), code)
    if isinstance(given, int) and not isinstance(given, bool) and 0 < given < 1000:
        return given
    return FAILED if answer.get("type") == "error" else 200


def _rest(value: Mapping[str, Json]) -> Object:
    """Return a record without the bodies, which are in its events, and without credentials."""
    request, response = _object(value.get("request")), _object(value.get("response"))
    wrapped = _body(request) is not None
    answered = isinstance(response.get("content"), list)
    return {
        **value,
        "request": _shell(request, *BODIES) if wrapped else None,
        "response": None if answered else _shell(response, *BODIES),
    }


def _shell(given: Object, *left_out: str) -> Object:
    shell = {key: item for key, item in given.items() if key not in left_out}
    if "headers" in shell:
        shell["headers"] = {
            name: item
            for name, item in _headers(shell["headers"]).items()
            if not any(word in name for word in SECRET)
        }
    return shell


def _headers(given: Json) -> dict[str, str]:
    """Return headers by their names in lower case; of several with one name, the first."""
    found: dict[str, str] = {}
    for name, item in _object(given).items():
        first = item[0] if isinstance(item, list) and item else item
        if isinstance(first, str):
            found.setdefault(name.lower(), first)
    return found


def _object(value: Json) -> Object:
    return value if isinstance(value, dict) else {}


def _first_text(*values: Json) -> str:
    return next((value for value in values if isinstance(value, str)), "")


def _first(*values: Json) -> Json:
    return next((value for value in values if value is not None), None)
