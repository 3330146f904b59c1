"""What the API refuses, a rule a function: it raises a ``Refusal`` or does nothing.

They share nothing with ``foldlog.projections.render.api_rules``: where the two disagree about a
view, one of them is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tests.server.models import Model
from tests.server.rules.caching import hours_first, marks_counted, marks_placed
from tests.server.rules.compaction import compaction_alone, compaction_block, compaction_closed
from tests.server.rules.content import nothing_blank, nothing_empty, results_of_errors
from tests.server.rules.features import betas_named, edits_fit, sampling_taken
from tests.server.rules.limits import images_counted, images_fit, messages_counted, output_fits
from tests.server.rules.pairing import (
    calls_answered,
    ids_unique,
    results_called,
    results_single,
    server_calls_answered,
    server_results_called,
    toolsets_echoed,
)
from tests.server.rules.roles import begins_with_user, blocks_placed, no_prefill
from tests.server.rules.system import system_placed, tools_known
from tests.server.rules.thinking import (
    loop_thinks,
    newest_unchanged,
    signatures_made,
    signatures_there,
    thinking_not_last,
)
from tests.server.wire import Call

Rule: TypeAlias = Callable[[Call, Model], None]

RULES: tuple[Rule, ...] = (
    betas_named,
    edits_fit,
    sampling_taken,
    messages_counted,
    output_fits,
    system_placed,
    begins_with_user,
    blocks_placed,
    tools_known,
    nothing_empty,
    nothing_blank,
    results_of_errors,
    marks_counted,
    marks_placed,
    hours_first,
    compaction_block,
    compaction_alone,
    compaction_closed,
    ids_unique,
    results_single,
    results_called,
    calls_answered,
    toolsets_echoed,
    server_results_called,
    server_calls_answered,
    no_prefill,
    loop_thinks,
    thinking_not_last,
    signatures_there,
    newest_unchanged,
    signatures_made,
    images_counted,
    images_fit,
)
"""In the order in which they are asked."""
