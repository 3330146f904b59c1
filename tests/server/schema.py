"""The shape of a request, as the SDK's own types have it: what they do not name is refused.

So null where it is not allowed, a field of ours in a block, or a message dumped with what only
answers hold, fail here as they fail with the API.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, get_args

from tests.server.refusal import invalid

_TYPE = re.compile(r"Literal\[[\"']([a-z0-9_]+)[\"']\]")
SAMPLING = ("temperature", "top_p", "top_k")
"""What the SDK's types do not name any more, and older models take."""

_HEADERS = {"betas", "user_profile_id", "workspace_id"}
_REQUIRED: dict[str, dict[str, type]] = {
    "text": {"text": str},
    "thinking": {"thinking": str, "signature": str},
    "redacted_thinking": {"data": str},
    "tool_use": {"id": str, "name": str, "input": dict},
    "server_tool_use": {"id": str, "name": str, "input": dict},
    "tool_result": {"tool_use_id": str},
    "image": {"source": dict},
    "document": {"source": dict},
}
_NAMES: dict[type, str] = {str: "string", dict: "dictionary", list: "list"}
_IDS = {"tool_use": r"^[a-zA-Z0-9_-]+$", "server_tool_use": r"^srvtoolu_[a-zA-Z0-9_]+$"}

Fields = dict[str, bool]
"""The names of fields, each with whether it may be null."""


def check(body: Any, required: tuple[str, ...] = ("model", "max_tokens", "messages")) -> None:
    """Refuse a body that is no request for a message."""
    if not isinstance(body, dict):
        raise invalid("Input should be a valid dictionary")
    _fields("", body, _request())
    for name in required:
        if name not in body:
            raise invalid(f"{name}: Field required")
    if not isinstance(body["messages"], list):
        raise invalid("messages: Input should be a valid list")
    _blocks("system", body.get("system", []), {"text": _kinds()["text"]})
    for index, message in enumerate(body["messages"]):
        _message(f"messages.{index}", message)


def _message(path: str, message: Any) -> None:
    role = message.get("role") if isinstance(message, dict) else None
    if role not in ("user", "assistant", "system"):
        raise invalid(f"{path}.role: Input should be 'user' or 'assistant'")
    if "content" not in message and not message.get("output_config"):
        raise invalid(f"{path}.content: Field required")
    _fields(f"{path}.", message, _messages()[role])
    _blocks(f"{path}.content", message.get("content", []), _kinds())


def _blocks(path: str, content: Any, kinds: dict[str, Fields]) -> None:
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        raise invalid(f"{path}: Input should be a valid list")
    for at, block in enumerate(content):
        _block(f"{path}.{at}", block, kinds)


def _block(path: str, block: Any, kinds: dict[str, Fields]) -> None:
    type = block.get("type") if isinstance(block, dict) else None
    if type not in kinds:
        raise invalid(
            f"{path}: Input tag '{type}' found using 'type' does not match any of the expected tags"
        )
    _fields(f"{path}.{type}.", block, kinds[type])
    for name, kind in _REQUIRED.get(type, {}).items():
        if name not in block:
            raise invalid(f"{path}.{type}.{name}: Field required")
        if not isinstance(block[name], kind):
            raise invalid(f"{path}.{type}.{name}: Input should be a valid {_NAMES[kind]}")
    if type in _IDS and not re.match(_IDS[type], block["id"]):
        raise invalid(f"{path}.{type}.id: String should match pattern '{_IDS[type]}'")
    if type == "tool_result" and "content" in block:
        _blocks(f"{path}.tool_result.content", block["content"], kinds | _only_in_results())


def _fields(path: str, found: dict[str, Any], known: Fields) -> None:
    for name, value in found.items():
        if name not in known:
            raise invalid(f"{path}{name}: Extra inputs are not permitted")
        if value is None and not known[name]:
            raise invalid(f"{path}{name}: Input should not be null")


@cache
def _request() -> Fields:
    from anthropic.types.beta import message_create_params

    known = _of(message_create_params.MessageCreateParamsBase)
    more = dict.fromkeys(("stream", *SAMPLING), False)
    return {name: null for name, null in known.items() if name not in _HEADERS} | more


@cache
def _messages() -> dict[str, Fields]:
    from anthropic.types import beta

    return {
        "user": _of(beta.BetaUserMessageParam),
        "assistant": _of(beta.BetaAssistantMessageParam),
        "system": _of(beta.BetaSystemMessageParam),
    }


@cache
def _kinds() -> dict[str, Fields]:
    from anthropic.types import beta

    found: dict[str, Fields] = {}
    for shape in get_args(beta.BetaContentBlockParam):
        type = _TYPE.search(str(getattr(shape, "__annotations__", {}).get("type")))
        if type and hasattr(shape, "__required_keys__"):
            found[type[1]] = _of(shape)
    return found


def _only_in_results() -> dict[str, Fields]:
    from anthropic.types import beta

    return {"tool_reference": _of(beta.BetaToolReferenceBlockParam)}


def _of(shape: Any) -> Fields:
    return {name: "Optional[" in str(kind) for name, kind in shape.__annotations__.items()}
