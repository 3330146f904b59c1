"""What the server signs: thinking, bound to what stands before it, and compaction blocks.

A signature says of itself what it was made for, sealed with a key, so that the server can be asked
again after a restart. A thinking block is valid where system, tools and all blocks before it are
what they were (cache marks and the borders of merged messages aside); thinking before it may have
been taken away from the oldest on, never in the middle.
"""

from __future__ import annotations

import hmac
import json
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from tests.server.wire import THINKING, Block, Call, Spot, bare, canonical, nested

_KEY = b"the key of a server in tests"


@dataclass(frozen=True)
class Prefix:
    """What stands before a block.

    Attributes:
        settings: The digest of system and tools.
        chain: The digest of all blocks but thinking.
        thoughts: The digests of the thinking blocks.
    """

    settings: str
    chain: str = ""
    thoughts: tuple[str, ...] = ()

    def then(self, role: str, block: Block) -> Prefix:
        """What stands before the block behind that one."""
        if block.get("type") in THINKING:
            return replace(self, thoughts=(*self.thoughts, _thought(block)))
        if block.get("type") == "compaction":
            return self._compacted(block)
        link = canonical([self.chain, role, _unmarked(block)])
        return replace(self, chain=_digest(link))

    def _compacted(self, block: Block) -> Prefix:
        """A summary stands for what it summarizes: a signed one leaves thinking behind it valid."""
        if block.get("content") is None:
            return self
        signed = opened(block.get("signature"))
        end = signed["end"] if signed else _digest(canonical(block["content"]))
        return replace(self, chain=str(end))


def before(call: Call) -> Iterator[tuple[Spot, Prefix]]:
    """Each block of a request and what stands before it."""
    prefix = opening(call)
    for spot in call.spots:
        yield spot, prefix
        prefix = prefix.then(spot.role, spot.block)


def opening(call: Call) -> Prefix:
    """What stands before the first message."""
    offered = [bare(tool) for tool in call.tools if not tool.get("defer_loading")]
    return Prefix(_digest(canonical([list(map(bare, call.system)), offered])))


def ending(call: Call) -> Prefix:
    """What stands before the reply to a request."""
    prefix = opening(call)
    for spot in call.spots:
        prefix = prefix.then(spot.role, spot.block)
    return prefix


def signed_reply(content: Iterable[Block], prefix: Prefix, model: str, reply: str) -> list[Block]:
    """A reply's blocks, its thinking signed for the place behind a prefix."""
    made = list(content)
    thinking = [block for block in made if block["type"] in THINKING]
    signed: list[Block] = []
    for block in made:
        if block["type"] in THINKING:
            number = sum(1 for other in signed if other["type"] in THINKING)
            made_for = _binding(block, prefix, model) | {"reply": reply}
            block = _signed(block, made_for | {"number": number, "of": len(thinking)})
        signed.append(block)
        prefix = prefix.then("assistant", block)
    return signed


def resigned(call: Call, model: str) -> list[dict[str, Any]]:
    """The messages of a request, all thinking signed as if it had been written there."""
    prefix = opening(call)
    messages = [dict(message) for message in call.messages]
    for index, message in enumerate(messages):
        if message["role"] == "assistant":
            reply = f"msg_signed_{index}"
            message["content"] = signed_reply(message["content"], prefix, model, reply)
        for block in message["content"]:
            prefix = prefix.then(message["role"], block)
    return messages


def fits(block: Block, prefix: Prefix) -> bool:
    """Whether a thinking block still stands behind what it was made behind."""
    made = opened_thinking(block)
    if made is None:
        return False
    thoughts = tuple(made["thoughts"])
    kept = not prefix.thoughts or thoughts[-len(prefix.thoughts) :] == prefix.thoughts
    return kept and (made["settings"], made["chain"]) == (prefix.settings, prefix.chain)


def opened_thinking(block: Block) -> dict[str, Any] | None:
    """What a thinking block was signed for; None if it was not signed here or was changed."""
    field = "signature" if block["type"] == "thinking" else "data"
    made = opened(block.get(field))
    if made is None or made.get("text") != _digest(canonical(block.get("thinking", ""))):
        return None
    return made


def signed_compaction(content: str, changes: list[Block], end: Prefix) -> Block:
    """A signed compaction block that stands for all that is before its place."""
    block: Block = {"type": "compaction", "content": content, "tool_changes": changes}
    made = {"end": end.chain, "content": content, "changes": changes}
    return {**block, "signature": _seal({**made, "keys": sorted(block)})}


def opened(signature: Any) -> dict[str, Any] | None:
    """What a signature was made for; None if it was not made here."""
    try:
        sealed = b64decode(signature, validate=True)
    except (Error, TypeError, ValueError):
        return None
    seal, payload = sealed[:32], sealed[32:]
    if not hmac.compare_digest(seal, hmac.digest(_KEY, payload, "sha256")):
        return None
    made: dict[str, Any] = json.loads(payload)
    return made


def _signed(block: Block, made_for: dict[str, Any]) -> Block:
    field = "signature" if block["type"] == "thinking" else "data"
    return {**block, field: _seal(made_for)}


def _binding(block: Block, prefix: Prefix, model: str) -> dict[str, Any]:
    return {
        "model": model,
        "settings": prefix.settings,
        "chain": prefix.chain,
        "thoughts": list(prefix.thoughts),
        "text": _digest(canonical(block.get("thinking", ""))),
    }


def _seal(payload: dict[str, Any]) -> str:
    text = canonical(payload)
    return b64encode(hmac.digest(_KEY, text, "sha256") + text).decode()


def _thought(block: Block) -> str:
    return _digest(canonical(block.get("signature") or block.get("data")))[:16]


def _unmarked(block: Block) -> Block:
    inner = nested(block)
    return bare({**block, "content": list(map(bare, inner))} if inner else block)


def _digest(text: bytes) -> str:
    return sha256(text).hexdigest()[:32]
