"""What every page is made with, and what it says where it cannot be made."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from foldlog.cli.serve.addresses import Addresses
from foldlog.cli.serve.moment import Moment
from foldlog.cli.serve.readers import Reader
from foldlog.cli.serve.rendering import rendered
from foldlog.eventstore import Store

HEAD = "head"
"""The moment that is shown if none is named: now."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What a page is made with.

    Attributes:
        reader: A store for this request alone.
        place: Its name, as people are shown it.
        keeping: Lends a store that can keep its search index.
        form: What a form must hold to change anything; None where nothing may be changed.
    """

    reader: Reader
    place: str
    keeping: Callable[[], AbstractContextManager[Store]]
    form: str | None = None

    def moment(self, session: str, name: str | None) -> Moment:
        """Return a session at a moment that an address names; now, if it names none."""
        version = self.reader.version(session, name or HEAD)
        return Moment(self.reader.store, self.reader.view(session, version), Addresses())


def number(text: str | None) -> int | None:
    """Return a number that an address holds; None for anything else."""
    digits = (text or "").removeprefix("-")
    is_number = digits.isascii() and digits.isdecimal() and len(digits) < 19
    return int(text) if text and is_number else None


def problem(
    request: Request, message: str, status: HTTPStatus, instead: str | None = None
) -> Response:
    """Return the page, or the part of one, that says why something cannot be shown.

    Args:
        instead: The address of what can be shown.
    """
    template = "problem_part.html" if "HX-Request" in request.headers else "problem_page.html"
    return rendered(template, status, message=message, instead=instead)
