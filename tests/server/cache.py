"""The prompt cache, simulated, so that the price of a history of views can be told.

A mark caches all that stands before it, for five minutes or an hour since its last use. A request
reads the longest such prefix that it shares, looking back 20 blocks from each of its marks. What
is shorter than the model's least is not cached.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from tests.server.models import Model
from tests.server.tokens import REQUEST, parts
from tests.server.wire import THINKING, Block, Call, bare, canonical, nested

LOOKBACK = 20
LIFETIMES = {"5m": 300.0, "1h": 3_600.0}


@dataclass(frozen=True)
class Figures:
    """How the input of a request was paid: all four together are its tokens."""

    read: int = 0
    minutes: int = 0
    hour: int = 0
    rest: int = 0

    @property
    def total(self) -> int:
        return self.read + self.minutes + self.hour + self.rest

    def usage(self) -> dict[str, Any]:
        """The figures as the API names them."""
        return {
            "input_tokens": self.rest,
            "cache_creation_input_tokens": self.minutes + self.hour,
            "cache_read_input_tokens": self.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.minutes,
                "ephemeral_1h_input_tokens": self.hour,
            },
        }


@dataclass(frozen=True)
class _Step:
    """A place behind a block: the prefix up to it, its tokens, and the mark that stands there."""

    digest: str
    tokens: int
    mark: str | None


class PromptCache:
    """What is cached. Times are seconds, told by whoever asks."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[float, float]] = {}

    def use(self, call: Call, model: Model, now: float) -> Figures:
        """Read and write for a request that was answered."""
        steps = _steps(call, model)
        marks = [at for at, step in enumerate(steps) if step.mark]
        marks = [at for at in marks if steps[at].tokens >= model.least_cached]
        hit = max((self._hit(steps, at, now) for at in marks), default=-1)
        total = steps[-1].tokens if steps else REQUEST
        read = steps[hit].tokens if hit >= 0 else 0
        if hit >= 0:
            self._touch(steps[hit].digest, now)
        written = {"5m": 0, "1h": 0}
        paid = read
        for at in marks:
            mark = steps[at].mark or "5m"
            self._entries.setdefault(steps[at].digest, (0.0, LIFETIMES[mark]))
            self._touch(steps[at].digest, now)
            if at > hit:
                written[mark] += steps[at].tokens - paid
                paid = steps[at].tokens
        return Figures(read, written["5m"], written["1h"], total - paid)

    def _hit(self, steps: list[_Step], mark: int, now: float) -> int:
        """The longest prefix within reach of a mark that is alive."""
        for at in range(mark, max(-1, mark - LOOKBACK), -1):
            expires, _ = self._entries.get(steps[at].digest, (-1.0, 0.0))
            if expires >= now:
                return at
        return -1

    def _touch(self, digest: str, now: float) -> None:
        _, lifetime = self._entries[digest]
        self._entries[digest] = (now + lifetime, lifetime)


def _steps(call: Call, model: Model) -> list[_Step]:
    """The places at which a request can be cached. What changes how the messages are read (thinking
    and tool choice) is part of their prefix."""
    places = list(parts(call))
    first_message = len(call.tools) + len(call.system)
    reading = canonical([call.body.get("thinking"), call.body.get("tool_choice")])
    digest, tokens = model.id.encode(), REQUEST
    steps: list[_Step] = []
    for at, (block, own) in enumerate(places):
        level = reading if at == first_message else b""
        digest = sha256(digest + level + canonical(_unmarked(block))).digest()
        tokens += own
        steps.append(_Step(digest.hex(), tokens, _mark(block)))
    return _marked_whole(steps, places, call.body.get("cache_control"))


def _marked_whole(
    steps: list[_Step], places: list[tuple[Block, int]], mark: dict[str, Any] | None
) -> list[_Step]:
    """A mark on the request itself stands at its last block that can hold one."""
    for at in range(len(steps) - 1, -1, -1):
        if mark and places[at][0].get("type") not in THINKING:
            last = steps[at]
            steps[at] = _Step(last.digest, last.tokens, last.mark or mark.get("ttl", "5m"))
            break
    return steps


def _mark(block: Block) -> str | None:
    for part in (block, *nested(block)):
        if part.get("cache_control"):
            return str(part["cache_control"].get("ttl", "5m"))
    return None


def _unmarked(block: Block) -> Block:
    inner = nested(block)
    return bare({**block, "content": list(map(bare, inner))} if inner else block)
