"""Markdown of a transcript as HTML that loads nothing, runs nothing and names nothing.

Its HTML shows as text, its images as the addresses that they would load. Links lead to web and mail
addresses only; headings are below those of the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup

from foldlog.cli.formats.html.code import code
from foldlog.cli.formats.html.environment import text
from foldlog.cli.safe import safe, shortened

LINKS = ("https://", "http://", "mailto:")
"""What the address of a link begins with; other links show as they are written."""

LONGEST = 400_000
"""Characters of Markdown that are rendered; a longer text is shown as it is."""

BELOW = 3
"""Levels by which headings are lowered: the page has a title, and each speaker has one."""


def markdown(words: str) -> Markup:
    """Return Markdown as HTML."""
    if len(words) > LONGEST:
        return Markup('<pre class="plain">{}</pre>').format(text(words))
    return Markup(_parser().render(safe(words)))


def plain(words: str, chars: int) -> str:
    """Return the beginning of Markdown as plain text on one line, without its signs."""
    tokens = _parser().parse(safe(words[: 20 * chars]))
    said = (_said(token) for token in tokens)
    return shortened(" ".join(filter(None, said)), chars)


def _said(token: Token) -> str:
    if token.type in ("fence", "code_block", "html_block"):
        return token.content
    parts = (child.content or " " * child.type.endswith("break") for child in token.children or ())
    return "".join(parts)


@cache
def _parser() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer)
    made.enable(["table", "strikethrough"])
    made.validateLink = _is_link  # type: ignore[assignment,method-assign]
    return made


def _is_link(address: str) -> bool:
    return address.lower().startswith(LINKS)


class _Renderer(RendererHTML):
    """Renders tokens; named as the library names them."""

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Show what an image is called and its address. It is not loaded."""
        token = tokens[idx]
        name = self.renderInlineAsText(token.children or [], options, env)
        address = str(token.attrGet("src") or "")
        return str(_IMAGE.format(text(name), text(address)))

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Show a block of code, coloured if its language is known."""
        token = tokens[idx]
        language = token.info.split()[0] if token.info.strip() else ""
        return str(_FENCE.format(text(language), code(token.content, language=language)))

    def code_block(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """Show an indented block of code."""
        return str(_FENCE.format("", text(tokens[idx].content)))

    def heading_open(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        return f"<{_lowered(tokens[idx].tag)}>"

    def heading_close(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        return f"</{_lowered(tokens[idx].tag)}>\n"

    def link_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        tokens[idx].attrs = {"href": tokens[idx].attrs["href"], "rel": "noreferrer noopener"}
        return self.renderToken(tokens, idx, options, env)

    def table_open(self, *_: Any) -> str:
        return '<div class="table" tabindex="0" role="region" aria-label="Table"><table>'

    def table_close(self, *_: Any) -> str:
        return "</table></div>\n"

    def th_open(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        return _cell("th", tokens[idx])

    def td_open(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        return _cell("td", tokens[idx])


_FENCE = Markup('<pre tabindex="0" data-language="{}"><code>{}</code></pre>\n')
_IMAGE = Markup('<span class="remote">image, not loaded: {} <code>{}</code></span>')


def _cell(tag: str, token: Token) -> str:
    """Open a cell; its alignment is a class, since the page allows no style in a tag."""
    side = str(token.attrGet("style") or "").rpartition(":")[2]
    return f'<{tag} class="{side}">' if side in ("left", "right", "center") else f"<{tag}>"


def _lowered(tag: str) -> str:
    return f"h{min(6, int(tag[1:]) + BELOW)}"
