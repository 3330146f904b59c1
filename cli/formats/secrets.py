"""Mask secrets in what is exported, as detect-secrets recognises them.

A scanner knows the forms of keys and where passwords are written. It finds much, not all: look at
an export before you share it. What was recognised once is masked wherever else it is, also where
its surroundings do not give it away.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar, cast

from foldlog.eventstore.errors import FoldlogError
from foldlog.eventstore.events import Event

T = TypeVar("T")
Find = Callable[[str], Iterable[tuple[str, str]]]

LEAST = 8
"""Characters of a secret that is masked everywhere; a shorter one is masked in its line only."""

LONGEST = 4_000
"""Characters of a line that the scanner looks at in one go; its expressions are slow on more."""

EXTRA = 'this needs detect-secrets, which is not installed. Run `pip install "foldlog[secrets]"`.'

OVERLAP = 300
"""Characters that a stretch of a longer line shares with the next, so that no key is cut in two."""

KEY_BLOCK = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
    r"[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)"
)
"""A private key from its first line to its last, or to the end of the text."""

FORMS = {
    "Anthropic API Key": re.compile(r"\bsk-ant-[A-Za-z0-9_-]{16,}"),
    "OpenAI API Key": re.compile(r"\bsk-(?!ant-)(?:[a-z]+-)?[A-Za-z0-9_-]{24,}"),
    "GitHub Token": re.compile(r"\bgithub_pat_[A-Za-z0-9_]{22,}"),
    "Google API Key": re.compile(r"\bAIza[A-Za-z0-9_-]{35}"),
    "Bearer Token": re.compile(r"(?i)(?<=\bbearer )[A-Za-z0-9._~+/-]{16,}=*"),
}
"""Forms of keys that agents often see and the scanner does not know, as of detect-secrets 1.5."""

NO_SECRETS = frozenset({"Public IP (ipv4)"})
"""What the scanner reports and is not secret."""

_MORE = re.compile(r"[A-Za-z0-9_+/.~-]*=*")
_TOKEN_END = re.compile(r"[A-Za-z0-9_+/.~-]*\Z")


class Masker:
    """Masks secrets, and remembers which it found.

    Raises:
        FoldlogError: detect-secrets is not installed.
    """

    def __init__(self) -> None:
        self._find = lru_cache(maxsize=200_000)(_finder())
        self._known: dict[str, str] = {}
        self._everywhere: re.Pattern[str] | None = None

    @property
    def counts(self) -> Counter[str]:
        """How many different secrets of each type were found."""
        return Counter(self._known.values())

    def learn(self, value: object) -> None:
        """Find the secrets in all texts of a value."""
        for text in _texts(value):
            self._learn(text)

    def mask(self, value: T) -> T:
        """Return a value (a text, JSON, a dataclass) with its secrets masked."""
        return cast("T", _rebuilt(value, self._masked))

    def _learn(self, text: str) -> None:
        for block in KEY_BLOCK.findall(text):
            self._add(block, "Private Key")
        for line in _lines(KEY_BLOCK.sub("", text)):
            for kind, secret in self._find(line):
                self._add(secret, kind)

    def _add(self, secret: str, kind: str) -> None:
        if secret not in self._known:
            self._known[secret] = kind
            self._everywhere = None

    def _masked(self, text: str) -> str:
        self._learn(text)
        if self._everywhere is None:
            long = sorted((s for s in self._known if len(s) >= LEAST), key=len, reverse=True)
            self._everywhere = re.compile("|".join(map(re.escape, long)) or r"(?!)")
        text = self._everywhere.sub(lambda found: f"[{self._known[found[0]]} masked]", text)
        return "".join(map(self._masked_line, text.splitlines(keepends=True)))

    def _masked_line(self, line: str) -> str:
        for part in _lines(line):
            for kind, secret in self._find(part):
                if len(secret) < LEAST:
                    line = line.replace(secret, f"[{kind} masked]")
        return line


def _finder() -> Find:
    """Return what finds (type, secret) in a line."""
    try:
        from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
        from detect_secrets.filters import heuristic
    except ImportError as error:
        raise FoldlogError(EXTRA) from error
    classes: dict[str, Any] = get_mapping_from_secret_type_to_class()
    plugins = [made() for kind, made in classes.items() if kind not in NO_SECRETS]

    def is_likely(secret: str, line: str) -> bool:
        return not (
            heuristic.is_sequential_string(secret)
            or heuristic.is_potential_uuid(secret)
            or heuristic.is_likely_id_string(secret, line)
            or heuristic.is_templated_secret(secret)
            or heuristic.is_prefixed_with_dollar_sign(secret)
            or heuristic.is_indirect_reference(line)
            or heuristic.is_not_alphanumeric_string(secret)
        )

    def find(line: str) -> list[tuple[str, str]]:
        found = [(kind, match[0]) for kind, form in FORMS.items() for match in form.finditer(line)]
        for plugin in plugins:
            for secret in plugin.analyze_line("settings.yaml", line):
                value = secret.secret_value
                if value and is_likely(value, line):
                    found.append((secret.type, _whole(line, value)))
        return found

    return find


def _whole(line: str, found: str) -> str:
    """Return the whole of a key that the scanner reports only in part."""
    at = line.find(found)
    if at < 0:
        return found
    begin = _TOKEN_END.search(line, 0, at)
    end = _MORE.match(line, at + len(found))
    return line[begin.start() if begin else at : end.end() if end else at + len(found)]


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        for at in range(0, max(1, len(line) - OVERLAP), LONGEST - OVERLAP):
            yield line[at : at + LONGEST]


def _texts(value: object) -> Iterator[str]:
    found: list[str] = []

    def keep(text: str) -> str:
        found.append(text)
        return text

    _rebuilt(value, keep)
    return iter(found)


def _rebuilt(value: Any, change: Callable[[str], str]) -> Any:
    """Return a value with all its texts changed; the bytes of images and documents stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        if value.get("type") == "base64":
            return value
        return {change(key): _rebuilt(item, change) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_rebuilt(item, change) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_rebuilt(item, change) for item in value)
    if isinstance(value, Event):
        return replace(value, data=_rebuilt(value.data, change))
    if is_dataclass(value) and not isinstance(value, type):
        return _rebuilt_fields(value, change)
    return value


def _rebuilt_fields(value: Any, change: Callable[[str], str]) -> Any:
    old = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    new = {
        name: item if name in ("session", "parent") else _rebuilt(item, change)
        for name, item in old.items()
    }
    return replace(value, **new)
