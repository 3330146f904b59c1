"""Code as HTML: its words in a few classes, which the page's style colours for day and night."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from markupsafe import Markup
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment, Generic, Keyword, Literal, Name, Number, Operator, String
from pygments.util import ClassNotFound

from foldlog.cli.formats.html.environment import text

LONGEST = 60_000
"""Characters of code that are coloured; longer code is plain. Chosen: it takes about 0.1 s."""

CLASSES = {
    kind: name
    for name, kinds in {
        "b": (Keyword.Type, Name.Attribute, Name.Builtin),
        "c": (Comment,),
        "f": (Name.Class, Name.Decorator, Name.Function),
        "gd": (Generic.Deleted,),
        "gi": (Generic.Inserted,),
        "k": (Generic.Heading, Generic.Subheading, Keyword, Name.Tag, Operator.Word),
        "m": (Literal.Date, Number),
        "s": (String,),
        "v": (Name.Variable,),
    }.items()
    for kind in kinds
}
"""The class of each kind of word; a kind that is not here has that of the kind it belongs to."""


def code(source: str, *, language: str = "", path: str = "") -> Markup:
    """Return code as HTML for a ``<code>`` element.

    Args:
        source: The code.
        language: What a fence calls it; nothing: not known.
        path: The file that it comes from, if no language is named.
    """
    lexer = _lexer(language, path.rsplit("/", 1)[-1]) if len(source) <= LONGEST else None
    return text(source) if lexer is None else Markup("").join(_words(lexer, source))


def _words(lexer: Lexer, source: str) -> Iterator[Markup]:
    for kind, words in lexer.get_tokens(source):
        name = _class(kind)
        yield Markup('<i class="{}">{}</i>').format(name, text(words)) if name else text(words)


@cache
def _class(kind: Any) -> str:
    while kind is not None:
        if kind in CLASSES:
            return CLASSES[kind]
        kind = kind.parent
    return ""


@cache
def _lexer(language: str, filename: str) -> Lexer | None:
    options: dict[str, Any] = {"stripnl": False, "ensurenl": False}
    try:
        if language:
            return get_lexer_by_name(language, **options)
        return get_lexer_for_filename(filename, **options) if filename else None
    except ClassNotFound:
        return None
