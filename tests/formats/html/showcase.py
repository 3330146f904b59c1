"""A session that shows all that a page can show, and a hostile one; both at fixed times."""

from __future__ import annotations

from base64 import b64encode
from struct import pack
from zlib import compress, crc32

from foldlog.eventstore import EventDraft, EventStore
from foldlog.projections import Session
from tests.cli.demo import PNG
from tests.projections.build import call, shown, thinking

SHOWCASE, CHILD, HOSTILE = "showcase", "showcase-agent", "hostile"

TITLE = "Round prices to whole cents"

REPLY = """The totals are off by a cent because prices are **floats**.

| where | now | then |
|---|---:|---|
| `cart.py` | `0.1 + 0.2` | `Decimal` |
| `tax.py` | float | `Decimal` |

1. Read the code
2. Change `total`, see [the documentation](https://docs.python.org/3/library/decimal.html)

```python
from decimal import Decimal

def total(prices: list[Decimal]) -> Decimal:
    # cents, never floats
    return sum(prices, Decimal("0.00"))
```
"""

OLD = """def total(prices):
    result = 0.0
    for price in prices:
        result += price
    return result
"""

NEW = """def total(prices):
    result = Decimal("0.00")
    for price in prices:
        result += price
    return result.quantize(CENT)
"""

HOSTILE_TEXTS = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>",
    "</script></style></details></main><svg onload=alert(3)><script>alert(4)</script></svg>",
    "[click](javascript:alert(5)) [data](data:text/html,<script>alert(6)</script>)",
    "![pixel](https://tracker.invalid/pixel.png) ![x](data:image/svg+xml;base64,PHN2Zz4=)",
    "<https://tracker.invalid/auto> <iframe src='https://tracker.invalid'></iframe>",
    "\x1b]0;owned\x07\x1b[31mred\x1b[0m \u202egnirts\u202c \u2066iso\u2069 \u200bzero nul\x00",
    '" onmouseover="alert(7)" x="',
    "{{ 7 * 7 }} {% raw %} {# #} ${alert(8)}",
    '```"><script>alert(9)</script>\ncode</code></pre><script>alert(10)</script>\n```',
    "[a]: javascript:alert(11)\n\n[a] and # heading\n\n<base href=https://tracker.invalid/>",
    "<meta http-equiv=refresh content='0;url=https://tracker.invalid'>",
    '<a id="search" name="main"></a><form action=https://tracker.invalid><input autofocus>',
)
"""What a page must show and not obey."""


def picture() -> str:
    """Return a small picture, a PNG in base64: a gradient of two colours."""
    wide, high = 240, 90
    rows = b"".join(
        b"\0" + b"".join(bytes((80 + x // 2, 90 + y, 200 - x // 3)) for x in range(wide))
        for y in range(high)
    )

    def chunk(kind: bytes, data: bytes) -> bytes:
        return pack(">I", len(data)) + kind + data + pack(">I", crc32(kind + data))

    head = pack(">IIBBBBB", wide, high, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", head), chunk(b"IDAT", compress(rows, 9)), chunk(b"IEND", b"")
    return b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode()


def record(store: EventStore) -> None:
    """Record the sessions."""
    _showcase(store)
    _child(store)
    _hostile(store)


def _showcase(store: EventStore) -> None:
    session = Session(store, SHOWCASE)
    session.append(EventDraft("session.started", {"title": TITLE, "cwd": "/home/dev/shop"}))  # 1
    session.system("You fix bugs in a small shop. Be brief.")  # 2
    session.tools([{"name": name, "input_schema": {}} for name in ("Bash", "Edit", "Read")])  # 3
    session.user("The totals in the cart are off by a cent. Please **find out why**.")  # 4
    session.assistant(  # 5
        [
            thinking("Floats, I suppose. Let me look."),
            {"type": "text", "text": "I look at the cart first."},
            call("t1", "Read", file_path="shop/cart.py"),
            call("t2", "Bash", command="pytest -q | tail -3\ngit status --short"),
        ],
        id="msg_1",
        model="claude-x",
    )
    session.tool_result("t1", OLD * 40)  # 6
    session.tool_result("t2", "\x1b[31mFAILED\x1b[0m test_total\n1 failed", is_error=True)  # 7
    session.assistant([{"type": "text", "text": REPLY}], id="msg_2", model="claude-x")  # 8
    session.user("Do it, and show me the page.")  # 9
    session.edit(
        "clear-results", "older than 3 turns", [shown(6, 6, "cleared", text="[old]")]
    )  # 10
    summary = "## So far\n\nTotals are off by a cent: floats in `shop/cart.py`. *Next*: `Decimal`."
    session.edit(  # 11 and 12
        "summarize",
        "the context is 91% full",
        [shown(4, 8, "summary", summary=11)],
        before=[EventDraft("summary.written", {"text": summary, "covers": [[4, 8]]})],
    )
    session.assistant(  # 13
        [
            call("t3", "Edit", file_path="shop/cart.py", old_string=OLD, new_string=NEW),
            call("t4", "Write", file_path="shop/cents.py", content='CENT = Decimal("0.01")\n'),
            call("t5", "Screenshot", url="http://localhost:8000/cart", full=True),
            call("t6", "Task", description="Check the tax", prompt="Look at tax.py"),
        ],
        id="msg_3",
        model="claude-x",
    )
    image = {"type": "base64", "media_type": "image/png", "data": picture()}
    session.tool_result("t3", "The file was updated.")  # 14
    session.tool_result("t4", "The file was written.")  # 15
    session.tool_result("t5", [{"type": "image", "source": image}])  # 16
    session.tool_result("t6", "tax.py is fine. " * 200)  # 17
    session.edit(  # 18
        "preview", "long result", [shown(17, 17, "preview", chars=40, before="", after="…")]
    )
    session.user("Try it without Decimal.")  # 19
    session.rewind(18)  # 20
    session.assistant([{"type": "text", "text": "Done: `total` is exact."}], id="msg_4")  # 21


def _child(store: EventStore) -> None:
    parent = {"session": SHOWCASE, "version": 13, "kind": "subagent", "tool_use_id": "t6"}
    session = Session(store, CHILD)
    session.append(EventDraft("session.started", {"title": "Check the tax", "parent": parent}))
    session.user("Look at tax.py")
    session.assistant([{"type": "text", "text": "tax.py is fine."}])


def _hostile(store: EventStore) -> None:
    session = Session(store, HOSTILE)
    everything = "\n\n".join(HOSTILE_TEXTS)
    session.append(EventDraft("session.started", {"title": everything, "cwd": everything}))
    session.system(everything)
    session.tools([{"name": text, "input_schema": {}} for text in HOSTILE_TEXTS])
    for text in HOSTILE_TEXTS:
        session.user(text)
        session.assistant(
            [thinking(text), {"type": "text", "text": text}, call(text, text, **{text: text})]
        )
        session.tool_result(text, text, is_error=True)
    images = (
        {"type": "base64", "media_type": "image/svg+xml", "data": "PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+"},
        {"type": "base64", "media_type": 'image/png" onerror="alert(12)', "data": PNG},
        {"type": "base64", "media_type": "image/png", "data": '" onerror="alert(13)'},
        {"type": "url", "url": "https://tracker.invalid/image.png"},
    )
    session.user([{"type": "image", "source": source} for source in images])
    edits = {"file_path": everything, "old_string": everything, "new_string": everything + "x"}
    session.assistant([call("e1", "Edit", **edits), call("e2", "Bash", command=everything)])
    session.edit(everything, everything, [shown(4, 4, "cleared", text=everything)])
    session.append(EventDraft("session.renamed", {"title": everything}))


def record_large(store: EventStore, session: str = "large", megabytes: int = 4) -> None:
    """Record a session of so many megabytes: replies in Markdown, edits, long outputs."""
    made = Session(store, session)
    output = "".join(f"{n:>5} a line of some output, as tools print it\n" for n in range(120))
    for number in range(megabytes * 1_000_000 // (len(output) + len(REPLY) + len(OLD + NEW))):
        made.user(f"Request {number}: go on.")
        made.assistant(
            [
                {"type": "text", "text": REPLY},
                call(f"a{number}", "Bash", command=f"make step-{number}"),
                call(f"b{number}", "Edit", file_path="cart.py", old_string=OLD, new_string=NEW),
            ],
            id=f"msg_{number}",
        )
        made.tool_result(f"a{number}", output)
        made.tool_result(f"b{number}", "ok")
