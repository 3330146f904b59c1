"""A conversation with the agent: in lines, from a terminal or a pipe, or a single prompt."""

from __future__ import annotations

import re
import sys
from contextlib import ExitStack
from typing import Self

from foldlog.cli.agent import slash
from foldlog.cli.agent.display import answer_of
from foldlog.cli.agent.loop import Agent
from foldlog.cli.agent.setup import Setup
from foldlog.cli.agent.trust import tell_folder
from foldlog.cli.agent.turn_state import newest, owes
from foldlog.cli.describe import headline
from foldlog.cli.exit_codes import print_error
from foldlog.cli.output import note, on_terminal, print_bytes, print_lines, styled
from foldlog.cli.safe import safe
from foldlog.eventstore import FoldlogError, Store
from foldlog.projections import Session

LAST = 200
"""Characters of what was said last that are shown where a session goes on."""

HOLDER = "foldlog chat"
"""The name that others see who ask for the same session."""


class Chat:
    """A session that is held for a conversation, and the agent that works on it.

    Attributes:
        store: Where it is kept.
        setup: How its agent is made.
        agent: The agent.
    """

    agent: Agent

    def __init__(self, store: Store, setup: Setup) -> None:
        self.store = store
        self.setup = setup
        self._held = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._held.close()

    @property
    def where(self) -> str:
        """The store, as commands take it."""
        return str(self.store.path)

    def open(self, session: str) -> None:
        """Hold a session, and close what a crash left open in it.

        Raises:
            SessionHeld: Another program has it.
        """
        with ExitStack() as held:
            held.enter_context(self.store.lease(session, holder=HOLDER))
            agent = self.setup.agent(Session(self.store, session))
            self._held.close()
            self._held = held.pop_all()
        self.agent = agent
        tell_folder(agent.session, agent.executor.cwd)

    def set_policy(self, name: str) -> None:
        """Prepare views with another policy from now on.

        Raises:
            PolicyError: There is no such policy, or it is not valid.
        """
        self.setup = self.setup.with_policy(name)
        self.agent = self.setup.agent(self.agent.session)

    # -- turns -------------------------------------------------------------------------------

    def say(self, prompt: str) -> None:
        """Run one turn."""
        self.setup.begin(self.agent.session, self.agent.executor)
        self.agent.say(prompt)

    def finish(self) -> None:
        """Continue a turn that was interrupted."""
        session = self.agent.session
        if session.version and owes(session.view()):
            note("The last turn was interrupted; resuming it.")
            self.agent.go_on()

    def answer(self) -> None:
        """Print the newest reply: as it is, or made safe for a terminal."""
        event = newest(self.agent.session.view())
        text = answer_of(event) if event and event.type == "message.assistant" else ""
        if on_terminal():
            print_lines([safe(text)])
        else:
            print_bytes([text.encode(errors="backslashreplace"), b"\n"])

    # -- the conversation --------------------------------------------------------------------

    def greet(self) -> None:
        """Show a person who answers, where, how to get help, and what was said last."""
        if not is_interactive():
            return
        agent, session = self.agent, self.agent.session
        note(f"{agent.model.name} in {agent.executor.cwd}; /help lists the commands.")
        last = newest(session.view()) if session.version else None
        if last is not None:
            note(f"{session.version:,} events so far (/log); the last: {headline(last, LAST)}")

    def run(self) -> None:
        """Take prompts and slash commands until somebody leaves."""
        asked_before = False
        while True:
            try:
                line = _line()
                asked_before = False
                self._take(line)
            except EOFError:
                break
            except KeyboardInterrupt:
                if asked_before:
                    break
                asked_before = True
                print()
                note("Stopped. Ctrl-C once more, or Ctrl-D, leaves.")
        if self.agent.session.version:
            note(f"`foldlog resume {self.agent.session.id}` continues the session.")

    def _take(self, line: str) -> None:
        """Take a prompt or a slash command; report a failure to a person, raise it in a pipe."""
        if line.startswith("/"):
            slash.run(line, self)
        elif line.strip():
            try:
                self.say(line)
            except FoldlogError as error:
                if not is_interactive():
                    raise
                print_error(error)


def is_interactive() -> bool:
    """Return whether a person can be asked."""
    return sys.stdin.isatty()


def _line() -> str:
    """Return what a person types; a line that ends in a backslash continues in the next one."""
    if not is_interactive():
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\n")
    line = input(_prompt("> "))
    while line.endswith("\\"):
        line = line[:-1] + "\n" + input(_prompt("… "))
    return line


def _prompt(text: str) -> str:
    """Return a prompt in which readline knows what takes no room; it gives a history and keys."""
    try:
        import readline  # noqa: F401
    except ImportError:
        return text
    return re.sub(r"(\x1b\[[0-9;]*m)", "\x01\\1\x02", styled(text, fg="green", bold=True))
