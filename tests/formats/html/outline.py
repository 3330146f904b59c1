"""A page as an outline: its elements by name, class and id, and its texts; no style or script."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = frozenset({"meta", "link", "input", "img", "br", "hr", "rect", "circle", "path", "line"})
SHOWN = ("id", "href", "src", "role", "aria-label", "open", "tabindex")


class Outline(HTMLParser):
    """Reads a page; ``lines`` is its outline, ``tags`` counts every element with its attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._path: list[str] = []
        self.feed(page)
        self.close()
        assert self._path == [], f"not closed: {self._path}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.elements.append((tag, given))
        name = ".".join([tag, *(given.get("class") or "").split()])
        more = "".join(f" {key}={(given[key] or '')[:60]!r}" for key in SHOWN if key in given)
        self._write(f"<{name}{more}>")
        if tag not in VOID:
            self._path.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._path.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        inside = self._path[-1] if self._path else ""
        if data.strip() and inside not in ("style", "script"):
            self._write(" ".join(data.split())[:100])

    def _write(self, line: str) -> None:
        self.lines.append("  " * len(self._path) + line)
