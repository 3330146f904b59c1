"""Proof that the log is whole and unchanged, and that its views are what the model was sent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import click

from foldlog.cli.exit_codes import print_error
from foldlog.cli.options import SessionName, json_option
from foldlog.cli.output import Column, note, on_terminal, print_json, print_lines, show, styled
from foldlog.cli.progress import Bar
from foldlog.cli.safe import one_line
from foldlog.cli.stores import find, reading
from foldlog.eventstore import Event, FoldlogError, InvalidView, SessionNotFound, Store
from foldlog.eventstore.store import Verdict
from foldlog.projections import repairs
from foldlog.projections.explain.proof import difference, has_diverged, is_provable, view_problems
from foldlog.projections.render.divergence import Holding
from foldlog.projections.render.repairs import RULES
from foldlog.projections.view.edits import is_imported
from foldlog.projections.view.open import Resumed, has_true_fold

DAMAGED = 1
"""The exit code when something is wrong with the data."""


@dataclass(slots=True)
class Findings:
    """What was found of one session.

    Attributes:
        verdict: What the store says of hashes, order and payloads; and the problems of views.
        requests: How many requests carry a digest and can be rebuilt.
        proven: How many of them were rebuilt and are what was sent; None where that was not asked.
        no_digest: How many requests have none: transcripts of other programs do not hold what was
            sent.
        unheld: How many requests have a digest, and nothing in the log to rebuild them from: side
            requests of a program that is only observed.
        diverged: In how many of them something else than the view was sent; the log says what.
        notices: (version, notice): what render left out, and what an imported log shows otherwise
            than its requests say. No faults.
    """

    verdict: Verdict
    requests: int = 0
    proven: int | None = None
    no_digest: int = 0
    unheld: int = 0
    diverged: int = 0
    notices: list[tuple[int, str]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return what ``foldlog verify --json`` prints."""
        verdict = self.verdict
        return {
            "session": verdict.session,
            "ok": verdict.ok,
            "events": verdict.events,
            "requests": self.requests,
            "proven": self.proven,
            "no_digest": self.no_digest,
            "unheld": self.unheld,
            "diverged": self.diverged,
            "erased": verdict.erased,
            "head_hash": verdict.head_hash,
            "problems": [{"version": v, "problem": text} for v, text in verdict.problems],
            "notices": [{"version": v, "notice": text} for v, text in self.notices],
        }


COLUMNS: list[Column[Findings]] = [
    Column("session", lambda found: found.verdict.session or "(the store)", style="cyan"),
    Column("ok", lambda found: "yes" if found.verdict.ok else "NO"),
    Column("events", lambda found: found.verdict.events),
    Column("requests", lambda found: _requests(found)),
    Column("diverged", lambda found: found.diverged),
    Column("erased", lambda found: found.verdict.erased),
    Column("problems", lambda found: len(found.verdict.problems)),
    Column("notices", lambda found: len(found.notices)),
    Column("head hash", lambda found: found.verdict.head_hash),
]


@click.command()
@click.argument("session", required=False, type=SessionName())
@click.option("--views", is_flag=True, help="Rebuild every request that was sent, and compare.")
@click.option("--expect", metavar="HASH", help="The hash that the last event must have.")
@click.option("--notices", is_flag=True, help="List what render left out as well.")
@json_option
@click.pass_obj
def verify_command(
    where: str | None,
    session: str | None,
    views: bool,
    expect: str | None,
    notices: bool,
    json: bool,
) -> int:
    """Prove that the log is whole and unchanged: hashes, order, payloads, pieces.

    Keep the head hash elsewhere: given as --expect, it finds a tail that was cut off, and a session
    that is gone. The exit code is 1 when there is a problem.
    """
    if expect and not session:
        raise click.UsageError("--expect is the hash of one session: name it.")
    with reading(where) as store, Bar(hidden=json and on_terminal()) as bar:
        try:
            name, found = find(store, session) if session else None, []
        except SessionNotFound as error:
            if not expect:
                raise
            print_error(error)  # it was there when the hash was written down
            return DAMAGED
        for findings in _findings(store, name, expect, views, bar):
            found.append(findings)
            if json:
                print_json([findings.to_json()], live=True)
    if not json:
        _print(found, notices)
    return 0 if all(findings.verdict.ok for findings in found) else DAMAGED


def _findings(
    store: Store, session: str | None, expect: str | None, views: bool, bar: Bar
) -> Iterator[Findings]:
    """Yield what the store says of each session, and what its views say."""

    def looked_at(name: str, version: int) -> None:
        bar.update(name, version, store.last(name))

    for verdict in store.verify(session, expect=expect, progress=looked_at):
        findings = Findings(verdict, notices=list(verdict.notices))
        if not verdict.session:
            yield findings
            continue
        try:
            look_at_views(store, findings, views, bar)
        except FoldlogError as error:
            if verdict.ok:
                verdict.problems.append((getattr(error, "version", None) or 0, str(error)))
        yield findings


def look_at_views(store: Store, findings: Findings, views: bool, bar: Bar) -> None:
    """Find what is wrong with the views of a session.

    Args:
        views: Rebuild each request that was sent, too.

    Raises:
        FoldlogError: A view cannot be folded.
    """
    session, problems = findings.verdict.session, findings.verdict.problems
    if not has_true_fold(store, session):
        problems.append((0, "its cached fold is not what the log folds to"))
    resumed = Resumed(store, session)
    last = store.last(session)
    moves = [event.version - 1 for event in store.read(session, types=["head.moved"])]
    problems.extend(view_problems(resumed.view, [last, *reversed(moves)]))
    findings.notices.extend(_left_out(resumed))
    sent = list(store.read(session, types=["request.sent"]))
    requests = [request for request in sent if is_provable(request)]
    findings.requests = len(requests)
    findings.no_digest = sum(not request.data.get("digest") for request in sent)
    findings.unheld = len(sent) - len(requests) - findings.no_digest
    findings.diverged = sum(map(has_diverged, requests))
    if views:
        _rebuild(store, findings, resumed, requests, bar)


def _rebuild(
    store: Store, findings: Findings, resumed: Resumed, requests: list[Event], bar: Bar
) -> None:
    """Rebuild requests from the log and compare them with their digests."""
    session, problems = findings.verdict.session, findings.verdict.problems
    holding = Holding(lambda version: store.get(session, version))
    findings.proven = 0
    for done, request in enumerate(requests, start=1):
        bar.update(session, done, len(requests))
        text = difference(resumed.view, request, holding)
        if text:
            (findings.notices if is_imported(request) else problems).append((request.version, text))
        else:
            findings.proven += 1


def _left_out(resumed: Resumed) -> Iterator[tuple[int, str]]:
    """Yield what render left out of the newest view, or completed in it."""
    try:
        for rule, version in repairs(resumed.view()):
            yield version, f"{rule}: {RULES[rule]}"
    except InvalidView:
        return  # reported as a problem already


def _print(found: list[Findings], notices: bool) -> None:
    if len(found) == 1:
        cells = [f"{column.title}: {column.cell(found[0])}" for column in COLUMNS]
        print_lines(map(one_line, cells))
    else:
        show(found, COLUMNS, json=False, to_json=Findings.to_json, empty="There is no session.")
    for findings in found:
        session = findings.verdict.session or "(the store)"
        for version, problem in findings.verdict.problems:
            print_lines([styled(one_line(f"{session} {version}: {problem}"), fg="red")])
        for version, notice in findings.notices if notices else ():
            print_lines([one_line(f"{session} {version}: {notice}")])
    if not notices and any(findings.notices for findings in found):
        note("Notices are no faults; --notices lists them.")
    for words in _about_requests(found):
        note(words)


def _requests(found: Findings) -> str:
    """Return how many requests can be rebuilt and, where they were, how many are what was sent."""
    proven = f" ({found.proven:,} proven)" if found.proven is not None and found.requests else ""
    return f"{found.requests:,}{proven}"


def _about_requests(found: list[Findings]) -> Iterator[str]:
    """Yield what cannot be proven about requests, once for all sessions."""
    if all(findings.proven is None for findings in found):
        return
    no_digest = sum(findings.no_digest for findings in found)
    if no_digest:
        yield (
            f"Requests without a digest: {no_digest:,}. An imported transcript does not hold what"
            " its program sent. The lines they were made of are events, covered by the hashes;"
            " --notices lists what a request made of them would leave out."
        )
    unheld = sum(findings.unheld for findings in found)
    if unheld:
        yield (
            f"Side requests that cannot be rebuilt: {unheld:,}. What they sent is not in the log;"
            " their events are covered by the hashes."
        )
