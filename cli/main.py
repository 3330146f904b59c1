"""The command line: one group, its commands loaded when they are used.

Nothing but click is imported here, so that ``foldlog --help`` costs what importing click costs. The
help of the group knows the summary of each command; a test compares them.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from foldlog import __version__

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Bring sessions in, take them out": {
        "import": ("importing", "Import sessions of Claude Code, Codex and many others."),
        "watch": ("watch", "Import what agents write, always: as a service of this user."),
        "export": (
            "exporting",
            "Write sessions as Markdown, web pages, JSON Lines or a transcript.",
        ),
        "backup": ("exporting", "Copy the store while others write to it."),
        "proxy": ("proxy", "Record any harness: HTTP in front of the Messages API."),
    },
    "Look at what happened": {
        "sessions": ("sessions", "List the sessions, the one used last first."),
        "log": ("log", "Show the events of a session as they happened."),
        "show": ("show", "Show one event with its full content."),
        "search": ("search", "Find where something was said, in any language."),
        "serve": ("serving", "See sessions in a browser, and travel in time."),
        "open": ("serving", "Open the page of a session in the browser."),
        "stats": ("figures", "Count tokens, cost, cache hits, sizes and tools."),
        "sql": ("sql", "Run a read-only SQL query over the store."),
    },
    "See what the model saw": {
        "view": ("views", "Show what the model sees, now or at any version."),
        "diff": ("views", "Show what changed between two views."),
        "why": ("views", "Show through which edits an event came to be shown as it is."),
        "verify": ("proof", "Prove that the log is whole and unchanged."),
    },
    "Go on from somewhere else": {
        "fork": ("steering", "Start a new session that shares the past."),
        "rewind": ("steering", "Move the head back to a version; nothing is lost."),
        "recover": ("steering", "Close open calls as interrupted."),
        "handoff": ("handoff", "Go on with a session in another agent."),
    },
    "Choose what the model sees": {
        "compact": ("compaction", "Apply the rules of a compaction policy now."),
        "policies": ("compaction", "List the compaction policies, or print one as TOML."),
        "expand": ("editing", "Undo the edit that shows an event."),
        "pin": ("editing", "Keep an event from ever being compacted."),
        "unpin": ("editing", "Let an event be compacted again."),
    },
    "Let a model look back": {
        "mcp": ("mcp", "Serve recall to an MCP client, over stdin and stdout."),
    },
    "Work with an agent": {
        "chat": ("chat", "Talk with the reference agent; every step is recorded."),
        "resume": ("chat", "Continue a session, from wherever it was killed."),
    },
    "Keep order": {
        "doctor": ("doctor", "Check the store, and what is not in it yet."),
        "tasks": ("compaction", "Show the task board of a session."),
        "rename": ("sessions", "Give a session another title."),
        "tag": ("sessions", "Add tags to a session, or take them away."),
    },
}
"""What people want to do; for each command the module that holds it and its summary."""

COMMANDS = {name: entry for section in SECTIONS.values() for name, entry in section.items()}

EPILOG = """\
SESSION is an id, the beginning of one, a title, or `last`. VERSION is a number, `head`, a time
(2026-11-29T14:05), `request:K`, `edit:K` or `before-compaction:K`; K counts from 1, negative from
the end.

Completion for your shell: `eval "$(_FOLDLOG_COMPLETE=bash_source foldlog)"` (or zsh_source; for
fish: `_FOLDLOG_COMPLETE=fish_source foldlog | source`).
"""


class Foldlog(click.Group):
    """A group that knows its commands by name and loads one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"foldlog.cli.commands.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and args[0][:1].isalpha():
            from difflib import get_close_matches

            near = " or ".join(get_close_matches(args[0], COMMANDS))
            hint = f" Did you mean {near}?" if near else ""
            raise click.UsageError(f"Unknown command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        commands = [
            CompletionItem(name, help=summary)
            for name, (_, summary) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                rows = [(f"{name:<8}", summary) for name, (_, summary) in commands.items()]
                formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a reader that closed the pipe has seen enough."""
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            from foldlog.cli.exit_codes import let_go_of_stdout

            let_go_of_stdout()
            return 0
        return code

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run, and end with an exit code: 0, 1 for damaged data, 2 for what could not be done."""
        for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
            if getattr(sys, name) is None:  # it was closed: nobody writes, or nobody reads
                setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False})
        except (Exception, KeyboardInterrupt) as error:
            from foldlog.cli.exit_codes import print_error

            code = print_error(error)
        sys.exit(code or 0)


@click.group(cls=Foldlog, invoke_without_command=True, epilog=EPILOG)
@click.option(
    "--db",
    envvar="FOLDLOG_DB",
    metavar="STORE",
    help="The store: a path, or the URL of a backend. Default: $FOLDLOG_DB, else sessions.db in"
    " your application folder.",
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def foldlog(ctx: click.Context, db: str | None) -> None:
    """An append-only log of what happened in agent sessions, and any view of it."""
    if db == "":
        raise click.UsageError("--db names no store: it is empty. Leave it out for the default.")
    ctx.obj = db
    if ctx.invoked_subcommand is None:
        if sys.stdout.isatty():
            from foldlog.cli.first_screen import show

            show(db)
        else:
            click.echo(ctx.get_help())


def main() -> None:
    """Run the console script."""
    foldlog(prog_name="foldlog")
