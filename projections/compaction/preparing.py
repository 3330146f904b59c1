"""Who prepares the views of a session: a policy and a summarizer, by name or as they are."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from foldlog.projections.compaction.errors import ForeignPolicy
from foldlog.projections.compaction.moment import Given
from foldlog.projections.compaction.policy import DEFAULT, Policy, presets
from foldlog.projections.compaction.policy import policy as named_policy
from foldlog.projections.compaction.prepare import Preparer
from foldlog.projections.installation import installation
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
        PolicyError: There is no such policy, or it is not valid.
        ForeignPolicy: None was given, and the one set last runs hooks or writes files, and was
            recorded elsewhere.
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
    """Return the policy that was set last in a session; None where none was.

    Raises:
        ForeignPolicy: It runs hooks or writes files, and another installation recorded it.
    """
    events = session.store.read(session.id, types=("policy.set",))
    newest = max(events, key=lambda event: event.version, default=None)
    if newest is None:
        return None
    found = Policy.read(newest.data, f"version {newest.version}")
    powers = found.powers()
    if powers and not (_is_preset(found) or installation().recorded(newest)):
        raise ForeignPolicy(found.name, found.data, powers)
    return found


def _is_preset(found: Policy) -> bool:
    return found.name in presets() and found.data == named_policy(found.name).data


def _policy(session: Session, given: Given) -> Policy:
    if isinstance(given, Policy):
        return given
    found = set_policy(session) if given is None else None
    return found or named_policy(given or DEFAULT, os.environ)


def _summarizer(given: Summarizer | str | None) -> Summarizer:
    return named_summarizer(given or "digest") if given is None or isinstance(given, str) else given
