"""The generated parts of the documentation: what cog asks for, told by the program itself.

Each function prints Markdown. ``make docs`` writes the pages anew; ``make lint`` fails where a page
does not say what the program says.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import re
from contextlib import redirect_stdout
from dataclasses import is_dataclass
from functools import cached_property
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent, wrap
from typing import Any, get_args

from click.testing import CliRunner

from foldlog import EventStore, Session
from foldlog.cli import main
from foldlog.eventstore import FoldlogError, codec, dictionary, query, testing
from foldlog.projections.mending import RULES
from tests.cli import demo

WIDTH = 96
"""The width of generated listings, in characters."""


def fence(text: str, language: str = "text") -> None:
    """Print text as a block of code."""
    print(f"\n```{language}\n{text.strip()}\n```")


def table(*rows: tuple[Any, ...]) -> None:
    """Print rows as a table; the first one is its heading."""
    head, *body = rows
    print()
    for row in (head, ("---",) * len(head), *body):
        print("|", " | ".join(str(cell) for cell in row), "|")


def example(code: str, names: dict[str, Any] | None = None) -> dict[str, Any]:
    """Print code and what it prints when it is run; the names that it defines are returned.

    Args:
        names: What the code finds defined: the names of an earlier example on the page.
    """
    code = dedent(code).strip()
    names = {} if names is None else names
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(code, "<example>", "exec"), names)
    fence(code, "python")
    if printed.getvalue():
        fence(printed.getvalue())
    return names


# -- the event format ----------------------------------------------------------------------------


def file() -> None:
    """What marks a file as a store, and the tables and triggers of a new one."""
    with EventStore(":memory:") as store:
        application, version = (
            store.db.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("application_id", "user_version")
        )
        statements = [
            row[0]
            for row in store.db.execute(
                "SELECT sql FROM sqlite_master"
                " WHERE tbl_name NOT LIKE '\\_%' ESCAPE '\\' AND sql <> ''"
                " ORDER BY CASE type WHEN 'table' THEN 1 WHEN 'index' THEN 2 ELSE 3 END, rowid"
            )
        ]
    table(
        ("pragma", "value"),
        ("`application_id`", f"`0x{application:08x}`"),
        ("`user_version`", version),
    )
    fence(";\n".join(statements) + ";", "sql")


def sql_functions() -> None:
    """The SQL functions, as their module lists them."""
    print("\n" + "\n".join(re.findall(r"^\* .*;?$", query.__doc__ or "", re.MULTILINE)))


def limits() -> None:
    """The numbers that decide how a body is stored."""
    table(
        ("", ""),
        ("a string becomes a payload from", f"{codec.PAYLOAD_BYTES} bytes on"),
        ("a frame is tried from", f"{codec.COMPRESS_BYTES} bytes on"),
        ("the id of the dictionary", f"`0x{dictionary.NUMBER:X}`"),
        ("the dictionary", f"`foldlog/eventstore/{dictionary.FILE.name}`"),
        ("its SHA-256", f"`{hashlib.sha256(dictionary.FILE.read_bytes()).hexdigest()}`"),
    )


def canonical_form() -> None:
    """The canonical form of a request, in the words of the module that makes it."""
    module = import_module("foldlog.projections.digest")
    print("\n" + (module.__doc__ or "").partition("\n\n")[2].strip())


def repairs() -> None:
    """Every repair, and what it does."""
    table(("rule", "what it does"), *((f"`{name}`", text) for name, text in RULES.items()))


# -- Python --------------------------------------------------------------------------------------


def reference(*modules: str) -> None:
    """The public names of modules, each told where it comes first: signatures and what they do."""
    told: set[str] = {error.__name__ for error in _errors()}
    for module in modules:
        names = [name for name in import_module(module).__all__ if name not in told]
        told.update(names)
        names.sort(key=lambda name: (not name[0].isupper(), name))
        found = ["\n".join(_described(n, getattr(import_module(module), n))) for n in names]
        print(f"\n### `{module}`")
        fence("\n\n".join(found), "python")


def errors() -> None:
    """Every error, what it is a kind of, and when it is raised."""
    rows = [
        (f"`{error.__name__}`", f"`{error.__bases__[0].__name__}`", summary(error))
        for error in _errors()
    ]
    table(("error", "is a", "when"), *rows)


def summary(thing: object) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())


class _Bare(str):
    """An annotation that is told as it is written, without quotes."""

    def __repr__(self) -> str:
        return str(self)


def signature(name: str, thing: Any, indent: int = 0) -> str:
    """A signature as it stands in a file: on one line, or one parameter a line."""
    parameters, marked = [], False
    found = inspect.signature(thing)
    for parameter in found.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not marked:
            parameters.append("*")
        marked = marked or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        told = str(parameter.replace(annotation=_Bare(parameter.annotation)))
        parameters.append(told.replace("<factory>", "{}"))
    returned = found.return_annotation
    result = "" if returned in (inspect.Signature.empty, None, "None") else f" -> {returned}"
    line = f"{name}({', '.join(parameters)}){result}"
    if indent + len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {p},\n" for p in parameters) + f"){result}"


def _described(name: str, thing: Any) -> list[str]:
    """A public name and what it is, as comments and signatures."""
    if get_args(thing):
        return [f"{name} = {' | '.join(kind.__name__ for kind in get_args(thing))}"]
    lines = [*signature(name, thing).split("\n"), *_comment(thing, 0)]
    if inspect.isclass(thing) and not is_dataclass(thing):
        for method, function in vars(thing).items():
            if not method.startswith("_"):
                lines += [f"    {line}" for line in _member(method, function)]
    return lines


def _comment(thing: object, indent: int) -> list[str]:
    return [f"    # {line}" for line in wrap(summary(thing), WIDTH - 6 - indent)]


def _member(name: str, member: Any) -> list[str]:
    """A method or property of a class."""
    if isinstance(member, property | cached_property):
        getter = member.fget if isinstance(member, property) else member.func
        assert getter is not None
        return [f".{name}: {inspect.signature(getter).return_annotation}", *_comment(member, 4)]
    if isinstance(member, classmethod | staticmethod):
        member = member.__func__
    if not inspect.isfunction(member):
        return []
    return [*signature(f".{name}", member, 4).split("\n"), *_comment(member, 4)]


def _errors() -> list[type[FoldlogError]]:
    import_module("foldlog.projections.compaction")  # has errors of its own
    found = [FoldlogError]
    for error in found:
        found.extend(error.__subclasses__())
    return sorted(found, key=lambda error: (error is not FoldlogError, error.__name__))


# -- backends ------------------------------------------------------------------------------------


def conformance() -> None:
    """Each class of tests that a backend can inherit, what it promises, how many tests it has."""
    classes = [
        found
        for found in vars(testing).values()
        if inspect.isclass(found) and issubclass(found, testing.Conformance)
        if found is not testing.Conformance
    ]
    table(
        ("class", "promise", "tests"),
        *((f"`{found.__name__}`", summary(found), _tests(found)) for found in classes),
    )


def conformance_example() -> None:
    """How the classes are inherited, as their module shows it."""
    code = (testing.__doc__ or "").partition("::\n")[2]
    shown = takewhile(lambda line: line[:1] in ("", " "), code.split("\n"))
    fence(dedent("\n".join(shown)), "python")


def protocol() -> None:
    """The methods of a backend and what ``EventStore`` says of each."""
    lines: list[str] = []
    for name, method in vars(testing.Backend).items():
        if inspect.isfunction(method) and not name.startswith("_"):
            lines += _member(name, getattr(EventStore, name))
    fence("\n".join(lines), "python")


def _tests(found: type) -> int:
    return sum(name.startswith("test_") for name in dir(found))


# -- the command line ----------------------------------------------------------------------------

ANSWERS: dict[str, dict[str, list[str]]] = {
    "import": {"": ["{file}"]},
    "sessions": {"": [""]},
    "log": {"": ["demo-1", "torn"]},
    "show": {"": ["demo-1 4", "torn 2"], "of a handle with a block": ["foldlog:demo-1/8#1"]},
    "search": {"": ["tests"]},
    "stats": {"of a session": ["demo-1"], "of the store": [""]},
    "view": {f"--as {kind}": [f"demo-1 --as {kind}"] for kind in ("request", "pieces", "text")},
    "diff": {"": ["demo-1 10 13", "demo-1 1 4"]},
    "why": {"": ["demo-1 7"]},
    "verify": {"": ["torn --expect sha256:0", "demo-1 --views"]},
    "fork": {"": ["demo-1 --at 9"]},
    "rewind": {"": ["demo-1 16"]},
    "recover": {"": ["demo-1"]},
    "expand": {"": ["demo-1 7"]},
    "pin": {"": ["demo-1 10"]},
    "unpin": {"": ["demo-1 10"]},
    "rename": {"": ["demo-1 another"]},
    "tag": {"": ["demo-1 a-tag"]},
}
"""For each command with ``--json`` and each form of its answer: the arguments that it is run with,
to see what it answers."""


def commands() -> None:
    """Every command: its help, and the keys of its JSON as it really answers."""
    for title, names in main.SECTIONS.items():
        print(f"\n## {title}")
        for name in names:
            print(f"\n### `foldlog {name}`")
            fence(_invoke(name, "--help"))
            for form, runs in ANSWERS.get(name, {}).items():
                keys = _keys([answer for run in runs for answer in _answers(name, run)])
                told = (
                    f"`--json {form}`" if form.startswith("-") else f"`--json`{form and ' '}{form}"
                )
                print(f"\n{told}: {keys}.")


def _answers(name: str, arguments: str) -> list[dict[str, Any]]:
    """What a command answers on a store that holds a bit of everything."""
    with TemporaryDirectory() as folder:
        where, file = str(Path(folder, "sessions.db")), Path(folder, "torn.jsonl")
        file.write_text(TORN, encoding="utf-8")
        with EventStore(where, clock=demo.clock()) as store:
            demo.record(store)
            if name == "unpin":
                Session(store, "demo-1").pin(10)
        if name != "import":
            _invoke("--db", where, "import", str(file))
        given = [part.format(file=file) for part in arguments.split()]
        printed = _invoke("--db", where, name, *given, "--json")
    return [codec.loads(line) for line in printed.splitlines()]


def _keys(answers: list[dict[str, Any]]) -> str:
    """The keys of answers, and what each holds."""
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
    """What values are, in a word; what the objects in a list hold."""
    names: list[str] = []
    for value in [value for value in values if value != []] or values:
        if isinstance(value, list) and value and isinstance(value[0], dict) and len(value[0]) < 6:
            names.append(f"[{{{', '.join(value[0])}}}]")
        else:
            names.append(KINDS[type(value)])
    return " or ".join(sorted(dict.fromkeys(names), key=lambda name: name == "null"))


KINDS = {
    str: "text",
    bool: "true or false",
    int: "integer",
    float: "number",
    list: "list",
    dict: "object",
    type(None): "null",
}


def _invoke(*arguments: str) -> str:
    """What the command line prints on stdout."""
    result = CliRunner().invoke(
        main.foldlog, arguments, prog_name="foldlog", terminal_width=80, max_content_width=80
    )
    assert result.exit_code in (0, 1), (arguments, result.stderr)
    return result.stdout
