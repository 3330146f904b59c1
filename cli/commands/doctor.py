"""A look at everything: what is found, what the store lacks, what will be deleted, what to do."""

from __future__ import annotations

import json as json_library
import platform
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import click

from foldlog import __version__
from foldlog.cli import formats, user_service
from foldlog.cli.formats.source_files import home
from foldlog.cli.options import json_option
from foldlog.cli.output import Column, show
from foldlog.cli.stores import place_of, reading
from foldlog.eventstore import FoldlogError, Store, StoreNotFound
from foldlog.eventstore.store import scheme_of

DAMAGED = 1
"""The exit code where something is not as it should be."""

KEPT_DAYS = 30
"""How long Claude Code keeps transcripts where its settings do not say (``cleanupPeriodDays``):
https://code.claude.com/docs/en/settings, November 2026."""

SOON = timedelta(days=7)
"""What is deleted within this time is counted."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        check: Its name.
        ok: Whether it is as it should be.
        text: What was found, and what to do.
        optional: It is no fault, and could be better: something is not switched on.
    """

    check: str
    ok: bool
    text: str
    optional: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return it as ``foldlog doctor --json`` prints it."""
        return {"check": self.check, "ok": self.ok, "text": self.text}


COLUMNS: list[Column[Check]] = [
    Column("check", lambda found: found.check, style="cyan"),
    Column("ok", lambda found: "off" if found.optional else "ok" if found.ok else "NO"),
    Column("text", lambda found: found.text, folds=True, least=40),
]


@click.command()
@json_option
@click.pass_obj
def doctor_command(where: str | None, json: bool) -> int:
    """Check the store, and what is not in it yet.

    It looks at the files of known programs: how many are not in the store, and which their
    program will delete when; whether the store verifies; whether recording is always on; and the
    versions. Nothing is changed. The exit code is 1 where something has to be done.
    """
    found = list(_checks(where))
    show(found, COLUMNS, json=json, to_json=Check.to_json)
    return 0 if all(check.ok for check in found) else DAMAGED


def _checks(where: str | None) -> Iterator[Check]:
    known: set[str] = set()
    try:
        with reading(where) as store:
            known = _files(store)
            yield from _store(store)
    except StoreNotFound:
        yield Check(
            "store", False, f"There is none at {place_of(where)}. `foldlog import` makes it."
        )
    except FoldlogError as error:
        yield Check("store", False, str(error))
    yield from _programs(known)
    yield _service()
    yield from _formats()
    yield Check("versions", True, _versions())


def _files(store: Store) -> set[str]:
    """Return the files that sessions of the store came from."""
    origins = (info.origin for info in store.sessions())
    return {str(origin.get("file")) for origin in origins if isinstance(origin, dict)}


def _store(store: Store) -> Iterator[Check]:
    path, bad, sessions, events = Path(store.path), [], 0, 0
    for verdict in store.verify():
        sessions += bool(verdict.session)
        events += verdict.events
        if not verdict.ok:
            bad.append(verdict.session or "the store itself")
    held = "1 session" if sessions == 1 else f"{sessions:,} sessions"
    size = f"{held}, {events:,} events in {store.path}"
    if bad:
        yield Check(
            "store", False, f"{size}: not as recorded: {', '.join(bad)}. See `foldlog verify`."
        )
    else:
        yield Check("store", True, f"{size}: every hash is right.")
    if not scheme_of(store.path) and path.exists() and path.stat().st_mode & 0o077:
        text = f"Others than its owner may read {path}. Run `chmod 600` on it."
        yield Check("private", False, text)


# -- the sessions of programs ----------------------------------------------------------------


def _programs(known: set[str]) -> Iterator[Check]:
    """Yield what each known program keeps, and what of it is not in the store."""
    places = [place for place in formats.default_places() if place.path.exists()]
    for name in dict.fromkeys(place.format for place in places):
        roots = [place.path for place in places if place.format == name]
        sources = [source for root in roots for source in _sources(root, name)]
        missing = [source.path for source in sources if source.file not in known]
        where = ", ".join(map(str, roots))
        text = f"{_count(len(sources))} in {where}{_of_them(len(sources), len(missing))}."
        yield Check(name, not missing, text + (" Run `foldlog import`." if missing else ""))
        if name == "claude-code":
            yield from _deletions([source.path for source in sources], missing)
    if not places:
        yield Check("programs", True, "No known program keeps sessions here.")


def _sources(root: Path, name: str) -> Iterator[formats.Source]:
    found = formats.find(formats.SourceFiles(root), name)
    return (source for _, source in found if source.skip is None)


def _deletions(paths: list[Path], missing: list[Path]) -> Iterator[Check]:
    """Yield when Claude Code will delete transcripts: so many days after they were last written."""
    days = _kept_days()
    due = {path: when for path in paths if (when := _due(path, days)) is not None}
    if not due:
        return
    soon = sum(when <= datetime.now().astimezone() + SOON for when in due.values())
    text = (
        f"claude-code deletes sessions {days:,} days after their last use: {soon:,} within a week"
    )
    lost = sorted(when for path, when in due.items() if path in missing)
    if lost:
        text += (
            f"; of those not in the store, the first on {lost[0]:%Y-%m-%d}. Run `foldlog import`."
        )
    else:
        text += f", the first on {min(due.values()):%Y-%m-%d}; all are in the store."
    yield Check("deletion", not lost, text)


def _due(path: Path, days: int) -> datetime | None:
    with suppress(OSError, OverflowError, ValueError):
        return datetime.fromtimestamp(path.stat().st_mtime).astimezone() + timedelta(days=days)
    return None  # it is gone, or is kept longer than there are years


def _kept_days() -> int:
    """Return how many days Claude Code keeps transcripts."""
    with suppress(OSError, ValueError):
        settings = home("CLAUDE_CONFIG_DIR", ".claude") / "settings.json"
        read = json_library.loads(settings.read_text(encoding="utf-8"))
        days = read.get("cleanupPeriodDays") if isinstance(read, dict) else None
        if isinstance(days, int) and not isinstance(days, bool) and days >= 0:
            return days
    return KEPT_DAYS


def _count(sources: int) -> str:
    """Return how many there are; a database is one, whatever it holds."""
    return "1 source" if sources == 1 else f"{sources:,} sources"


def _of_them(sources: int, missing: int) -> str:
    """Return how many of the sources are not in the store."""
    if missing:
        return f", {missing:,} not in the store"
    return ", all in the store" if sources else ""


# -- this machine ----------------------------------------------------------------------------


def _service() -> Check:
    try:
        service = user_service.manager()
    except user_service.ServiceError as error:
        return Check("watch", True, str(error), optional=True)
    if not service.path.exists():
        text = "New sessions are not recorded by themselves. `foldlog watch --install` does that."
        return Check("watch", True, text, optional=True)
    if user_service.is_running(service):
        return Check("watch", True, f"New sessions are recorded: {service.path}")
    text = f"{service.path} is installed, but does not run. `foldlog watch --install` starts it."
    return Check("watch", False, text)


def _formats() -> Iterator[Check]:
    for name, why in formats.problems().items():
        yield Check("formats", False, f"{name} cannot be used: {why}.")


def _versions() -> str:
    system = f"{platform.system()} {platform.release()}"
    python = platform.python_version()
    return f"foldlog {__version__}, Python {python}, SQLite {sqlite3.sqlite_version}, {system}"
