"""The templates, and the one way by which text from a transcript gets into a page.

Whatever a template shows is made safe first (what a terminal would obey or no one sees is written
out) and then escaped. Only what this package made itself is markup.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from foldlog.cli.safe import safe

TEMPLATES = Path(__file__).with_name("templates")


def text(words: str) -> Markup:
    """Return text of a transcript as HTML that shows it and does nothing."""
    return escape(safe(words))


def file(name: str) -> str:
    """Return a file of the templates' folder: a style or a script."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


@cache
def environment(*more: Path) -> Environment:
    """Return the environment that all templates share; ``more`` are searched after its folder."""
    made = Environment(
        loader=FileSystemLoader([TEMPLATES, *more]),
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["number"] = "{:,}".format
    made.filters["counted"] = _counted
    return made


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _finalize(value: Any) -> Any:
    return value if value is None or isinstance(value, Markup) else safe(str(value))
