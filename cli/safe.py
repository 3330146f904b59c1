"""Text from transcripts is data: what a terminal would obey, or no one sees, is written out.

A transcript holds whatever a tool printed or a page contained. Sent to a terminal as it is, it
could move the cursor, rename the window, hide text or turn its direction around. Everything for
people passes through ``safe``; JSON passes through ``safe_json``, which changes no value. Names
that other programs may use as they are pass through ``plain_name``.
"""

from __future__ import annotations

import re
from hashlib import sha256

from foldlog.cli.invisible import INVISIBLE

_UNSAFE = re.compile(f"[{INVISIBLE}]")
_NEWLINE = re.compile(r"\r\n")
_SEEN = f"[^\x00-\x7f{INVISIBLE}]"
_JOINS = re.compile(rf"(?:(?<={_SEEN})|(?<={_SEEN}\ufe0f))[\u200c\u200d](?={_SEEN})")
_STYLES = re.compile(rf"(?<={_SEEN})[\ufe0e\ufe0f]|(?<=[0-9#*])\ufe0f(?=\u20e3)")
"""What writes emoji, Persian and Indic scripts: a single joiner between two characters that are
seen, a single style of an emoji after one. Anything more of them could carry a hidden text."""

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/+-]*")
_RUNS = re.compile(r"[^A-Za-z0-9._:@/+]+")

LONGEST_NAME = 120
"""Characters of a name that was derived from another program's."""


def safe(text: str) -> str:
    r"""Return the text with ``\x1b`` and the like written out; newlines and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_written_out, _NEWLINE.sub("\n", text))


def is_plain(name: str) -> bool:
    """Return whether a name is a plain word to any shell: ASCII letters, digits, ``._:@/+-``."""
    return _PLAIN.fullmatch(name) is not None


def plain_name(name: str) -> str:
    """Return a plain name: the same where it is one, else what is left of it and a digest of all.

    Two names that differ stay different. An empty name stays empty.
    """
    if not name or (is_plain(name) and len(name) <= LONGEST_NAME):
        return name
    left = _RUNS.sub("-", name).strip("._:@/+-")[: LONGEST_NAME - 9].rstrip("-")
    mark = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{left}-{mark}" if left else mark


def one_line(text: str) -> str:
    """Return the text made safe, on one line: for a cell of a table, or an error."""
    return safe(" ".join(text.split()))


def shortened(text: str, chars: int) -> str:
    """Return the text on one line, cut to ``chars`` characters."""
    line = one_line(text[: 4 * chars])
    return line if len(line) <= chars and len(text) <= 4 * chars else f"{line[: chars - 1]}…"


def safe_json(text: str) -> str:
    r"""Return JSON of the same value, with ``\u009b`` and the like as escapes."""
    return text if text.isascii() and "\x7f" not in text else _UNSAFE.sub(_as_json, text)


def _written_out(found: re.Match[str]) -> str:
    if _writes_a_script(found):
        return found[0]
    code = ord(found[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _as_json(found: re.Match[str]) -> str:
    if _writes_a_script(found):
        return found[0]
    code = ord(found[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def _writes_a_script(found: re.Match[str]) -> bool:
    """Return whether an invisible character is part of a word or an emoji that is seen."""
    text, at = found.string, found.start()
    return bool(_JOINS.match(text, at) or _STYLES.match(text, at))
