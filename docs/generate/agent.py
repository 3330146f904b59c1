"""The generated parts of docs/agent.md."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent

from docs.generate.markdown import fence, table
from docs.generate.place import VARIES, printed

SCRIPT = """
model = "claude-opus-5-5"

[[reply]]
text = "I look."
calls = [
    { name = "bash", input = { command = "echo one two" } },
    { name = "bash", input = { command = "rm -rf /" } },
]

[[reply]]
errors = ["overloaded"]
text = "They are one and two."
"""

COMMANDS = (
    "foldlog chat -p 'What are the words?' --model scripted:words.toml --allow 'bash(echo *)'",
    "foldlog log last --type tool.result",
    "foldlog verify last --views",
)


def slash_commands() -> None:
    """Print what can be said to the agent itself."""
    slash = import_module("foldlog.cli.agent.slash")
    table(("", ""), *((f"`{usage}`", meaning) for usage, meaning in slash.HELP.items()))


def script_format() -> None:
    """Print the format of a script, in the words of the module that plays it."""
    module = import_module("foldlog.cli.agent.scripted")
    shown = re.search(r"^    model = .*?(?=^\S)", module.__doc__ or "", re.MULTILINE | re.DOTALL)
    assert shown is not None
    fence(dedent(shown[0]), "toml")


def scripted_session() -> None:
    """Print a session that is played from a script, as it is printed."""
    fence(SCRIPT, "toml")
    with TemporaryDirectory() as folder:
        Path(folder, "words.toml").write_text(SCRIPT, encoding="utf-8")
        said = [line for command in COMMANDS for line in (f"$ {command}", printed(command, folder))]
    fence(VARIES.sub("…", "\n".join(said)))
