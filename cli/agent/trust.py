"""What a session's log brings along, and what of it counts without asking.

A log may come from anybody. Policies with hooks, grants, and settings that name files count where
this installation recorded them (``foldlog.projections.installation``). Anything else is listed, and
a person decides; where there is nobody to ask, it is not used.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Any

from foldlog.cli.agent.executor import folder_of, named_folder
from foldlog.cli.agent.models import SCRIPTED
from foldlog.cli.agent.permissions import Permissions
from foldlog.cli.agent.prompt_user import confirm
from foldlog.cli.output import note
from foldlog.cli.stores import current_folder
from foldlog.eventstore import EventDraft, Store
from foldlog.projections import Session, open_view
from foldlog.projections.compaction.errors import ForeignPolicy, PolicyError
from foldlog.projections.compaction.policy import Policy, policy, presets, written
from foldlog.projections.compaction.prepare import set_policy
from foldlog.projections.installation import installation

STATE = "agent"
"""The key of the state that tells how the agent was made."""

ELSEWHERE = "recorded by another program or on another machine"


def accepted_policy(session: Session, named: str | None, *, asks: bool) -> str | Policy | None:
    """Return the policy to prepare with: the named one, else that of the log if it counts.

    Args:
        asks: There is a person to ask.

    Raises:
        ForeignPolicy: That of the log has powers that nobody here gave it, or gives it now.
    """
    if named is not None or not session.version:
        return named
    try:
        set_policy(session)
    except ForeignPolicy as foreign:
        found = Policy.read(foreign.data)
        told = f"The policy {found.name!r} of this session was {ELSEWHERE}. It would:"
        if asks and confirm([told, *(f"  {power}" for power in foreign.powers)], "Use it?"):
            return found
        raise
    return None


def ask_for_grants(permissions: Permissions, *, asks: bool) -> None:
    """List the grants of the log that do not count, and adopt them if a person says so."""
    patterns = permissions.foreign()
    if not patterns:
        return
    told = f"This session allows calls that were {ELSEWHERE}, or by an older foldlog:"
    if asks and confirm([told, *(f"  {pattern}" for pattern in patterns)], "Allow them here?"):
        permissions.adopt(patterns)
    elif not asks:
        note(f"{told} {', '.join(map(str, patterns))}. They do not count here; use --allow.")


def tell_folder(session: Session, folder: Path) -> None:
    """Tell a person where the agent works, if that is not what they would expect."""
    named = named_folder(session)
    foreign = named is not None and folder_of(session) == "." and not _moved_here(session, named)
    if foreign and not _is_same(Path(named or "."), folder):
        note(f"The session names the folder {named}, {ELSEWHERE}. The agent works in {folder}.")
    elif not _is_same(folder, Path()):
        note(f"The session works in {folder}, where it began.")


def moved(session: Session) -> EventDraft | None:
    """Return what records that a person continues a session in another folder, so that ``last``
    finds it there; None where they are in the one it was used in last, or inside it."""
    named, here = named_folder(session), current_folder()
    if here is None or (named is not None and Path(here).is_relative_to(named)):
        return None
    return installation().sealed(session.id, EventDraft("session.moved", {"cwd": here}))


def _moved_here(session: Session, folder: str) -> bool:
    """Return whether this installation recorded that a session is used in a folder."""
    moves = session.store.read(session.id, types=("session.moved",))
    return installation().recorded_any(moves, {"cwd": folder})


def known_state(store: Store, session: str) -> dict[str, Any]:
    """Return how the agent was made the last time, without files that another program named."""
    found = open_view(store, session).state(STATE)
    if not isinstance(found, dict):
        return {}
    events = store.read(session, types=("state.set",))
    if installation().recorded_any(events, {"key": STATE, "value": found}):
        return found
    files = [key for key in ("model", "policy", "summarizer") if _names_file(key, found.get(key))]
    if files:
        listed = ", ".join(f"{key} {found[key]}" for key in files)
        note(f"Files that were {ELSEWHERE} are not used: {listed}. Name them again to use them.")
    return {key: value for key, value in found.items() if key not in files}


def absolute(name: str) -> str:
    """Return the absolute path of a file that a name means; any other name as it is."""
    return os.path.abspath(name) if Path(name).is_file() else name


def digest_of(name: str | None) -> str | None:
    """Return the SHA-256 of a policy's file; None for a preset."""
    if name is None or name in presets():
        return None
    return sha256(written(name).encode()).hexdigest()


def check_unchanged(name: str | None, digest: str | None, *, asks: bool) -> None:
    """Refuse a policy file that changed since the session used it, unless a person accepts it.

    Raises:
        PolicyError: It changed, and nobody accepts that.
    """
    if digest_of(name) == digest or name is None:
        return
    told = f"The policy file {name} changed since this session used it last."
    powers = [f"  {power}" for power in policy(name).powers()]
    listed = [f"{told} It would:" if powers else told, *powers]
    if not (asks and confirm(listed, "Use it as it is now?")):
        raise PolicyError(f"{told} Read it, then name it with --policy.")


def _names_file(key: str, value: Any) -> bool:
    if not isinstance(value, str):
        return False
    if key == "model":
        return value.startswith(SCRIPTED)
    if key == "policy":
        return value not in presets()
    return os.path.isabs(value) or Path(value).exists()


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False  # one of them was removed
