"""Text from transcripts is data: what a terminal would obey is made visible instead.

A transcript holds whatever a tool printed or a page contained. Sent to a terminal as it is, it
could move the cursor, rename the window, hide text or turn its direction around. Everything for
people passes through ``safe``; JSON passes through ``safe_json``, which changes no value.
"""

from __future__ import annotations

import re

_OBEYED = (
    "\x00-\x08\x0b-\x1f\x7f"  # C0 but for tab and newline, and DEL
    "\x80-\x9f"  # C1: U+009B is CSI, U+009D is OSC
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks that turn the direction of writing
    "\u2028\u2029"  # line and paragraph separators
    "\u200b\u2060-\u2065\ufeff\ufff9-\ufffb"  # what is not seen at all
    "\ud800-\udfff"  # lone surrogates: no encoding takes them
    "\U000e0000-\U000e007f"  # tags: text that only a machine reads
)
_UNSAFE = re.compile(f"[{_OBEYED}]")
_NEWLINE = re.compile(r"\r\n")


def safe(text: str) -> str:
    r"""The text with ``\x1b`` and the like written out; newlines and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_written_out, _NEWLINE.sub("\n", text))


def one_line(text: str) -> str:
    """The text made safe, on one line: for a cell of a table, or an error."""
    return safe(" ".join(text.split()))


def shortened(text: str, chars: int) -> str:
    """The text on one line, cut to so many characters."""
    line = one_line(text[: 4 * chars])
    return line if len(line) <= chars and len(text) <= 4 * chars else f"{line[: chars - 1]}…"


def safe_json(text: str) -> str:
    r"""JSON of the same value, with ``\u009b`` and the like as escapes."""
    return text if text.isascii() and "\x7f" not in text else _UNSAFE.sub(_as_json, text)


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _as_json(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
