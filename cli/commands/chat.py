"""The reference agent: ``chat`` starts or continues, ``resume`` finishes an interrupted turn."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import click

from foldlog.cli.options import SessionName, WholeNumber

F = TypeVar("F", bound=Callable[..., Any])


def agent_options(function: F) -> F:
    """Return what both commands take."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function


OPTIONS = (
    click.option("-p", "--prompt", metavar="TEXT", help="Say this, print the answer, and leave."),
    click.option(
        "--model",
        metavar="M",
        help="A model of the API, or scripted:FILE. Default: as before, else $ANTHROPIC_MODEL,"
        " else claude-opus-5-5.",
    ),
    click.option(
        "--policy",
        metavar="NAME",
        help="A preset or a TOML file. Default: as before, else adaptive.",
    ),
    click.option("--window", type=WholeNumber(min=1), metavar="N", help="Its window in tokens."),
    click.option(
        "--summarizer", metavar="WHO", help="digest (no model), anthropic, api, or a file."
    ),
    click.option(
        "--system",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="The system prompt.",
    ),
    click.option(
        "--allow", multiple=True, metavar="PATTERN", help="Allow these calls: bash(git status *)."
    ),
    click.option("--deny", multiple=True, metavar="PATTERN", help="Never allow these calls."),
    click.option(
        "--settings",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Permissions and hooks (TOML).",
    ),
    click.option(
        "--max-cost",
        type=click.FloatRange(min=0),
        metavar="DOLLARS",
        help="No request once the session has cost this.",
    ),
    click.option("--fork", is_flag=True, help="Continue in a fork, whoever holds the session."),
)


SAYING = "Give the prompt with -p, or type it when asked."
"""For those who give a prompt where a session is expected."""


@click.command()
@click.argument("session", type=SessionName(), required=False)
@agent_options
@click.pass_obj
def chat_command(where: str | None, /, session: str | None, **options: Any) -> None:
    """Talk with the reference agent; every step is recorded.

    With SESSION it continues there, without one it starts a new session. It needs
    ANTHROPIC_API_KEY, unless --model is a script. Calls that write or run something ask first;
    with -p, or without a terminal, what was not allowed beforehand is refused. Ctrl-C stops a turn,
    /help lists the commands.
    """
    _talk(where, session, finish=False, **options)


@click.command()
@click.argument("session", type=SessionName())
@agent_options
@click.pass_obj
def resume_command(where: str | None, /, session: str, **options: Any) -> None:
    """Continue a session, from wherever it was killed.

    Results are kept, open calls are closed as interrupted, and an interrupted turn is finished;
    then it works as `chat`.
    """
    _talk(where, session, finish=True, **options)


def _talk(
    where: str | None,
    session: str | None,
    *,
    finish: bool,
    prompt: str | None,
    fork: bool,
    max_cost: float | None,
    **options: Any,
) -> None:
    from foldlog.cli.agent.chat import Chat
    from foldlog.cli.agent.setup import new_session, setup
    from foldlog.cli.stores import creating, find, writing
    from foldlog.eventstore import SessionHeld, SessionNotFound

    limit = None if max_cost is None else Decimal(str(max_cost))
    made = None
    if session is None:  # a model that cannot be asked creates nothing
        made = setup(None, limit=limit, once=prompt is not None, **options)
    with (creating if session is None else writing)(where) as store:
        try:
            name = new_session() if session is None else find(store, session)
        except SessionNotFound as error:
            if finish or prompt is not None:
                raise
            raise click.ClickException(f"{error} {SAYING}") from error
        if fork and session is not None:
            name = store.fork(name).session
        made = made or setup((store, name), limit=limit, once=prompt is not None, **options)
        with Chat(store, made) as chat:
            try:
                chat.open(name)
            except SessionHeld as held:
                raise click.ClickException(
                    f"{held} --fork does that and continues in it."
                ) from held
            if prompt is None:
                chat.greet()
            if finish:
                chat.finish()
            if prompt is None:
                chat.run()
                return
            chat.say(prompt)
            chat.answer()
