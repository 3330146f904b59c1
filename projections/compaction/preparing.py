"""Who prepares the views of a session: a policy and a summarizer, by name or as they are."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from foldlog.projections.compaction.moment import Given
from foldlog.projections.compaction.policy import DEFAULT, Policy
from foldlog.projections.compaction.policy import policy as named_policy
from foldlog.projections.compaction.prepare import Preparer
from foldlog.projections.summaries import Summarizer
from foldlog.projections.summaries import summarizer as named_summarizer
from foldlog.projections.summaries.hooks import Hooks

if TYPE_CHECKING:
    from foldlog.projections.session import Session


def preparer(
    session: Session,
    policy: Given,
    summarizer: Summarizer | str | None,
    known: Preparer | None = None,
) -> Preparer:
    """What prepares the views of a session.

    Args:
        policy: A preset, a TOML file, a policy; None for that which was set last, else the default.
        summarizer: By name, or as it is; None for who it was, or the digest.
        known: The one used before: it is kept where the policy is the same.

    Raises:
        PolicyError: There is no such policy, or it says what cannot be.
        SummaryFailed: There is no such summarizer.
    """
    if known is None or policy != known.given:
        found = _policy(session, policy)
        hooks = Hooks.read(found.settings.hooks, f"{found.name}: hooks")
        known = Preparer(session, found, _summarizer(summarizer), hooks, given=policy)
    elif summarizer not in (None, known.summarizer, known.summarizer.name):
        known.summarizer = _summarizer(summarizer)
    return known


def set_policy(session: Session) -> Policy | None:
    """The policy that was set last in a session; None where none was."""
    events = session.store.read(session.id, types=("policy.set",))
    newest = max(events, key=lambda event: event.version, default=None)
    return Policy.read(newest.data, f"version {newest.version}") if newest else None


def _policy(session: Session, given: Given) -> Policy:
    if isinstance(given, Policy):
        return given
    found = set_policy(session) if given is None else None
    return found or named_policy(given or DEFAULT, os.environ)


def _summarizer(given: Summarizer | str | None) -> Summarizer:
    return named_summarizer(given or "digest") if given is None or isinstance(given, str) else given
