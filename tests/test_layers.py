"""The folders name the architecture: cli → projections → eventstore, never back."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

LIBRARIES = {
    "eventstore": {"orjson", "pluggy", "pytest", "sqlite_utils", "zstandard"},
    "projections": {"anthropic", "anyio", "genai_prices", "httpx2", "pytest"},
    "cli": {
        *("aiohttp", "anthropic", "brotli", "brotlicffi", "click", "httpx2", "jsonschema"),
        *("google", "opentelemetry"),
        *("detect_secrets", "jinja2", "markdown_it", "markupsafe", "pygments"),
        *("mcp", "orjson", "pytest", "rich", "starlette", "uvicorn", "yarl", "zstandard"),
    },
}
"""What each layer may import from outside, the standard library apart; pytest is for the classes
of tests that each of them publishes."""

BELOW = {
    "eventstore": ("eventstore",),
    "projections": ("projections", "eventstore"),
    "cli": ("cli", "projections", "eventstore"),
}
"""The layers that each layer may import."""

SLOW = (
    *("aiohttp", "anthropic", "click", "genai_prices", "jsonschema", "mcp", "rich"),
    *("sqlite_utils", "sqlite3", "zstandard", "detect_secrets", "jinja2", "markdown_it"),
    *("pygments", "starlette", "uvicorn", "opentelemetry"),
)
"""Imported where they are used, so that a command which needs none of them starts at once."""


ROOMS = (
    *("testing", "session", "live", "recall", "compaction", "summaries", "tasks", "explain"),
    *("tokens", "render", "view", "wire", "registry", "installation"),
)
"""The rooms of projections, top down: each may import only those after it (types apart)."""


def imports(layer: str) -> Iterator[tuple[str, str]]:
    """(place, imported module) for each import of a layer, wherever it stands in a file."""
    for path in sorted((ROOT / layer).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            place = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Import):
                yield from ((place, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                module = "." * node.level + (node.module or "")
                yield from ((place, f"{module}.{alias.name}") for alias in node.names)


def room_imports() -> Iterator[tuple[str, str, str]]:
    """(place, room, imported room) for each import between rooms that runs."""
    folder = ROOT / "projections"
    for path in sorted(folder.rglob("*.py")):
        room = path.relative_to(folder).parts[0].removesuffix(".py")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in set(ast.walk(tree)) - set(only_types(tree)):
            if room in ROOMS and isinstance(node, ast.ImportFrom):
                names = (f"{node.module}.{alias.name}" for alias in node.names)
                for name in names:
                    layer, _, inner = name.removeprefix("foldlog.").partition(".")
                    other = inner.split(".")[0]
                    if layer == "projections" and other in ROOMS:
                        yield f"{path.relative_to(ROOT)}:{node.lineno}", room, other


def only_types(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run for type checkers only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            yield from (inner for part in node.body for inner in ast.walk(part))


def allowed(layer: str, module: str) -> bool:
    """Whether a layer may import a module."""
    root, _, rest = module.partition(".")
    if root == "foldlog":
        inner = rest.split(".")[0]
        return inner in BELOW[layer] or inner not in BELOW
    return root in sys.stdlib_module_names or root in LIBRARIES[layer]


@pytest.mark.parametrize("layer", BELOW)
def test_a_layer_imports_only_what_is_below_it(layer: str) -> None:
    assert [found for found in imports(layer) if not allowed(layer, found[1])] == []


@pytest.mark.parametrize(
    "module",
    ["foldlog.cli.main", "foldlog.projections", "eventstore.store", "click", ".events", "requests"],
)
def test_an_import_across_the_layers_is_seen(module: str) -> None:
    assert not allowed("eventstore", module)


def test_a_room_imports_only_the_rooms_below_it() -> None:
    found = list(room_imports())
    assert found
    assert [arrow for arrow in found if ROOMS.index(arrow[1]) > ROOMS.index(arrow[2])] == []


def test_every_room_has_its_place() -> None:
    folder = ROOT / "projections"
    rooms = {path.parent.name for path in folder.glob("*/__init__.py")}
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert rooms | modules == set(ROOMS)


@pytest.mark.parametrize(
    ("module", "may_load"), [("foldlog", ()), ("foldlog.cli.main", ("click",))]
)
def test_importing_loads_nothing_slow(module: str, may_load: tuple[str, ...]) -> None:
    code = f"import sys, {module}; print(*(set({SLOW}) & sys.modules.keys()))"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert loaded.returncode == 0, loaded.stderr
    assert set(loaded.stdout.split()) <= set(may_load)


def test_importing_everything_does_nothing(tmp_path: Path) -> None:
    """No prints, no files, no folders, whatever is imported."""
    names = [
        "foldlog." + path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
        for layer in BELOW
        for path in (ROOT / layer).rglob("*.py")
        if "testing" not in path.parts  # needs pytest
    ]
    code = f"import importlib\nfor name in {names!r}: importlib.import_module(name)"
    environment = {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, env=environment
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
    assert list(tmp_path.iterdir()) == []
