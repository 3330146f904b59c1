"""The names of formats on the command line: other packages may bring more of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from foldlog.cli import formats
from foldlog.cli.output import note
from foldlog.cli.safe import one_line


class FormatName(click.ParamType[str]):
    """The name of a format, looked up when it is used.

    Args:
        registry: The formats that may be named.
        more: Other names that may be given.
        aliases: Further names of formats: one program's files may be known by several.
    """

    name = "format"

    def __init__(
        self, registry: Collection[str], *more: str, aliases: Mapping[str, str] | None = None
    ) -> None:
        self._registry = registry
        self._more = more
        self._aliases = aliases or {}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        name = str(self._aliases.get(value, value))
        if name not in self._more and name not in self._registry:
            self._refuse(name, param, ctx)
        return name

    def _refuse(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> NoReturn:
        why = formats.problems().get(value)
        if why is not None:
            self.fail(f"the format {value!r} cannot be used: {why}.", param, ctx)
        known = ", ".join(self._names())
        self.fail(f"unknown format {value!r}; choose from {known}.", param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(name) for name in self._names() if name.startswith(incomplete)]

    def _names(self) -> list[str]:
        return [*self._more, *self._registry, *self._aliases]


class HelpWithFormats(click.Command):
    """A command whose help lists the formats.

    Args:
        formats: Their names.
    """

    def __init__(self, *args: Any, formats: Collection[str], **options: Any) -> None:
        super().__init__(*args, **options)
        self._formats = formats

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        formatter.write_text(f"Formats: {', '.join(self._formats)}.")
        for problem in _problems():
            formatter.write_text(problem)


def note_problems() -> None:
    """Report the formats of other packages that cannot be used."""
    for problem in _problems():
        note(problem)


def _problems() -> list[str]:
    return [
        one_line(f"The format {name!r} cannot be used: {why}.")
        for name, why in formats.problems().items()
    ]
