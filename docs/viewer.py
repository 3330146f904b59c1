"""The pictures of the viewer in docs/images: a made-up session, in a real browser.

    python -m docs.viewer [FOLDER]

It needs Chromium, and Playwright of the dev group.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from foldlog.eventstore import EventDraft, EventStore
from foldlog.projections import Session
from tests.browser import launched
from tests.projections.build import call, shown, thinking
from tests.serve.conftest import serving

IMAGES = Path(__file__).with_name("images")

MODEL = "claude-opus-4-5"

SUMMARY = """## So far

The checkout is a cent off where a cart has a discount **and** a tax.

* `shop/cart.py` adds floats; `shop/tax.py` rounds each line, not the sum.
* `tests/test_cart.py::test_discount` shows it: 19.99 became 19.98.

**Next**: one `Decimal` from the price to the receipt, rounded once, in `shop/money.py`.
"""

CODE = """from decimal import ROUND_HALF_EVEN, Decimal

CENT = Decimal("0.01")


def total(prices: list[Decimal], discount: Decimal, tax: Decimal) -> Decimal:
    \"\"\"Return what a cart costs, rounded once.\"\"\"
    net = sum(prices, Decimal(0)) * (1 - discount)
    return (net * (1 + tax)).quantize(CENT, ROUND_HALF_EVEN)
"""

OLD = """def total(prices, discount, tax):
    net = 0.0
    for price in prices:
        net += round(price * (1 - discount), 2)
    return round(net * (1 + tax), 2)
"""

STEPS = (
    ("Read", {"file_path": "shop/cart.py"}, OLD * 30),
    ("Read", {"file_path": "shop/tax.py"}, OLD * 40),
    ("Bash", {"command": "pytest -q tests/test_cart.py"}, "FAILED tests/test_cart.py\n" * 120),
    ("Grep", {"pattern": "round\\(", "path": "shop"}, "shop/tax.py:12: round(net, 2)\n" * 200),
    ("Read", {"file_path": "tests/test_cart.py"}, OLD * 60),
    ("Bash", {"command": "git log --oneline -20 -- shop"}, "1f0c2aa Round each line\n" * 60),
    ("Read", {"file_path": "shop/receipt.py"}, OLD * 35),
    ("Bash", {"command": "python -m shop.checkout --dry-run"}, "19.98 expected 19.99\n" * 80),
)

SAID = (
    "The prices are floats from the beginning. I look at what adds them.",
    "Each line is rounded before the sum: with two lines at half a cent, a cent is lost.",
    "The test says the same. I look for every place that rounds.",
    "Four places round. The receipt should be the only one.",
)


class Recorder:
    """Records a session whose requests grow as those of an agent do."""

    def __init__(self, store: EventStore, name: str, title: str, cwd: str) -> None:
        self.session = Session(store, name)
        self.session.append(EventDraft("session.started", {"title": title, "cwd": cwd}))
        self._context, self._calls = 14_200, 0

    def turn(self, *blocks: dict[str, Any], fresh: int = 2_600) -> int:
        """Record a reply, and what its request took; return its version."""
        self._calls += 1
        usage = {
            "input_tokens": 11,
            "cache_read_input_tokens": self._context,
            "cache_creation_input_tokens": fresh,
            "output_tokens": 180 + 37 * (self._calls % 5),
        }
        self._context += fresh
        event = self.session.assistant(
            list(blocks), id=f"{self.session.id}-{self._calls}", model=MODEL, usage=usage
        )
        return event.version

    def step(self, number: int, said: str = "", fresh: int = 2_600) -> int:
        """Record a call with its result; return the version of the result."""
        tool, given, output = STEPS[number % len(STEPS)]
        name = f"toolu_{self.session.id}_{self._calls}"
        text = [{"type": "text", "text": said}] if said else []
        self.turn(*text, call(name, tool, **given), fresh=fresh)
        return self.session.tool_result(name, output).version

    def shrink(self, context: int) -> None:
        """From here on the requests begin with so many tokens."""
        self._context = context


def record(store: EventStore) -> None:
    """Record the sessions of the pictures."""
    other = Recorder(store, "docs", "Describe the money module", "/home/dev/shop")
    other.session.user("Write a page about shop/money.py.")
    other.turn({"type": "text", "text": "Done: docs/money.md."})
    checkout = Recorder(store, "checkout", "Checkout is a cent off", "/home/dev/shop")
    session = checkout.session
    session.system("You fix bugs in a small shop. Be brief.")
    tools = ("Bash", "Edit", "Grep", "Read")
    session.tools([{"name": name, "input_schema": {}} for name in tools])
    first = session.user("Customers report totals that are **a cent off**. Please find out why.")
    results = [checkout.step(n, SAID[n] if n < len(SAID) else "", 3_900) for n in range(8)]
    session.edit(
        "clear-results",
        "results older than 6 calls",
        [shown(v, v, "cleared", text="[Old tool result content cleared]") for v in results[:2]],
    )
    checkout.shrink(38_000)
    results += [checkout.step(n, fresh=4_200) for n in range(8, 14)]
    last = session.view().version
    covers = [[first.version, last]]
    session.edit(
        "summarize",
        "the context is 91% full",
        [shown(first.version, last, "summary", summary=last + 1)],
        before=[EventDraft("summary.written", {"text": SUMMARY, "covers": covers})],
    )
    session.state("plan", "one Decimal, rounded once")
    checkout.shrink(17_500)
    session.user("Good. Do it, and show me the change.")
    checkout.turn(
        thinking("One place that rounds: money.py."),
        {"type": "text", "text": "`total` rounds **once** now, and everything before it is exact:"},
        call("edit", "Edit", file_path="shop/money.py", old_string=OLD, new_string=CODE),
    )
    session.tool_result("edit", "The file was updated.")
    long = checkout.step(2, "I run the tests again.")
    session.edit(
        "offload",
        "a new result of more than 2000 characters",
        [shown(long, long, "preview", chars=90, before="", after=" … [the rest: recall]")],
    )
    checkout.turn({"type": "text", "text": f"All pass.\n\n```python\n{CODE}```"})
    session.user("And without Decimal?")
    checkout.turn({"type": "text", "text": "Integers of cents would do as well."})
    session.rewind(session.view().version - 2)
    checkout.turn({"type": "text", "text": "Then it is done: 19.99 is 19.99 again."})


PICTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "serve-travel": (
        "/sessions/checkout?near=7",
        {"viewport": {"width": 1240, "height": 700}, "color_scheme": "light"},
    ),
    "serve-travel-dark": (
        "/sessions/checkout?at=request:9&near=5",
        {"viewport": {"width": 1240, "height": 700}, "color_scheme": "dark"},
    ),
    "serve-compare": (
        "/compare/checkout?from=23&to=37",
        {"viewport": {"width": 1240, "height": 560}, "color_scheme": "light"},
    ),
    "serve-phone": (
        "/sessions/checkout?near=40",
        {"viewport": {"width": 390, "height": 780}, "color_scheme": "light"},
    ),
}
"""The pictures: the address that each shows, and the browser that shows it."""


@contextmanager
def filled() -> Iterator[Path]:
    """Yield a store with the sessions."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "sessions.db")
        with EventStore(path) as store:
            record(store)
        yield path


def main(folder: Path) -> None:
    """Write the pictures."""
    folder.mkdir(exist_ok=True)
    with filled() as path, serving(path) as site, launched() as browser:
        for name, (address, options) in PICTURES.items():
            page = browser.new_context(**options).new_page()
            page.goto(f"{site.origin}/?token={site.keys.token}")
            page.wait_for_selector("#list")
            page.goto(site.origin + address)
            page.wait_for_selector(".cell")
            page.wait_for_load_state("networkidle")
            page.screenshot(path=folder / f"{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
