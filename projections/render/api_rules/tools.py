"""Rules of tools: who calls, who answers, where and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from foldlog.projections.render.api_rules.conversation import (
    Conversation,
    Message,
    Violation,
    named,
)

CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
SERVER_CALLS = CALLS[1:]


def blocks_in_role(conversation: Conversation) -> Iterator[Violation]:
    """Calls, thinking and server tools' results are the assistant's, ``tool_result`` the user's."""
    for message in conversation.messages:
        for block in message.blocks:
            owner = _owner(str(block.get("type")))
            if owner and owner != message.role:
                text = f"a {block['type']} block in a message of role {message.role!r}"
                yield Violation("blocks_in_role", message.index, text)


def unique_ids(conversation: Conversation) -> Iterator[Violation]:
    """No two calls have the same id."""
    seen: set[str] = set()
    for message in conversation.messages:
        for block in message.of(*CALLS):
            if named(block, "id") in seen:
                text = f"the id {block.get('id')} was used for a call before"
                yield Violation("unique_ids", message.index, text)
            seen.add(named(block, "id"))


def calls_answered_next(conversation: Conversation) -> Iterator[Violation]:
    """Every call is answered in the very next message."""
    for _, message, after in conversation.pairs():
        answered = {named(block, "tool_use_id") for block in after.results} if after else set()
        for block in message.calls:
            if named(block, "id") not in answered:
                text = f"the call {block.get('id')} has no result in the next message"
                yield Violation("calls_answered_next", message.index, text)


def results_answer_calls(conversation: Conversation) -> Iterator[Violation]:
    """Every result answers a call of the message before."""
    for before, message, _ in conversation.pairs():
        called = {named(block, "id") for block in before.calls} if before else set()
        for block in message.results:
            if named(block, "tool_use_id") not in called:
                text = f"the message before has no call {block.get('tool_use_id')}"
                yield Violation("results_answer_calls", message.index, text)


def one_result_each(conversation: Conversation) -> Iterator[Violation]:
    """No call has two results."""
    for message in conversation.messages:
        counted = Counter(named(block, "tool_use_id") for block in message.results)
        for call, times in counted.items():
            if times > 1:
                text = f"{times} results for {call}"
                yield Violation("one_result_each", message.index, text)


def results_first(conversation: Conversation) -> Iterator[Violation]:
    """In a message with results they come first."""
    for message in conversation.messages:
        types = [block.get("type") for block in message.blocks]
        if types[: len(message.results)] != ["tool_result"] * len(message.results):
            yield Violation("results_first", message.index, "something comes before a result")


def toolset_echoed(conversation: Conversation) -> Iterator[Violation]:
    """The result of a toolset's call names that toolset."""
    for before, message, _ in conversation.pairs():
        names = {named(b, "id"): b.get("toolset_name") for b in before.calls} if before else {}
        for block in message.results:
            name = names.get(named(block, "tool_use_id"))
            if name and block.get("toolset_name") != name:
                text = f"the result of {block.get('tool_use_id')} does not echo the toolset {name}"
                yield Violation("toolset_echoed", message.index, text)


def server_tools_paired(conversation: Conversation) -> Iterator[Violation]:
    """Every call of a server tool has its result after it, every result its call before it.

    While the assistant's turn is open the API still answers: at the end of the request, and if
    only results of the client follow the call.
    """
    waiting: dict[str, int] = {}
    for message in conversation.messages:
        for block in message.blocks if message.role == "assistant" else ():
            if block.get("type") in SERVER_CALLS:
                waiting[named(block, "id")] = message.index
            elif (
                _is_server_result(str(block.get("type")))
                and waiting.pop(named(block, "tool_use_id"), None) is None
            ):
                text = f"no call of a server tool waits for {block.get('tool_use_id')}"
                yield Violation("server_tools_paired", message.index, text)
    closed = max((m.index for m in conversation.messages if _ends_a_turn(m)), default=-1)
    for call, index in waiting.items():
        if index < closed:
            text = f"the server tool's call {call} has no result"
            yield Violation("server_tools_paired", index, text)


def _ends_a_turn(message: Message) -> bool:
    """Tell if a message ends the assistant's turn before it: it holds more than results."""
    only_results = len(message.results) == len(message.blocks)
    return message.role == "system" or (message.role == "user" and not only_results)


def _owner(type: str) -> str | None:
    if type in CALLS or type in ("thinking", "redacted_thinking") or _is_server_result(type):
        return "assistant"
    return "user" if type == "tool_result" else None


def _is_server_result(type: str) -> bool:
    return type.endswith("_tool_result")
