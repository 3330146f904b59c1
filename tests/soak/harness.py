"""Harnesses as people write them, in front of a server where everything goes wrong.

own       keeps a list of its own, and edits it; the view is sent
rendered  keeps nothing: it sends ``session.render()``
observed  keeps and shortens its own list, which is sent as it is
on a loop the first, with the asynchronous client
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import anthropic
import httpx2

from foldlog.eventstore import EventStore
from foldlog.projections import Session
from foldlog.projections.live.middleware import SessionMiddleware
from foldlog.projections.render.items import items
from foldlog.projections.render.render import open_calls
from tests.server import Server
from tests.server.tokens import count
from tests.server.wire import Call
from tests.soak.model import STOPPED, SUBAGENT, TASK, Model

SYSTEM = "You are an agent that is tried hard."
TOOLS = [
    {"name": name, "description": f"Runs {name}.", "input_schema": {"type": "object"}}
    for name in ("bash", TASK)
]
MAX_TOKENS = 700
TRIES = 12
"""How often a harness asks for a reply before it gives up: more than faults come in a row."""

SPOKEN = "message.user"

Message = dict[str, Any]
PROBLEMS = (anthropic.APIError, httpx2.HTTPError)


class Harness:
    """What all of them have in common: turns, tools, and asking until there is a reply.

    Attributes:
        said: What the user said.
        ran: How often each call ran.
        outputs: What each call gave.
        left: The ids of the messages whose stream it left early.
    """

    observe = False

    def __init__(
        self, api: Server, store: EventStore, name: str, model: Model, llm: str, **known: Any
    ) -> None:
        self.api, self.store, self.name, self.llm, self.known = api, store, name, llm, known
        self.model, self.chance = model, model.chance
        self.system = SYSTEM
        self.said: list[str] = []
        self.ran: Counter[str] = Counter()
        self.outputs: dict[str, str] = {}
        self.left: set[str] = set()
        self.children: list[Harness] = []
        self.session: Session
        self.restart()

    def restart(self) -> None:
        """Another process goes on: what was in memory is gone."""
        self.session = Session(self.store, self.name)
        self.connect(self.session.middleware(self.observe, **self.known))

    def connect(self, middleware: SessionMiddleware) -> None:
        """A client of the SDK that the middleware records."""
        self.client = self.api.client(middleware=[middleware], max_retries=2)
        at_once(self.client)

    def close(self) -> None:
        """The end of the session."""
        self.client.close()

    # -- a turn ------------------------------------------------------------------------------

    def turn(self) -> None:
        """One turn: what the user says, and all that follows from it."""
        self.between()
        self.model.plan()
        self.say(self._new("the user says"))
        self.work()

    def work(self) -> str:
        """Ask and run calls until a reply calls nothing; its text."""
        while True:
            message = self.ask()
            calls = [block for block in message["content"] if block["type"] == "tool_use"]
            if message["stop_reason"] == STOPPED:
                self.say(self._new("go on"))
            elif not calls:
                return "".join(b["text"] for b in message["content"] if b["type"] == "text")
            else:
                self.results({block["id"]: self.run(block) for block in calls})

    def run(self, block: Mapping[str, Any]) -> str:
        """Run a call."""
        self.ran[block["id"]] += 1
        output = self.delegated(block) if block["name"] == TASK else self._output()
        self.outputs[block["id"]] = output
        return output

    def delegated(self, block: Mapping[str, Any]) -> str:
        """A subagent works on it, in a session of its own."""
        name = f"{self.name}-{len(self.children)}"
        child = Own(self.api, self.store, name, self.model, self.llm, **self.known)
        child.system = SUBAGENT
        self.children.append(child)
        child.say(f"{name}: {block['input']['prompt']}")
        answer = child.work()
        child.close()
        return f"{name} {answer}"

    def ask(self) -> Message:
        """A reply, after as many tries as it takes."""
        problem: Exception | None = None
        for _ in range(TRIES):
            try:
                message = self.recorded() or self.send(self.body())
            except PROBLEMS as error:
                problem = error
                self.failed(problem)
            else:
                if message is not None:
                    self.took(message)
                    return message
        raise AssertionError(f"no reply after {TRIES} tries: {problem}")

    def send(self, body: Mapping[str, Any]) -> Message | None:
        """A request in one of the ways of the SDK; None where it left the stream early."""
        way = self.chance.random()
        if way < 0.3:
            raw = self.client.messages.with_raw_response.create(**body)
            whole: Message = raw.http_response.json()
            return whole
        leaves = self.chance.randrange(1, 12) if way < 0.36 else None
        with self.client.messages.stream(**body) as stream:
            for at, event in enumerate(stream):
                if at == leaves:
                    self.left.add(stream.current_message_snapshot.id)
                    return None
                if event.type == "message_stop":
                    break
            return wire(stream.get_final_message())

    def aside(self) -> None:
        """A request beside the conversation: a title."""
        asked = [{"role": "user", "content": f"A title for turn {len(self.said)}, please."}]
        body = {"model": self.llm, "max_tokens": 100, "messages": asked}
        with suppress(*PROBLEMS):  # nobody needs it
            self.client.messages.create(**body)

    # -- what each does in its own way -------------------------------------------------------

    def recorded(self) -> Message | None:
        """The reply that is owed, if the log has it although its stream ended in an error."""
        return None

    def between(self) -> None:
        """What happens between two turns."""
        if self.chance.random() < 0.08:
            self.aside()
        if self.chance.random() < 0.02:
            self.restart()

    def say(self, text: str) -> None:
        raise NotImplementedError

    def results(self, outputs: Mapping[str, str]) -> None:
        raise NotImplementedError

    def body(self) -> dict[str, Any]:
        raise NotImplementedError

    def took(self, message: Message) -> None:
        """A reply came."""

    def failed(self, problem: Exception) -> None:
        """None came."""

    def parameters(self) -> dict[str, Any]:
        """What is the same in each request."""
        thinks = {"type": "adaptive"} if "4-1" not in self.llm else None
        more = {"thinking": thinks} if thinks else {}
        return {"model": self.llm, "max_tokens": MAX_TOKENS, **more}

    def _new(self, words: str) -> str:
        text = f"{words} {self.name}.{len(self.said)}: {'please look at it ' * 4}"
        self.said.append(text)
        return text

    def _output(self) -> str:
        lines = self.chance.choice((1, 3, 10, 40, 40, 120, 250))
        number = len(self.outputs)
        return f"output {self.name}.{number}\n" + f"line of {number} in some file\n" * lines


class Own(Harness):
    """It keeps a list, and does with it what it likes."""

    def __init__(self, *given: Any, **known: Any) -> None:
        self.messages: list[Message] = []
        super().__init__(*given, **known)

    def between(self) -> None:
        super().between()
        spoken = self.spoken()
        chance = self.chance.random()
        if chance < 0.05 and len(spoken) > 3:
            del self.messages[self.chance.choice(spoken[-8:]) :]
        elif chance < 0.08:
            self.forget_thinking()
        elif chance < 0.10 and len(spoken) > 3:
            at = spoken[-1]
            del self.messages[at:]
            self.say(self._new("rather"))

    def spoken(self) -> list[int]:
        """Where the user spoke, but for the first time."""
        return [
            at
            for at, message in enumerate(self.messages)
            if at and message["role"] == "user" and isinstance(message["content"], str)
        ]

    def forget_thinking(self) -> None:
        """Leave old thinking out, as many do."""
        for message in self.messages:
            if message["role"] == "assistant":
                kept = [b for b in message["content"] if b["type"] != "thinking"]
                message["content"] = kept or message["content"]

    def say(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def results(self, outputs: Mapping[str, str]) -> None:
        blocks = [
            {"type": "tool_result", "tool_use_id": id, "content": text}
            for id, text in outputs.items()
        ]
        self.messages.append({"role": "user", "content": blocks})

    def body(self) -> dict[str, Any]:
        shown = {"system": self.system, "tools": TOOLS, "messages": list(self.messages)}
        return {**self.parameters(), **shown}

    def took(self, message: Message) -> None:
        self.messages.append({"role": "assistant", "content": message["content"]})


class OnLoop(Own):
    """The same, with the asynchronous client."""

    def __init__(self, *given: Any, **known: Any) -> None:
        self.runner = asyncio.Runner()
        super().__init__(*given, **known)

    def connect(self, middleware: SessionMiddleware) -> None:
        self.client = anthropic.AsyncAnthropic(
            api_key="test",
            base_url=self.api.url,
            max_retries=2,
            middleware=[middleware],
            http_client=httpx2.AsyncClient(trust_env=False, verify=False),
        )
        at_once(self.client)

    def close(self) -> None:
        self.runner.run(self.client.close())
        self.runner.close()

    def send(self, body: Mapping[str, Any]) -> Message | None:
        return self.runner.run(self._send(body))

    async def _send(self, body: Mapping[str, Any]) -> Message | None:
        way = self.chance.random()
        if way < 0.3:
            raw = await self.client.messages.with_raw_response.create(**body)
            whole: Message = raw.http_response.json()
            return whole
        leaves = self.chance.randrange(1, 12) if way < 0.36 else None
        async with self.client.messages.stream(**body) as stream:
            at = 0
            async for event in stream:
                if at == leaves:
                    self.left.add(stream.current_message_snapshot.id)
                    return None
                at += 1
                if event.type == "message_stop":
                    break
            return wire(await stream.get_final_message())

    def aside(self) -> None:
        pass  # as in the others; one event loop is enough to look at


class Rendered(Harness):
    """It keeps nothing: the log is its list."""

    def restart(self) -> None:
        super().restart()
        if not self.session.version:
            self.session.system(self.system)
            self.session.tools(TOOLS)

    def between(self) -> None:
        super().between()
        if self.chance.random() < 0.04:
            view = self.session.view()
            newest = [event for event in view.behind(view.version - 60) if event.type == SPOKEN]
            if len(newest) > 3:
                keeps = self.chance.random() < 0.5
                before = view.layout.lineage.before(newest[0].version)
                self.session.rewind(before, keep_edits=keeps)

    def say(self, text: str) -> None:
        self.session.user(text)

    def run(self, block: Mapping[str, Any]) -> str:
        output = super().run(block)
        self.session.tool_result(block["id"], output)
        return output

    def results(self, outputs: Mapping[str, str]) -> None:
        assert not open_calls(self.session.view())

    def recorded(self) -> Message | None:
        newest = items(self.session.view())[-1]
        event = newest.event if newest.role == "assistant" else None
        return None if event is None or event.data.get("partial") else event.data

    def body(self) -> dict[str, Any]:
        shown = self.session.render(open="keep", model=self.llm)
        return {**self.parameters(), **{k: v for k, v in shown.items() if v is not None}}


class Observed(Own):
    """Its own list is sent: what is too long, it has to shorten itself."""

    observe = True

    def __init__(self, *given: Any, **known: Any) -> None:
        self.summaries = 0
        super().__init__(*given, **known)

    def between(self) -> None:
        super().between()
        if self.tokens() > 0.5 * self.model.window:
            self.shorten(self.chance.choice((0, 1, 2)))

    def tokens(self) -> int:
        return count(Call(self.body(), frozenset())) if self.messages else 0

    def shorten(self, turns: int) -> None:
        """A summary of its own, and so many turns behind it."""
        self.summaries += 1
        spoken = self.spoken()
        kept = self.messages[spoken[-turns] :] if turns and len(spoken) > turns else []
        summary = {"role": "user", "content": f"So far, {self.summaries}: all went well."}
        told = {"role": "assistant", "content": [{"type": "text", "text": "I see."}]}
        self.messages = [summary, told, *kept] if kept else [summary]

    def failed(self, problem: Exception) -> None:
        if isinstance(problem, anthropic.APIStatusError) and problem.status_code in (400, 413):
            for message in self.messages:
                if message["role"] == "user" and isinstance(message["content"], list):
                    for block in message["content"]:
                        block["content"] = block["content"][:200]


KINDS = {"own": Own, "rendered": Rendered, "observed": Observed, "on a loop": OnLoop}


def at_once(client: Any) -> None:
    """The SDK tries again without waiting."""
    client._calculate_retry_timeout = lambda *_: 0.0


def wire(message: Any) -> Message:
    """A message of the SDK as JSON."""
    found: Message = message.to_dict()
    return found


def made(kind: str, *given: Any, **known: Any) -> Harness:
    """A harness of a kind."""
    return KINDS[kind](*given, **known)
