"""Texts cut to a size, with a note that says so."""

from __future__ import annotations

from foldlog.projections.tokens.estimate import estimate


def one_line(text: str, chars: int) -> str:
    """Return a text on one line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= chars else line[: max(0, chars - 1)].rstrip() + "…"


def middle(text: str, first: int, last: int) -> str:
    """Return the first and the last characters of a text, a note of what is missing between."""
    if len(text) <= first + last:
        return text
    missing = len(text) - first - last
    note = f"\n[… {missing:,} characters left out …]\n"
    return text[:first] + note + (text[-last:] if last else "")


def to_tokens(text: str, tokens: int, note: str = "") -> str:
    """Cut a text to at most so many estimated tokens, the note at its end included.

    A text that fits is given as it is. An empty text comes back where not even the note fits.
    """
    if estimate(text) <= tokens:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        fits = estimate(text[:middle] + note) <= tokens
        low, high = (middle, high) if fits else (low, middle - 1)
    cut = text[:low] + note
    return cut if low and estimate(cut) <= tokens else ""
