"""``bash``: run a command, bounded in time and output, and end all of it."""

from __future__ import annotations

import re

from foldlog.cli.agent.processes import Interrupted, Kept, Ran, run, shell
from foldlog.cli.agent.tool import Arguments, Context, Stopped, Tool, ToolFailed

TIMEOUT = 120
LONGEST = 600
"""Seconds that a command may take, and may be given: those of Claude Code."""

HEAD, TAIL = 10_000, 20_000
"""Bytes of output that are kept: 30,000 as in Claude Code, more of the end, where errors stand."""

BINARY = 0.1
"""From this part on of characters that no text has, output is taken for binary."""

_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f\ufffd]")


def bash(arguments: Arguments, context: Context) -> str:
    """Run the command; a failing one is a failed call."""
    timeout = arguments.get("timeout", TIMEOUT)
    output = Kept(HEAD, TAIL)
    try:
        command = [shell(), "-c", arguments["command"]]
        ran = run(command, cwd=context.cwd, timeout=timeout, output=output)
    except Interrupted as stop:
        raise Stopped(printed(output)) from stop
    except (OSError, ValueError) as error:
        raise ToolFailed(f"The command cannot be started: {error}.") from error
    text = f"{printed(output)}\n{ending(ran, timeout)}".lstrip("\n")
    if ran.code or ran.timed_out:
        raise ToolFailed(text)
    return text


def printed(output: Kept) -> str:
    """Return what a command printed, its middle left out where it is long."""
    head, left, tail = output.ends()
    first, last = head.decode(errors="replace"), tail.decode(errors="replace")
    if len(_NO_TEXT.findall(first + last)) > BINARY * len(first + last):
        return f"[{output.total:,} bytes of binary output, not shown. Send it to a file.]"
    middle = f"\n[… {left:,} bytes left out; send output to a file to read all of it …]\n"
    whole = f"{first}{middle}{last}" if left else (head + tail).decode(errors="replace")
    return _NO_TEXT.sub(_written_out, whole).rstrip()


def ending(ran: Ran, timeout: float) -> str:
    """Return how a command ended."""
    if ran.timed_out:
        return (
            f"[Ended after {timeout:g} seconds, with all that it started. Give a longer timeout"
            f" (at most {LONGEST}), or do less at once.]"
        )
    left = " [What it left in the background was ended.]" if ran.left else ""
    if ran.code < 0:
        return f"[ended by signal {-ran.code}]{left}"
    return f"[exit code {ran.code}]{left}"


def _written_out(found: re.Match[str]) -> str:
    return found[0] if found[0] == "\ufffd" else f"\\x{ord(found[0]):02x}"


BASH = Tool(
    name="bash",
    description=(
        "Run a command in a shell. It begins in the session's folder each time, has no standard"
        " input, and what it leaves in the background is ended with it. Of long output the"
        " beginning and the end are given."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "command": {"type": "string", "minLength": 1, "description": "The command."},
            "timeout": {
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": LONGEST,
                "description": f"Seconds that it may take; {TIMEOUT} without.",
            },
            "description": {
                "type": "string",
                "description": "What it is for, in a few words, for a person who is asked.",
            },
        },
        "required": ["command"],
        "additionalProperties": False,
    },
    run=bash,
    writes=True,
    touches=lambda arguments, context: str(arguments["command"]),
)
