"""Cache marks: how many, where, in which order."""

from __future__ import annotations

from collections.abc import Iterator

from tests.server.models import Model
from tests.server.refusal import invalid
from tests.server.wire import Block, Call, with_nested

MARKS = 4


def marks_counted(call: Call, model: Model) -> None:
    """At most four marks; the one for the whole request counts."""
    count = len(list(marked(call))) + bool(call.body.get("cache_control"))
    if count > MARKS:
        raise invalid(
            f"A maximum of {MARKS} blocks with cache_control may be provided. Found {count}."
        )


def marks_placed(call: Call, model: Model) -> None:
    """Each is of the one type and of a known lifetime. (Thinking has no such field at all.)"""
    for place, block in marked(call):
        mark = block["cache_control"]
        if mark.get("type") != "ephemeral":
            raise invalid(f"{place}.cache_control.type: Input should be 'ephemeral'")
        if mark.get("ttl", "5m") not in ("5m", "1h"):
            raise invalid(f"{place}.cache_control.ttl: Input should be '5m' or '1h'")


def hours_first(call: Call, model: Model) -> None:
    """Marks of one hour stand before those of five minutes."""
    minutes = False
    for place, block in marked(call):
        hour = block["cache_control"].get("ttl") == "1h"
        if hour and minutes:
            raise invalid(
                f"{place}.cache_control.ttl: a ttl='1h' cache_control block must not come after a"
                " ttl='5m' cache_control block. Note that blocks are processed in the following"
                " order: `tools`, `system`, `messages`."
            )
        minutes = minutes or not hour


def marked(call: Call) -> Iterator[tuple[str, Block]]:
    """Whatever carries a mark, in the order in which it is cached, with its place."""
    places = [(f"tools.{number}", tool) for number, tool in enumerate(call.tools)]
    places += [(f"system.{number}", block) for number, block in enumerate(call.system)]
    places += [place for spot in call.spots for place in with_nested(spot)]
    return (place for place in places if place[1].get("cache_control"))
