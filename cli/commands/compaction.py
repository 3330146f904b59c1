"""Compaction: the policies there are, a compaction by hand, and the task board."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any

import click

from foldlog.cli.options import WholeNumber, json_option, session_argument
from foldlog.cli.output import Column, note, print_json, print_lines, show, styled
from foldlog.cli.safe import one_line
from foldlog.cli.stores import find, reading, writing
from foldlog.eventstore import Store
from foldlog.projections import Session, open_view
from foldlog.projections.compaction.blocking import nothing_to_do
from foldlog.projections.compaction.budget import Known
from foldlog.projections.compaction.errors import PolicyError
from foldlog.projections.compaction.plan import Plan
from foldlog.projections.compaction.policy import PRESETS, Policy, policy, presets, written
from foldlog.projections.compaction.prepare import Prepared
from foldlog.projections.compaction.rules import RULES
from foldlog.projections.summaries.registry import SUMMARIZERS
from foldlog.projections.tasks.board import Task
from foldlog.projections.tasks.task_board import PREFIX, TaskBoard, board_named_by, session_of

Row = Mapping[str, Any]

UNFIT = 1
"""The exit code where a session was compacted and is still too large for its window."""

COUNTED = "Tokens of the next request, system and tools included, as the API counted or estimated:"
"""What the figures of a compaction count, for people."""

WIDTH = 100
"""Characters of a line that describes a policy, at most."""

EDIT_COLUMNS: list[Column[Row]] = [
    Column("rule", lambda row: row["rule"], style="cyan"),
    Column("first", lambda row: row["first"]),
    Column("last", lambda row: row["last"]),
    Column("before", lambda row: row["tokens_before"]),
    Column("after", lambda row: row["tokens_after"]),
    Column("reason", lambda row: row["reason"], folds=True, least=40),
]

TASK_COLUMNS: list[Column[Task]] = [
    Column("id", lambda task: task.id),
    Column("status", lambda task: task.status, style="cyan"),
    Column("owner", lambda task: task.owner),
    Column("subject", lambda task: task.subject, folds=True, least=40),
    Column("blocked by", lambda task: ", ".join(task.blocked_by) or None),
    Column("blocks", lambda task: ", ".join(task.blocks) or None),
]


@click.command()
@click.argument("name", required=False)
@json_option
def policies_command(name: str | None, json: bool) -> None:
    """List the compaction policies, or print one as TOML.

    NAME is a preset or a TOML file of your own, which is checked.
    """
    if name is None:
        found = list(_presets())
        if json:
            print_json(dict(one.data) for one in found)
        else:
            print_lines(line for one in found for line in _described(one))
    elif json:
        print_json([dict(policy(name).data)])
    else:
        policy(name)
        print_lines(one_line(line) for line in written(name).splitlines())


def _described(found: Policy) -> Iterator[str]:
    """Yield a policy's name, its rules and what it does, on lines that fit anywhere."""
    width = min(WIDTH, get_terminal_size().columns) - 2
    yield styled(one_line(found.name), fg="cyan")
    for text in (" → ".join(rule.kind for rule in found.rules), found.settings.description):
        yield from (f"  {line}" for line in wrap(one_line(text.strip()), width))


def _presets() -> Iterator[Policy]:
    """Yield the presets; those of other packages that cannot be used are named on stderr."""
    for name in presets():
        try:
            yield policy(name)
        except PolicyError as problem:
            note(f"The preset {name!r} cannot be used: {problem}")
    for registry in (PRESETS, RULES, SUMMARIZERS):
        for name in registry.problems():
            note(registry.why_not(name).capitalize())


@click.command()
@session_argument
@click.option("--policy", metavar="NAME", help="A preset or a TOML file. Default: as set last.")
@click.option("--instructions", metavar="T", help="What the summary should keep in mind.")
@click.option("--from", "first", metavar="V", help="Summarize from this version on.")
@click.option("--up-to", "end", metavar="V", help="Summarize what comes before this version.")
@click.option(
    "--summarizer",
    default="digest",
    show_default=True,
    metavar="WHO",
    help="digest (no model), anthropic, api, or a file that holds the summary.",
)
@click.option("--model", metavar="M", help="The model that the session continues with.")
@click.option("--window", type=WholeNumber(min=1), metavar="N", help="Its window in tokens.")
@click.option("--dry-run", is_flag=True, help="Show what would be done; nothing is recorded.")
@json_option
@click.pass_obj
def compact_command(
    where: str | None,
    session: str,
    policy: str | None,
    instructions: str | None,
    first: str | None,
    end: str | None,
    summarizer: str,
    model: str | None,
    window: int | None,
    dry_run: bool,
    json: bool,
) -> None:
    """Apply the rules of a compaction policy now; triggers are ignored.

    `expand` undoes it, `rewind` too; the log keeps everything. --from includes its version,
    --up-to leaves its version out. What is too large for the window even then is compacted
    again, until it fits; where it cannot, stderr says what stays and why, and the exit code is 1,
    or 2 where nothing was changed.
    """
    if first is not None and end is not None:
        raise click.UsageError("Give --from or --up-to, not both.")
    from foldlog.cli.agent.trust import accepted_policy

    known: Known = {"model": model, "window": window}
    with (reading if dry_run else writing)(where) as store:
        compacted = Session(store, find(store, session))
        given = accepted_policy(compacted, policy, asks=sys.stdin.isatty())
        asked = compacted.asked(first, end)
        if dry_run:
            made = compacted.planned(given, asked=asked, instructions=instructions, **known)
            _show_planned(made, json)
            return
        compacted.compact(
            given, asked=asked, instructions=instructions, summarizer=summarizer, **known
        )
        assert compacted.prepared is not None
        _show_done(compacted.prepared, json)


def _show_planned(made: Plan, json: bool) -> None:
    rows = list(planned_rows(made))
    _show_rows(rows, json)
    if not rows:
        _say_why(nothing_to_do(made.before, made.policy.name))
    elif not json:
        after = rows[-1]["tokens_after"]
        end = " now" if after is None else f" before, {after:,} after"
        note(f"{COUNTED} {rows[0]['tokens_before']:,}{end}. Nothing was recorded.")
    if rows and made.summarize is None and made.after.tokens > made.after.budget.room:
        note(
            f"That is too much: {made.after.budget.room:,} are free. A real run goes on from there."
        )


def _show_done(done: Prepared, json: bool) -> None:
    """Print what was recorded, and what stays too large.

    Raises:
        ViewTooLarge: Nothing was changed, and the view does not fit.
        SystemExit: It was made smaller and does not fit all the same.
    """
    rows = list(recorded_rows(done))
    if not rows and done.over is not None:
        raise done.over
    _show_rows(rows, json)
    for notice in done.notices:
        click.echo(notice, err=True)
    if not rows:
        _say_why(done.refusal)
    elif not json:
        before, after = rows[0]["tokens_before"], rows[-1]["tokens_after"]
        note(f"{COUNTED} {before:,} before, {after:,} after.")
    if done.over is not None:
        note(f"It does not fit yet: {done.over}")
        sys.exit(UNFIT)


def _show_rows(rows: list[Row], json: bool) -> None:
    show(rows, EDIT_COLUMNS, json=json, to_json=dict, empty="There is nothing to compact.")


def _say_why(refusal: Exception | None) -> None:
    if refusal is not None:
        note(f"Nothing was changed: {refusal}")


@click.command()
@session_argument
@json_option
@click.pass_obj
def tasks_command(where: str | None, session: str, json: bool) -> None:
    """Show the task board of a session; a board has a name, too."""
    with reading(where) as store:
        show(
            tasks_of(store, session),
            TASK_COLUMNS,
            json=json,
            to_json=Task.to_json,
            empty="There are no tasks.",
        )


def tasks_of(store: Store, name: str) -> list[Task]:
    """Return the tasks of the board that a name means.

    It is the board of that name, or the one that the session of that name works on.

    Raises:
        SessionNotFound, AmbiguousName: None or more than one answers to that name.
    """
    board = session_of(name)
    if not store.exists(board):
        session = find(store, name)
        named = board_named_by(open_view(store, session))
        board = session_of(named) if named else session
    return list(TaskBoard(store, board).board().tasks.values()) if board.startswith(PREFIX) else []


def recorded_rows(prepared: Prepared) -> Iterator[Row]:
    """Yield a row for each edit that was recorded."""
    for event in prepared.edits:
        yield _row(
            event.data["rule"],
            event.data["reason"],
            [(entry["first"], entry["last"]) for entry in event.data["edits"]],
            event.data["tokens_before"],
            event.data["tokens_after"],
        )


def planned_rows(made: Plan) -> Iterator[Row]:
    """Yield a row for each edit of a plan. How long a summary will be is not known before."""
    for step in made.done:
        ranges = [(int(entry["first"]), int(entry["last"])) for entry in step.edits.edits]
        reason, before, after = step.edits.reason, step.before.tokens, step.after.tokens
        yield _row(step.rule, reason, ranges, before, after)
    asked = made.summarize
    if asked is not None:
        yield _row("summarize", asked.reason, list(asked.ranges), made.after.tokens, None)


def _row(
    rule: str, reason: str, ranges: list[tuple[int, int]], before: int, after: int | None
) -> Row:
    return {
        "rule": rule,
        "reason": reason,
        "first": min(first for first, _ in ranges),
        "last": max(last for _, last in ranges),
        "tokens_before": before,
        "tokens_after": after,
    }
