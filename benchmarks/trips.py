"""``python -m benchmarks.trips``: how much of foldlog runs for one step of an agent's life.

Counts the modules and the functions of foldlog whose code runs, as a profiler sees them: what
somebody may have to read who follows the step from end to end. What runs at import is not counted,
nor are comprehensions, lambdas and generated methods. Each step is taken once before it is counted,
so that what is done once in a process does not count either.

It uses public names and the tests' server only, so it counts an older checkout as well:
``cd OLD && python -m benchmarks.trips`` with this file copied there.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any

import foldlog
from foldlog import EventStore, Session
from tests.server import Server, reply, serving

MODEL = "claude-opus-5-5"
EXCHANGES = 40

LAYERS = tuple(
    str((Path(foldlog.__file__).parent / layer).resolve()) + "/"
    for layer in ("eventstore", "projections", "cli")
)

Trip = Callable[[], object]


class Seen:
    """The code of foldlog that ran, in any thread, while it was looked at."""

    def __init__(self) -> None:
        self._codes: set[CodeType] = set()

    @contextmanager
    def looking(self) -> Iterator[None]:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _note(self, frame: FrameType, what: str, _: object) -> None:
        if what == "call":
            self._codes.add(frame.f_code)

    def counts(self) -> tuple[int, int]:
        """Return how many modules and how many functions ran."""
        found = {
            (Path(code.co_filename).resolve(), code.co_qualname)
            for code in self._codes
            if not code.co_name.startswith("<")
        }
        ours = {(file, name) for file, name in found if str(file).startswith(LAYERS)}
        return len({file for file, _ in ours}), len(ours)


def counted(make: Callable[[str], Trip]) -> tuple[int, int]:
    """Count what runs for a trip; ``make`` prepares one in a session of that name."""
    make("before")()
    trip, seen = make("counted"), Seen()
    with seen.looking():
        trip()
    return seen.counts()


def talk(store: EventStore, name: str) -> Session:
    """Record a session of some length: calls with results, one of them cleared."""
    session = Session(store, name)
    session.system("Be brief.")
    for number in range(EXCHANGES):
        call = {"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {"path": "x.py"}}
        session.user(f"Please look at this once more, for the time number {number}.")
        session.assistant([{"type": "text", "text": "I look."}, call], id=f"m{number}", model=MODEL)
        session.tool_result(f"c{number}", "def f():\n    return 1\n" * 40)
        session.assistant("It returns one.", id=f"n{number}", model=MODEL)
    version = session.version - 1
    cleared = {"first": version, "last": version, "shown": "cleared", "text": "[cleared]"}
    session.edit("user", "not needed", [cleared])
    return session


def trips(store: EventStore, api: Server) -> dict[str, Callable[[str], Trip]]:
    """Return what is counted, by name."""

    def append(name: str) -> Trip:
        session = talk(store, f"append {name}")
        return lambda: session.user("One more.")

    def view_and_render(name: str) -> Trip:
        talk(store, f"render {name}")
        return lambda: Session(store, f"render {name}").render()

    def compact(name: str) -> Trip:
        session = talk(store, f"compact {name}")
        session.user("And now?")

        def trip() -> None:
            session.compact("claude-code", summarizer="digest", model=MODEL, window=200_000)
            assert any(e.type == "summary.written" for e in store.read(session.id))

        return trip

    def called(observe: bool) -> Callable[[str], Trip]:
        def make(name: str) -> Trip:
            session = Session(store, f"call {observe} {name}")
            client = api.client(middleware=[session.middleware(observe)])
            said: list[Any] = [{"role": "user", "content": "Hi."}]

            def ask() -> None:
                api.script(reply("Hello."))
                made = client.messages.create(model=MODEL, max_tokens=100, messages=said)
                said.append({"role": "assistant", "content": made.content})
                said.append({"role": "user", "content": "Go on."})

            ask()
            return ask

        return make

    return {
        "append": append,
        "view + render": view_and_render,
        "one digest compaction": compact,
        "one SDK call observed": called(True),
        "one SDK call managed": called(False),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trips", description=__doc__)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with (
        TemporaryDirectory() as folder,
        EventStore(Path(folder) / "s.db") as store,
        serving() as api,
    ):
        found = {name: counted(make) for name, make in trips(store, api).items()}
    if options.json:
        print(json.dumps(found))
        return
    print(f"{'':24}{'modules':>8}{'functions':>11}")
    for name, (modules, functions) in found.items():
        print(f"{name:24}{modules:>8}{functions:>11}")


if __name__ == "__main__":
    main()
