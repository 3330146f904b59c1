"""Text stays inside its place in a Markdown page: judged by a CommonMark parser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from foldlog.cli.formats.markup import code_block, code_span, details, in_line, prose

PARTS = [
    *("`", "``", "```", "~~~", "````", "\\`", "\\", "|", "a", "<b>", "<!--", "</details>", "-->"),
    *(
        "\n",
        "\n\n",
        "    ",
        "  ",
        " ",
        "- ",
        "1. ",
        "> ",
        "# ",
        "---",
        "\t",
        "python",
        "[x]: ",
        "|-|",
    ),
    *("![", "](", ")", "*", "_", "<script>", "<a href='`'>", "&lt;", "\r\n"),
]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=25).map("".join)
END = "# the end"


def parsed(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(text)


def every(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from every(token.children or [])


def stays_inside(markdown: str) -> bool:
    """No HTML and no image, and what comes after it is a heading of the page."""
    tokens = parsed(f"{markdown}\n\n{END}")
    html = [token for token in every(tokens) if token.type.startswith(("html", "image"))]
    heading = [token.type for token in tokens[-3:]] == ["heading_open", "inline", "heading_close"]
    return not html and heading and tokens[-3].level == 0


@settings(max_examples=600)
@example("a ` b\n` <img> ` c")  # the first tick closes in the next line
@example("a \\` b ` <img> ` c")  # an escaped tick opens nothing
@example("| a | b |\n|-|-|\n| `x | <b>` |")  # a cell ends the span
@example("- a\n  ```\n<script>\n  ```")  # the list ends, and its fence with it
@example("- a\n  ```\n     ```\n  <script>\n  ```")  # closed, since the list is indented
@example("a\n    ~~~\n    <script>")  # the paragraph goes on
@example("- ~~~\n  ~~~\n  <script>\n  ~~~")  # the first fence stands behind a list's mark
@example("> ```\n<script>")  # the quote ends, and its fence with it
@example("~~~\n```\n<b>\n~~~\n<b>")
@example("``` a`b\n<b>")  # an info string with a tick makes no fence
@example("![a](b)")
@example("\\![a](b)")  # the backslash must not take the place of the one that is put in
@example("![x]\n\n[x]: a")
@given(TEXTS)
def test_prose_brings_no_html_and_leaves_nothing_open(text: str) -> None:
    assert stays_inside(prose(text))


@given(TEXTS)
def test_fenced_text_is_one_block_of_code(text: str) -> None:
    (token,) = parsed(code_block(text))
    assert token.type == "fence"
    assert token.content == text.replace("\r\n", "\n") + "\n"


@given(TEXTS.filter(str.strip))
def test_a_code_span_is_one_span(text: str) -> None:
    (inline,) = [token for token in parsed(code_span(text)) if token.type == "inline"]
    assert [token.type for token in inline.children or []] == ["code_inline"]


@pytest.mark.parametrize(
    "text",
    [
        "Use `List<String>` here, a < b there.",
        "```html\n<p>&</p>\n```\nand <p>",
        "1. first\n   ```sh\n   cat <in >out\n   ```\n2. second",
        "| a | b |\n|---|---|\n| 1 | 2 |",
    ],
)
def test_common_markdown_keeps_its_form(text: str) -> None:
    shown = prose(text)
    assert stays_inside(shown)
    assert not shown.startswith("```\n"), "it is not shown as code"


def test_code_keeps_its_signs() -> None:
    assert "if a < b:" in prose("```\nif a < b:\n```")
    assert "`List<String>`" in prose("Use `List<String>`.")


def test_an_image_shows_the_address_that_it_would_load() -> None:
    (inline,) = [t for t in parsed(prose("See ![a](https://x.example/y.png).")) if t.children]
    assert inline.children is not None
    assert "https://x.example/y.png" in "".join(token.content for token in inline.children)
    assert "`![a](b)`" in prose("Write `![a](b)`.")


@given(TEXTS)
def test_a_line_stays_one_and_loads_nothing(text: str) -> None:
    assert "\n" not in in_line(text)
    assert stays_inside(f"x {in_line(text)}")


def test_an_open_fence_is_closed() -> None:
    assert prose("```python\nx = 1") == "```python\nx = 1\n```"


def test_folded_bodies_are_markdown() -> None:
    tokens = parsed(details("<code>x</code>", code_block("a")) + f"\n\n{END}")
    assert [token.type for token in tokens][:3] == ["html_block", "fence", "html_block"]
    assert tokens[-3].type == "heading_open"
