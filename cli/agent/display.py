"""What a person sees of a turn: the reply as it streams in, the calls, their results.

Nothing that a model or a tool says is obeyed by the terminal (``foldlog.cli.safe``). Piped, it is
the same text without colours. A quiet display shows only notes, on stderr.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click

from foldlog.cli.describe import call_text
from foldlog.cli.output import styled
from foldlog.cli.safe import one_line, safe, shortened
from foldlog.eventstore import Event
from foldlog.projections.wire.blocks import blocks, content_of, plain_text

LINES = 5
"""Lines of a result that are shown."""

CHARS = 120
"""Characters of a line of a result that are shown."""


class Display:
    """Prints a turn on stdout.

    Attributes:
        indent: Stands before each line, for what a subagent does.
    """

    def __init__(self, indent: str = "") -> None:
        self.indent = indent
        self._kind = ""
        self._held = ""

    # -- a reply as it streams in --------------------------------------------------------------

    def streamed(self, event: Any) -> None:
        """Show one event of the SDK's stream."""
        if event.type == "text":
            self._part("text", event.text)
        elif event.type == "thinking":
            self._part("thinking", event.thinking)
        elif event.type == "content_block_stop":
            self.close()

    def close(self) -> None:
        """End the line that a reply, or half a one, has begun."""
        if self._kind:
            self._write(self._style(safe(self._held)) + "\n")
        self._kind = self._held = ""

    def _part(self, kind: str, text: str) -> None:
        if kind != self._kind:
            self.close()
            self._kind = kind
            self._write(self.indent)
        text = self._held + text
        self._held = "\r" if text.endswith("\r") else ""  # its newline may come with the next part
        shown = safe(text.removesuffix("\r") if self._held else text)
        self._write(self._style(shown.replace("\n", f"\n{self.indent}")))

    def _style(self, text: str) -> str:
        return styled(text, dim=True) if self._kind == "thinking" and text else text

    # -- what happens between replies ----------------------------------------------------------

    def call(self, block: Mapping[str, Any]) -> None:
        """Show that a tool is called."""
        self._line(styled("● ", fg="cyan") + call_text(dict(block)))

    def result(self, event: Event) -> None:
        """Show what a call gave, in a few lines."""
        text = plain_text(blocks(content_of(event.data.get("content"))))
        lines = text.strip().split("\n")
        colour = {"fg": "red"} if event.data.get("is_error") else {"dim": True}
        for line in lines[:LINES]:
            self._line("  " + styled(shortened(line, CHARS), **colour))
        if len(lines) > LINES:
            self._line("  " + styled(f"… {len(lines) - LINES:,} more lines", dim=True))

    def edited(self, event: Event) -> None:
        """Show that the view was made smaller."""
        before, after = event.data.get("tokens_before"), event.data.get("tokens_after")
        sizes = f"; {before:,} to {after:,} tokens" if before and after else ""
        self.note(f"[{event.data.get('rule')}: {event.data.get('reason')}{sizes}]")

    def note(self, text: str) -> None:
        """Print what a person should know besides the conversation, on stderr."""
        self.close()
        click.echo(f"{self.indent}{one_line(text)}", err=True)

    def inner(self) -> Display:
        """Return the display of a subagent."""
        return type(self)(self.indent + "  │ ")

    def _line(self, line: str) -> None:
        self.close()
        self._write(f"{self.indent}{line}\n")

    def _write(self, text: str) -> None:
        click.echo(text, nl=False)
        sys.stdout.flush()


class Quiet(Display):
    """Keeps stdout for the answer: calls are printed on stderr, a line each."""

    def streamed(self, event: Any) -> None:
        pass

    def result(self, event: Event) -> None:
        pass

    def call(self, block: Mapping[str, Any]) -> None:
        self.note(f"● {call_text(dict(block))}")


def answer_of(event: Event) -> str:
    """Return the text of a reply."""
    return plain_text(blocks(content_of(event.data.get("content"))))
