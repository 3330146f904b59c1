"""The formats by name: those of this package, and those that other packages bring.

A package registers a format as an entry point of the group ``foldlog.formats``; its name is that on
the command line, its value a module or an object with the functions of an importer, an exporter or
both. Formats are loaded when they are used, so that a command which imports nothing pays nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar, cast

from foldlog.cli.formats.protocols import Exporter, FolderExporter, Importer, ViewExporter
from foldlog.eventstore.errors import SourceError
from foldlog.projections.registry import Registry

Offered = TypeVar("Offered")

GROUP = "foldlog.formats"
"""The group of entry points that other packages register formats in."""

PACKAGE = "foldlog.cli.formats"

BUILT_IN_IMPORTERS = {
    "claude-code": "claude_code",
    "codex": "codex",
    "foldlog": "foldlog",
    "opencode": "opencode",
    "openai-agents": "openai_agents",
    "llm": "llm",
    "goose": "goose",
    "qwen": "qwen",
    "gemini": "gemini",
    "openhands": "openhands",
    "droid": "droid",
    "cline": "cline",
    "copilot": "copilot",
    "atif": "atif.importing",
    "kimi": "kimi",
    "pi": "pi",
    "messages": "messages",
    "aider": "aider",
    "dsh": "dsh",
}
"""The module of each importer in this package. Detection asks them in this order."""

IMPORTER_ALIASES = {"claude-web": "claude-code"}
"""Further names of importers on the command line: sessions on the web have the same lines."""

BUILT_IN_EXPORTERS = {
    "markdown": "markdown",
    "html": "html",
    "jsonl": "jsonl",
    "claude-code": "claude_code",
    "codex": "codex.exporting",
    "opencode": "opencode.exporting",
    "pi": "pi.exporting",
    "openai": "openai.responses",
    "openai-chat": "openai.chat",
    "atif": "atif.exporting",
    "otel": "otel.exporting",
}
"""The module of each exporter in this package."""


class Formats(Mapping[str, Offered], Generic[Offered]):
    """Formats by name, in the order in which they are asked: those of this package first.

    Looking up a name of this package loads nothing else; listing the names loads what other
    packages registered, since only that says what a format offers.

    Args:
        kind: What the formats are, for errors.
        built_in: The module of each format in this package.
        offers: The protocols of an object from another package that is one.
    """

    def __init__(self, kind: str, built_in: Mapping[str, str], offers: tuple[type, ...]) -> None:
        self._kind = kind
        self._built_in = built_in
        self._offers = offers

    def __getitem__(self, name: str) -> Offered:
        if name in self._built_in:
            return cast("Offered", import_module(f"{PACKAGE}.{self._built_in[name]}"))
        return self._others()[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._built_in
        yield from self._others()

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def load(self, name: str) -> Offered:
        """Return the format of that name.

        Raises:
            SourceError: It is unknown, or it is broken; the error says why.
        """
        try:
            return self[name]
        except KeyError:
            why = problems().get(name)
        if why is not None:
            raise SourceError(f"the {self._kind} {name!r} cannot be used: {why}.")
        raise SourceError(f"unknown {self._kind} {name!r}; choose from {', '.join(self)}.")

    def _others(self) -> dict[str, Offered]:
        return {
            name: cast("Offered", found)
            for name, found in _ADDED.items()
            if isinstance(found, self._offers)
        }


IMPORTERS: Formats[Importer] = Formats("import format", BUILT_IN_IMPORTERS, (Importer,))
"""The formats that ``foldlog import`` reads."""

EXPORTERS: Formats[Exporter | FolderExporter | ViewExporter] = Formats(
    "export format", BUILT_IN_EXPORTERS, (Exporter, FolderExporter, ViewExporter)
)
"""The formats that ``foldlog export`` writes."""


def problems() -> dict[str, str]:
    """Return why formats of other packages cannot be used, by name."""
    return _ADDED.problems()


def reload() -> None:
    """Forget which formats other packages bring: they are looked up again when they are needed."""
    _ADDED.reload()


def _format(name: str, given: Any) -> Any:
    """Return what another package registered, if it is a format with a name of its own."""
    if name in BUILT_IN_IMPORTERS or name in BUILT_IN_EXPORTERS:
        raise ValueError("foldlog has a format of that name itself")
    if not isinstance(given, (Importer, Exporter, FolderExporter, ViewExporter)):
        raise TypeError(f"{given!r} has neither the functions of an importer nor of an exporter")
    return given


_ADDED: Registry[Any] = Registry("format", GROUP, _format)
