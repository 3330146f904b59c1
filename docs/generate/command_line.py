"""Every command of docs/cli.md: its help, and what it really answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from click.testing import CliRunner

from docs.generate.markdown import fence
from foldlog import EventStore, Session
from foldlog.cli import main
from foldlog.eventstore import codec
from tests.cli import demo

ANSWERS: dict[str, dict[str, list[str]]] = {
    "import": {"": ["{file}"]},
    "sessions": {"": [""]},
    "log": {"": ["demo-1", "torn"]},
    "show": {"": ["demo-1 4", "torn 2"], "of a handle with a block": ["foldlog:demo-1/8#1"]},
    "search": {"": ["tests"]},
    "stats": {"of a session": ["demo-1"], "of the store": ["--by day"]},
    "view": {f"--as {kind}": [f"demo-1 --as {kind}"] for kind in ("request", "pieces", "text")},
    "diff": {"": ["demo-1 10 13", "demo-1 1 4"]},
    "why": {"": ["demo-1 7"]},
    "verify": {"": ["torn --expect sha256:0", "demo-1 --views"]},
    "fork": {"": ["demo-1 --at 9"]},
    "rewind": {"": ["demo-1 16"]},
    "recover": {"": ["demo-1"]},
    "handoff": {"": ["demo-1 --to codex --dry-run"]},
    "compact": {"": ["long --policy codex", "long --policy codex --dry-run"]},
    "policies": {"": [""]},
    "tasks": {"": ["release"]},
    "expand": {"": ["demo-1 7"]},
    "pin": {"": ["demo-1 10"]},
    "unpin": {"": ["demo-1 10"]},
    "doctor": {"": [""]},
    "rename": {"": ["demo-1 another"]},
    "tag": {"": ["demo-1 a-tag"]},
}
"""For each command with ``--json`` and each form of its answer: the arguments that it is run with,
to see what it answers."""

ENDLESS = {"serve": "`url` text"}
"""Commands with ``--json`` that run until they are stopped: the keys of what they print first."""


def commands() -> None:
    """Print every command: its help, and the keys of its JSON as it really answers."""
    for title, names in main.SECTIONS.items():
        print(f"\n## {title}")
        for name in names:
            print(f"\n### `foldlog {name}`")
            fence(invoke(name, "--help"))
            for form, runs in ANSWERS.get(name, {}).items():
                keys = _keys([answer for run in runs for answer in _answers(name, run)])
                told = (
                    f"`--json {form}`" if form.startswith("-") else f"`--json`{form and ' '}{form}"
                )
                print(f"\n{told}: {keys}.")
            if name in ENDLESS:
                print(f"\n`--json`: {ENDLESS[name]}.")


def _answers(name: str, arguments: str) -> list[dict[str, Any]]:
    """Return what a command answers on a store that holds a bit of everything."""
    with TemporaryDirectory() as folder:
        where, file = str(Path(folder, "sessions.db")), Path(folder, "torn.jsonl")
        file.write_text(TORN, encoding="utf-8")
        with EventStore(where, clock=demo.clock()) as store:
            demo.record(store)
            FOUND.get(name, lambda _: None)(store)
        if name != "import":
            invoke("--db", where, "import", str(file))
        given = [part.format(file=file) for part in arguments.split()]
        printed = invoke("--db", where, name, *given, "--json")
    return [codec.loads(line) for line in printed.splitlines()]


FOUND: dict[str, Callable[[EventStore], object]] = {
    "unpin": lambda store: Session(store, "demo-1").pin(10),
    "compact": demo.record_long,
    "tasks": demo.record_tasks,
}
"""What a command has to find in the store, beside the demo."""


def _keys(answers: list[dict[str, Any]]) -> str:
    """Return the keys of answers, and what each holds."""
    keys = dict.fromkeys(key for answer in answers for key in answer)
    return ", ".join(
        f"`{key}` {_shape([answer[key] for answer in answers if key in answer])}" for key in keys
    )


TORN = """\
{"type":"user","uuid":"a","parentUuid":"z","message":{"role":"user","content":"hi"}}
{"type":
{"type":"user","uuid":"b","parentUuid":"a","message":{"role":"user","content":"there"}}
"""
"""A transcript with a line that cannot be read, and one whose parent is not there."""


def _shape(values: list[Any]) -> str:
    """Return what values are, in a word; what the objects in a list hold."""
    names: list[str] = []
    for value in [value for value in values if value != []] or values:
        if _is_table(value):
            names.append(f"[{{{', '.join(value[0])}}}]")
        else:
            names.append(KINDS[type(value)])
    return " or ".join(sorted(dict.fromkeys(names), key=lambda name: name == "null"))


def _is_table(value: Any) -> bool:
    """Return whether a value is a list of objects with the same few keys."""
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        return False
    return len({tuple(entry) for entry in value}) == 1 and len(value[0]) < 6


KINDS = {
    str: "text",
    bool: "true or false",
    int: "integer",
    float: "number",
    list: "list",
    dict: "object",
    type(None): "null",
}


def invoke(*arguments: str) -> str:
    """Return what the command line prints on stdout."""
    result = CliRunner().invoke(
        main.foldlog, arguments, prog_name="foldlog", terminal_width=80, max_content_width=80
    )
    assert result.exit_code in (0, 1), (arguments, result.stderr)
    return result.stdout
