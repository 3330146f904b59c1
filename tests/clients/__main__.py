"""``python -m tests.clients install | record [NAME…] | run NAME | list``"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.clients import exchanges, installed
from tests.clients.loops import LOOPS, Desk
from tests.clients.script import model
from tests.server import serving


def heard(name: str) -> list[exchanges.Exchange]:
    """Run a loop against the test server; what it sent, made neutral."""
    with tempfile.TemporaryDirectory(prefix="client-") as folder, serving() as api:
        desk = Desk.made(Path(folder).resolve(), api.url)
        api.respond = model(desk.work)
        LOOPS[name](desk)
        return exchanges.neutral(exchanges.heard(api), desk.root)


def main(arguments: Sequence[str]) -> None:
    match list(arguments):
        case ["install"]:
            installed.install()
        case ["list"]:
            print("\n".join(LOOPS))
        case ["record", *names]:
            for name in names or LOOPS:
                found = heard(name)
                path = exchanges.write(name, found)
                print(f"{name}: {len(found)} exchanges, {path.stat().st_size} bytes")
        case ["run", name]:
            for one in heard(name):
                shape = [message["role"] for message in one.body["messages"]]
                print(one.status, " ".join(shape))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
