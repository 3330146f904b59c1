"""The API: it refuses what the real one refuses, and answers with what a test has written.

    received -> shape, thread, rules -> bound thinking -> edits -> overflow -> the scripted reply

``tests.server.http`` puts it on a port of the loopback, so that the real SDK talks to it.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from tests.server import schema
from tests.server.binding import Report, bound
from tests.server.cache import Figures, PromptCache
from tests.server.edits import Applied, edited
from tests.server.models import MODELS, Model
from tests.server.refusal import Refusal, invalid, not_found, too_large
from tests.server.replies import Reply, cut, reply, stop_of
from tests.server.rules import RULES
from tests.server.rules.features import BINDING
from tests.server.rules.thinking import modified, signatures_made
from tests.server.signing import ending, resigned, signed_reply
from tests.server.summaries import summarized, threshold, threshold_block, without_compacted
from tests.server.threads import Threads, unsupported
from tests.server.tokens import block_tokens, count
from tests.server.wire import THINKING, Block, Call

Turn: TypeAlias = "Reply | Refusal"
"""What comes back next."""


@dataclass
class Received:
    """A request that came in, and what became of it.

    Attributes:
        path: The path it was sent to.
        headers: Its headers, the names in lower case.
        body: Its JSON.
        whole: The same with what its thread holds: all that the model reads.
        refusal: Why it was refused.
        message: The message that answered it.
        figures: How its input was paid.
        dropped: The bound thinking that was dropped from it.
    """

    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    whole: Any = None
    refusal: Refusal | None = None
    message: dict[str, Any] | None = None
    figures: Figures | None = None
    dropped: Report = field(default_factory=list)

    @property
    def betas(self) -> frozenset[str]:
        """What its ``anthropic-beta`` header names."""
        named = self.headers.get("anthropic-beta", "").split(",")
        return frozenset(name.strip() for name in named if name.strip())

    @property
    def call(self) -> Call:
        """The request as the rules read it."""
        return Call(self.body if self.whole is None else self.whole, self.betas)

    @property
    def is_stream(self) -> bool:
        return bool(self.body.get("stream"))


@dataclass(frozen=True)
class Answer:
    """What is sent back: JSON, and how it breaks off if it does."""

    body: dict[str, Any]
    reply: Reply = reply()  # noqa: RUF009 - frozen, and the same for all


class Api:
    """A Messages API in memory.

    Attributes:
        requests: All requests that came in.
        models: The models that there are.
        window: The context window of all models, in tokens; None for each its own.
        max_bytes: The largest request.
        now: The time in seconds, as the prompt cache sees it; a test moves it.
        faults: Refusals that come before anything else, one a request.
        respond: What answers a request that was not refused.
        summarize: What the API's own compaction says.
        threads: The conversations that it holds; ``threads.expire()`` forgets them.
        holds_threads: Whether it holds any: without, a request for it is refused, as for some
            organizations.
        checks_signatures: Whether thinking that was not signed here is refused.
    """

    def __init__(self) -> None:
        self.reset()
        self._lock = threading.Lock()

    def reset(self) -> None:
        """Forget all that was, as a new server."""
        self.requests: list[Received] = []
        self.models: dict[str, Model] = dict(MODELS)
        self.window: int | None = None
        self.max_bytes = 32_000_000
        self.now = 0.0
        self.faults: deque[Refusal] = deque()
        self.respond: Callable[[Received], Turn] = lambda _: reply("Understood.")
        self.summarize: Callable[[Received], Reply] = _summary
        self.threads = Threads()
        self.holds_threads = True
        self.checks_signatures = True
        self.cache = PromptCache()
        self._made = 0
        self._thoughtful: dict[str, str] = {}

    # -- what a test says ---------------------------------------------------------------------

    def script(self, *turns: Turn | Callable[[Received], Turn]) -> None:
        """Answer with these, one a request; a request beyond the last is refused."""
        coming = deque(turns)

        def respond(received: Received) -> Turn:
            if not coming:
                return invalid("the script of the test has no more replies")
            turn = coming.popleft()
            return turn(received) if callable(turn) else turn

        self.respond = respond

    @property
    def last(self) -> Received:
        """The newest request."""
        return self.requests[-1]

    def sign(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The messages of a request, all thinking signed as if this server had written it there."""
        return resigned(Call(body), str(body["model"]))

    # -- what comes in ------------------------------------------------------------------------

    def refusal(self, body: Mapping[str, Any], betas: Iterable[str] = ()) -> Refusal | None:
        """Why a request would be refused, without sending it; None where it would be answered."""
        headers = {"anthropic-beta": ",".join(betas)}
        received = Received("/v1/messages", headers, {"max_tokens": 1, **body})
        try:
            self._read(received)
        except Refusal as refusal:
            return refusal
        return None

    def post(self, received: Received, raw: bytes) -> Answer:
        """Answer what was posted.

        Raises:
            Refusal: It is not answered.
        """
        with self._lock:
            self.requests.append(received)
            try:
                received.body = _parsed(raw, self.max_bytes)
                if self.faults:
                    raise self.faults.popleft()
                if received.path == "/v1/messages/count_tokens":
                    return Answer(self._counted(received))
                if received.path == "/v1/messages":
                    return self._messaged(received)
                raise not_found(f"Not found: {received.path}")
            except Refusal as refusal:
                received.refusal = refusal
                raise

    def get(self, received: Received) -> Answer:
        """Answer what was asked for: ``/v1/models``, or one of them.

        Raises:
            Refusal: There is no such model.
        """
        self.requests.append(received)
        if received.path == "/v1/models":
            data = [self._sized(model).info() for model in self.models.values()]
            ends = {"first_id": data[0]["id"], "last_id": data[-1]["id"], "has_more": False}
            return Answer({"data": data, **ends})
        return Answer(self._model(received.path.removeprefix("/v1/models/")).info())

    def _counted(self, received: Received) -> dict[str, Any]:
        schema.check(received.body, ("model", "messages"))
        model, call = self._model(received.body["model"]), received.call
        self._check(call, model)
        read, _ = edited(bound(without_compacted(call), model)[0])
        counted: dict[str, Any] = {"input_tokens": count(read)}
        if received.body.get("context_management"):
            counted["context_management"] = {"original_input_tokens": count(call)}
        return counted

    def _messaged(self, received: Received) -> Answer:
        model, call, applied = self._read(received)
        self._made += 1
        if received.body.get("compaction"):
            return self._compacted(received, model, call)
        edit = threshold(call)
        if edit is None:
            return self._replied(received, model, call, applied, [])
        made = threshold_block(self.summarize(received))
        if edit.get("pause_after_compaction"):
            return self._paused(received, model, call, made)
        if made["content"] is not None:
            call = call.with_messages([{"role": "assistant", "content": [made]}])
        return self._replied(received, model, call, applied, [made])

    def _read(self, received: Received) -> tuple[Model, Call, Applied]:
        """The request as the model reads it, or why it does not."""
        schema.check(received.body)
        received.whole = self._whole(received)
        model, call = self._model(received.body["model"]), received.call
        self._check(call, model)
        call, received.dropped = bound(without_compacted(call), model)
        call, applied = edited(call)
        _fit(call, model)
        return model, call, applied

    def _whole(self, received: Received) -> dict[str, Any]:
        if received.body.get("thread") and not self.holds_threads:
            raise unsupported("inference_hooks")
        return self.threads.whole(received.body, received.betas, self.now)

    def _check(self, call: Call, model: Model) -> None:
        for rule in RULES:
            if self.checks_signatures or rule is not signatures_made:
                rule(call, model)
        self._keeps_thinking(call, model)

    def _keeps_thinking(self, call: Call, model: Model) -> None:
        """In an open tool loop, a reply goes back with the thinking that it began with."""
        turns = call.turns
        if len(turns) < 2 or not turns[-1].of("tool_result"):
            return
        for spot in turns[-2].of("tool_use"):
            if self._thoughtful.get(spot.block["id"]) == model.id and not turns[-2].of(*THINKING):
                raise modified(turns[-2])

    # -- what goes out ------------------------------------------------------------------------

    def _replied(
        self, received: Received, model: Model, call: Call, applied: Applied, made: list[Block]
    ) -> Answer:
        turn = self.respond(received)
        if isinstance(turn, Refusal):
            raise turn
        received.figures = self.cache.use(call, model, self.now)
        content, stop = self._written(received, model, turn, made)
        usage = self._usage(received, content[len(made) :], made)
        message = self._message(received, model, content, stop, usage)
        if received.body.get("context_management"):
            message["context_management"] = {"applied_edits": applied}
        return Answer(message, turn)

    def _written(
        self, received: Received, model: Model, turn: Reply, made: list[Block]
    ) -> tuple[list[Block], str]:
        """The reply's blocks, signed and as long as there is room for, and why it ends."""
        assert received.figures is not None
        asked, left = received.body["max_tokens"], model.window - received.figures.total
        said, short = cut(self._named(turn.content), min(asked, left))
        content = signed_reply([*made, *said], ending(received.call), model.id, self._id("msg"))
        if any(block["type"] in THINKING for block in said):
            calls = (block["id"] for block in said if block["type"] == "tool_use")
            self._thoughtful.update(dict.fromkeys(calls, model.id))
        if short:
            return content, "max_tokens" if asked <= left else "model_context_window_exceeded"
        return content, turn.stop_reason or stop_of(said)

    def _named(self, content: Iterable[Block]) -> list[Block]:
        """Blocks whose calls have ids."""
        return [
            {**block, "id": f"{self._id('toolu')}_{at}"} if block.get("id") == "" else block
            for at, block in enumerate(content)
        ]

    def _compacted(self, received: Received, model: Model, call: Call) -> Answer:
        received.figures = self.cache.use(call, model, self.now)
        turn = self.summarize(received)
        content, stop = summarized(received.call, turn)
        own = {**received.figures.usage(), "output_tokens": _spent(turn.content)}
        usage = {**Figures().usage(), "output_tokens": 0, "iterations": [_step("compaction", own)]}
        return Answer(self._message(received, model, content, stop, usage), turn)

    def _paused(self, received: Received, model: Model, call: Call, made: Block) -> Answer:
        received.figures = self.cache.use(call, model, self.now)
        own = {**received.figures.usage(), "output_tokens": _spent([made])}
        usage = {**Figures().usage(), "output_tokens": 0, "iterations": [_step("compaction", own)]}
        return Answer(self._message(received, model, [made], "compaction", usage))

    def _usage(
        self, received: Received, said: Iterable[Block], made: Iterable[Block]
    ) -> dict[str, Any]:
        assert received.figures is not None
        usage = {**received.figures.usage(), "output_tokens": _spent(said)}
        if "beta" not in received.path and not received.betas:
            return usage
        steps = [_step("message", usage)]
        for block in made:
            spent = {**Figures(rest=count(received.call)).usage(), "output_tokens": _spent([block])}
            steps.insert(0, _step("compaction", spent))
        return {**usage, "iterations": steps}

    def _message(
        self, received: Received, model: Model, content: list[Block], stop: str, usage: Any
    ) -> dict[str, Any]:
        message = {
            "id": self._id("msg"),
            "type": "message",
            "role": "assistant",
            "model": model.id,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": usage,
        }
        if BINDING in received.betas:
            message["input_transformations"] = received.dropped
        received.message = message
        self.threads.hold(received.body, received.whole, message, self.now)
        return message

    def _id(self, kind: str) -> str:
        return f"{kind}_{self._made:06}"

    def _model(self, name: str) -> Model:
        if name not in self.models:
            raise not_found(f"model: {name}")
        return self._sized(self.models[name])

    def _sized(self, model: Model) -> Model:
        return replace(model, window=self.window) if self.window else model


def _summary(received: Received) -> Reply:
    return reply(f"A summary of {len(received.body['messages'])} messages.")


def _parsed(raw: bytes, most: int) -> Any:
    if len(raw) > most:
        raise too_large()
    try:
        return json.loads(raw)
    except ValueError:
        raise invalid("The request body is not valid JSON") from None


def _fit(call: Call, model: Model) -> None:
    tokens, asked = count(call), call.body["max_tokens"]
    if tokens > model.window:
        raise invalid(f"prompt is too long: {tokens} tokens > {model.window} maximum")
    if model.counts_output and tokens + asked > model.window:
        raise invalid(
            f"input length and `max_tokens` exceed context limit: {tokens} + {asked} >"
            f" {model.window}, decrease input length or `max_tokens` and try again"
        )


def _spent(content: Iterable[Block]) -> int:
    return 1 + sum(map(block_tokens, content))


def _step(type: str, usage: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": type, **usage}
