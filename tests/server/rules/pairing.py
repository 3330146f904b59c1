"""Every call has its result, every result its call."""

from __future__ import annotations

from itertools import takewhile

from tests.server.models import Model
from tests.server.refusal import invalid
from tests.server.wire import CALLS, SERVER_CALLS, Call, Turn, is_server_result


def ids_unique(call: Call, model: Model) -> None:
    """No two calls have one id."""
    seen: set[str] = set()
    for spot in call.spots:
        if spot.type in CALLS:
            if spot.block["id"] in seen:
                raise invalid(f"{spot.path}: `tool_use` ids must be unique")
            seen.add(spot.block["id"])


def results_single(call: Call, model: Model) -> None:
    """No call has two results."""
    for turn in call.turns:
        seen: set[str] = set()
        for spot in turn.of("tool_result"):
            id = spot.block["tool_use_id"]
            if id in seen:
                raise invalid(
                    f"{spot.path}: each tool_use must have a single result."
                    f" Found multiple `tool_result` blocks with id: {id}"
                )
            seen.add(id)


def results_called(call: Call, model: Model) -> None:
    """Every result answers a call of the turn before."""
    turns = call.turns
    for before, turn in zip([None, *turns], turns, strict=False):
        called = {spot.block["id"] for spot in before.of("tool_use")} if before else set()
        for spot in turn.of("tool_result"):
            if spot.block["tool_use_id"] not in called:
                raise invalid(
                    f"{spot.path}: unexpected `tool_use_id` found in `tool_result` blocks:"
                    f" {spot.block['tool_use_id']}. Each `tool_result` block must have a"
                    " corresponding `tool_use` block in the previous message."
                )


def calls_answered(call: Call, model: Model) -> None:
    """Every call is answered in the very next turn, before anything else in it."""
    turns = call.turns
    for turn, after in zip(turns, [*turns[1:], None], strict=False):
        answered = _answered_first(after)
        missing = [
            spot.block["id"] for spot in turn.of("tool_use") if spot.block["id"] not in answered
        ]
        if missing:
            raise invalid(
                f"messages.{turn.message}: `tool_use` ids were found without `tool_result` blocks"
                f" immediately after: {', '.join(missing)}. Each `tool_use` block must have a"
                " corresponding `tool_result` block in the next message."
            )


def toolsets_echoed(call: Call, model: Model) -> None:
    """A result of a toolset's call names that toolset."""
    names = {
        spot.block["id"]: spot.block.get("toolset_name")
        for spot in call.spots
        if spot.type == "tool_use"
    }
    for spot in call.spots:
        if spot.type != "tool_result":
            continue
        name = names.get(spot.block["tool_use_id"])
        if spot.block.get("toolset_name") != name:
            raise invalid(f"{spot.path}.tool_result.toolset_name: expected {name!r}")


def server_results_called(call: Call, model: Model) -> None:
    """Every result of a server tool stands behind its call."""
    called: set[str] = set()
    for spot in call.spots:
        if spot.type in SERVER_CALLS:
            called.add(spot.block["id"])
        elif is_server_result(spot.type) and spot.type != "tool_result":
            id = spot.block["tool_use_id"]
            if id not in called:
                raise invalid(
                    f"{spot.path}: unexpected `tool_use_id` found in `{spot.type}` blocks: {id}."
                    f" Each `{spot.type}` block must have a corresponding `server_tool_use` block"
                    " before it."
                )


def server_calls_answered(call: Call, model: Model) -> None:
    """Every call of a server tool has its result, unless the assistant's turn is still open.

    It is open at the end of the request, and while only results of the client stand behind it.
    """
    answered = {spot.block["tool_use_id"] for spot in call.spots if is_server_result(spot.type)}
    turns = call.turns
    open_from = len(turns) - len(list(takewhile(_keeps_open, reversed(turns))))
    for number, turn in enumerate(turns):
        for spot in turn.of(*SERVER_CALLS):
            if spot.block["id"] not in answered and number < open_from:
                name = spot.block["name"]
                raise invalid(
                    f"messages.{spot.message}: `{name}` tool use with id `{spot.block['id']}` was"
                    f" found without a corresponding `{name}_tool_result` block"
                )


def _answered_first(turn: Turn | None) -> set[str]:
    if turn is None or turn.role != "user":
        return set()
    first = takewhile(lambda spot: spot.type == "tool_result", turn.spots)
    return {spot.block["tool_use_id"] for spot in first}


def _keeps_open(turn: Turn) -> bool:
    only_results = all(spot.type == "tool_result" for spot in turn.spots)
    return turn.role == "assistant" or (turn.role == "user" and only_results)
