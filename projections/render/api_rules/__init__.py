"""The rules of the Messages API, each a small unit that a request is checked against.

A rule is a function from a conversation to violations; its docstring says what must hold. The rules
know nothing of how a view is rendered, so that rendering can be proved against them, and they never
change a request. They state facts about the API as they were public in November 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldlog.projections.render.api_rules.caching import (
    hours_before_minutes,
    marks_at_most,
    marks_placed,
)
from foldlog.projections.render.api_rules.content import (
    compaction_first,
    loop_opens_with_thinking,
    no_blank_text,
    no_empty_message,
    thinking_not_last,
    thinking_signed,
)
from foldlog.projections.render.api_rules.conversation import (
    Conversation,
    Limits,
    Rule,
    Violation,
    read,
)
from foldlog.projections.render.api_rules.limits import (
    bytes_at_most,
    images_at_most,
    images_fit,
    messages_at_most,
)
from foldlog.projections.render.api_rules.roles import first_is_user, no_prefill
from foldlog.projections.render.api_rules.system import (
    system_heard,
    system_placed,
    tool_changes_in_system,
)
from foldlog.projections.render.api_rules.tools import (
    blocks_in_role,
    calls_answered_next,
    one_result_each,
    results_answer_calls,
    results_first,
    server_tools_paired,
    toolset_echoed,
    unique_ids,
)

__all__ = ["RULES", "Conversation", "Limits", "Rule", "Violation", "check"]

RULES: tuple[Rule, ...] = (
    first_is_user,
    no_prefill,
    no_blank_text,
    no_empty_message,
    blocks_in_role,
    unique_ids,
    calls_answered_next,
    results_answer_calls,
    one_result_each,
    results_first,
    toolset_echoed,
    server_tools_paired,
    system_placed,
    system_heard,
    tool_changes_in_system,
    thinking_not_last,
    thinking_signed,
    loop_opens_with_thinking,
    compaction_first,
    marks_at_most,
    hours_before_minutes,
    marks_placed,
    messages_at_most,
    bytes_at_most,
    images_at_most,
    images_fit,
)
"""All rules; the name of a violation is the name of its function."""


def check(
    request: Mapping[str, Any], model: str | None = None, limits: Limits | None = None
) -> list[Violation]:
    """Return what the Messages API would refuse in a request; empty if it would accept it.

    Args:
        request: ``{"system", "tools", "messages"}``, and whatever else is sent with them.
        model: The model that it is for; without one, rules for some models only are skipped.
        limits: The figures to check against; the defaults are those of the largest models.
    """
    conversation = read(request, model, limits or Limits())
    return [violation for rule in RULES for violation in rule(conversation)]
