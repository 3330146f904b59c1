"""From a message of goose to blocks of the Messages API.

================================================  =============================================
``text``, ``image``                               ``text``, ``image``
``thinking``, ``redactedThinking``                the same, the signature where there is one
``toolRequest``, ``frontendToolRequest``          ``tool_use``; one that failed to be read is
                                                  never sent
``toolResponse``                                  a ``tool.result`` of its own
``systemNotification``, requests for permission   for the screen only
================================================  =============================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from foldlog.cli.formats import openai_blocks
from foldlog.projections.wire.blocks import objects, text

if TYPE_CHECKING:
    from foldlog.eventstore.events import Json

_REQUESTS = ("toolRequest", "frontendToolRequest")

_FOR_THE_SCREEN = (
    *("systemNotification", "actionRequired", "toolConfirmationRequest"),
    *("contextLengthExceeded", "summarizationRequested", "conversationCompacted"),
)


class Message(NamedTuple):
    """A message as goose keeps it.

    Attributes:
        role: ``user`` or ``assistant``.
        created: When it was made, in seconds since 1970.
        content: Its parts.
        for_agent: The model sees it.
        for_user: The person sees it.
        original: All that is kept about it.
        place: Where it was read, for ``meta.source``.
    """

    role: str
    created: Json
    content: Json
    for_agent: bool
    for_user: bool
    original: dict[str, Json]
    place: dict[str, Json]

    @property
    def key(self) -> str:
        """What names it: goose writes rows again with other ids when it compacts."""
        return f"{self.created}/{self.role}"

    @property
    def is_summary(self) -> bool:
        """The model sees it, or once saw it, and the person never did."""
        return self.role == "user" and not self.for_user and bool(blocks(self.content))


def visible(metadata: Json) -> tuple[bool, bool]:
    """Return whether the model and the person see a message; both, where nothing is said."""
    given = metadata if isinstance(metadata, dict) else {}
    return given.get("agentVisible") is not False, given.get("userVisible") is not False


def blocks(content: Json) -> list[Json]:
    """Return the blocks of a message, results left out."""
    found = (_block(part) for part in objects(content))
    return [block for block in found if block is not None]


def results(content: Json) -> list[dict[str, Json]]:
    """Return the data of a ``tool.result`` for each result in a message."""
    return [_result(part) for part in objects(content) if part.get("type") == "toolResponse"]


def _block(part: dict[str, Json]) -> Json:
    kind = part.get("type")
    if kind in _REQUESTS:
        return _call(part)
    if kind == "toolResponse" or kind in _FOR_THE_SCREEN:
        return None
    return _shown(part)


def _shown(part: dict[str, Json]) -> Json:
    """Return the block of what is said or shown; what has no counterpart stays as it is."""
    kind = part.get("type")
    if kind == "text" and isinstance(part.get("text"), str):
        return text(part["text"])
    if kind == "image" and isinstance(part.get("data"), str):
        source = {"type": "base64", "media_type": part.get("mimeType"), "data": part["data"]}
        return {"type": "image", "source": source}
    if kind == "thinking" and isinstance(part.get("thinking"), str):
        signature = part.get("signature")
        signed = {"signature": signature} if isinstance(signature, str) and signature else {}
        return {**openai_blocks.thinking(part["thinking"]), **signed}
    if kind == "redactedThinking":
        return {"type": "redacted_thinking", "data": part.get("data")}
    return part


def _call(part: dict[str, Json]) -> Json:
    call = part.get("toolCall")
    value = call.get("value") if isinstance(call, dict) else None
    if not isinstance(value, dict):
        return None
    return openai_blocks.call(part.get("id"), value.get("name"), value.get("arguments"))


def _result(part: dict[str, Json]) -> dict[str, Json]:
    result, id_ = part.get("toolResult"), part.get("id")
    given = result if isinstance(result, dict) else {}
    data: dict[str, Json] = {"tool_use_id": id_ if isinstance(id_, str) else ""}
    if given.get("status") == "error" or "value" not in given:
        error = given.get("error")
        return {**data, "content": error if isinstance(error, str) else "", "is_error": True}
    value = given["value"]
    failed = isinstance(value, dict) and value.get("isError") is True
    listed = value.get("content") if isinstance(value, dict) else value
    content = [_shown(item) for item in objects(listed)]
    return {**data, "content": content, **({"is_error": True} if failed else {})}
