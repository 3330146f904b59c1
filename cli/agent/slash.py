"""Slash commands: what a person says to the agent, not to the model.

Those that only read are the commands of foldlog itself, for this session. A mistake is reported in
one line, and the conversation continues.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from foldlog.cli.exit_codes import print_error
from foldlog.cli.output import say
from foldlog.eventstore import FoldlogError

if TYPE_CHECKING:
    from foldlog.cli.agent.chat import Chat

HELP = {
    "/compact [instructions]": "Make the view smaller now; say what a summary should keep in mind.",
    "/view [--as pieces]": "What the model sees.",
    "/why V": "How version V came to be shown as it is.",
    "/rewind V": "Continue from version V; what came after stays in the log.",
    "/fork": "Continue in a new session that shares the past.",
    "/policy NAME": "Compact by this policy from now on.",
    "/export [-o FILE]": "The session as Markdown.",
    "/log": "What happened, event by event.",
    "/tasks": "The task board.",
    "/help": "This list.",
    "/quit": "Leave. `foldlog resume` continues the session.",
}

READING = ("view", "why", "export", "log", "tasks", "diff", "stats", "verify", "show")
"""Commands of foldlog that take the session first and write nothing."""


class Unknown(FoldlogError):
    """An unknown slash command, or one that needs something else."""


def run(line: str, chat: Chat) -> None:
    """Run a slash command; report what is wrong with it."""
    name, _, rest = line[1:].strip().partition(" ")
    try:
        if name in READING:
            _read(chat, [name, chat.agent.session.id, *shlex.split(rest)])
        elif name in WRITING:
            WRITING[name](chat, rest.strip())
        else:
            raise Unknown(f"unknown command /{name}; /help lists the commands.")
    except (FoldlogError, click.ClickException, OSError, ValueError) as error:
        _tell(error)


def _tell(error: Exception) -> None:
    if isinstance(error, ValueError):  # of shlex
        error = Unknown(f"{error}. Close the quote, or write a backslash before it.")
    print_error(error)


def _read(chat: Chat, arguments: list[str]) -> None:
    from foldlog.cli.main import foldlog

    with foldlog.make_context("foldlog", ["--db", chat.where, *arguments]) as context:
        foldlog.invoke(context)


def _compact(chat: Chat, instructions: str) -> None:
    session, known = chat.agent.session, chat.agent.known
    before = session.version
    session.compact(instructions=instructions or None, **known)
    done = session.prepared
    if not any(session.store.read(session.id, after=before, types=("view.edited",))):
        why = done.refusal if done else None
        say(f"There is nothing to compact: {why}" if why else "There is nothing to compact.")
    chat.agent.tell_edits()
    if done and done.over:
        say(f"It does not fit yet: {done.over}")


def _rewind(chat: Chat, version: str) -> None:
    if not version:
        raise Unknown("/rewind needs a version: /log shows them.")
    chat.agent.session.rewind(version)
    say(f"The head is at {chat.agent.session.view().head} again; what came after is in the log.")


def _fork(chat: Chat, title: str) -> None:
    old = chat.agent.session
    new = old.fork(title=title or None)
    chat.open(new.id)
    say(f"{new.id} shares {old.id} up to version {new.version - 1}; you are in it now.")


def _policy(chat: Chat, name: str) -> None:
    from foldlog.projections.compaction.policy import presets

    if not name:
        raise Unknown(f"/policy needs a name or a file. Choose from {', '.join(presets())}.")
    chat.set_policy(name)
    say(f"Views are prepared by {name} from now on.")


def _help(chat: Chat, rest: str) -> None:
    width = max(map(len, HELP))
    for usage, meaning in HELP.items():
        click.echo(f"{usage:<{width}}  {meaning}")


def _quit(chat: Chat, rest: str) -> None:
    raise EOFError


WRITING: dict[str, Callable[[Chat, str], None]] = {
    "compact": _compact,
    "rewind": _rewind,
    "fork": _fork,
    "policy": _policy,
    "help": _help,
    "quit": _quit,
}
"""What changes the session, or the conversation with it."""
