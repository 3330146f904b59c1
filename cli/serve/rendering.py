"""Pages from templates: those of this server, with the fragments and the style of the export."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse

from foldlog.cli.formats.html.code import code
from foldlog.cli.formats.html.environment import environment, file
from foldlog.cli.formats.html.fragments import STATES, Fragments
from foldlog.cli.local_time import clock, zone
from foldlog.cli.safe import one_line, shortened
from foldlog.cli.serve.addresses import address
from foldlog.cli.serve.chart import NAMES
from foldlog.cli.serve.prices import Price

HERE = Path(__file__).parent
TEMPLATES = HERE / "templates"

TYPES = {"css": "text/css", "js": "text/javascript"}


class Asset(NamedTuple):
    """A style or a script: its content, and its type."""

    content: str
    type: str


@cache
def assets() -> dict[str, Asset]:
    """Return the styles and scripts by name; those of the export are shared."""
    own = {path.name: path.read_text("utf-8") for path in sorted((HERE / "static").iterdir())}
    shared = {name: file(name) for name in ("page.css", "theme.js")}
    return {
        name: Asset(content, TYPES[name.rpartition(".")[2]])
        for name, content in {**own, **shared}.items()
        if name.rpartition(".")[2] in TYPES
    }


@cache
def version_of_assets() -> str:
    """Return a name that changes with the content of any asset: browsers keep them by it."""
    return sha256("".join(asset.content for asset in assets().values()).encode()).hexdigest()[:16]


def asset_address(name: str) -> str:
    """Return where an asset is."""
    return f"/static/{version_of_assets()}/{name}"


def rendered(template: str, status: HTTPStatus = HTTPStatus.OK, **values: Any) -> HTMLResponse:
    """Return the page or fragment that a template makes."""
    made = (
        environment(TEMPLATES)
        .get_template(template)
        .render(
            **values,
            address=address,
            asset=asset_address,
            states=STATES,
            clock=clock,
            zone=zone(),
            line=one_line,
            short=shortened,
            money=money,
            token_kinds=NAMES,
        )
    )
    return HTMLResponse(made.encode("utf-8", "backslashreplace"), status)


def warm_up() -> None:
    """Load what the first page would wait for: templates, prices, the colours of code."""
    for name in environment(TEMPLATES).list_templates(["html"]):
        environment(TEMPLATES).get_template(name)
    Fragments().seen([{"type": "text", "text": "*x*"}])
    assets()
    for language in ("bash", "python"):
        code("x", language=language)
    Price.of(COMMON, 1, 0)


COMMON = "claude-sonnet-4-5"
"""A model whose price is known: looking one up loads all of them."""


def money(dollars: Any) -> str:
    """Return an amount in dollars with two digits that say something."""
    amount = float(dollars)
    digits = next((n for n in (2, 3, 4, 5) if amount >= 10 ** (1 - n)), 6)
    return f"${amount:,.{digits}f}"


def is_fragment(request: Request, target: str) -> bool:
    """Return whether a script asks for a part of a page, to put it where ``target`` is."""
    return request.headers.get("HX-Target") == target
