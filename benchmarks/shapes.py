"""Made-up JSON in the shapes that a store is fed with, to train the compression dictionary on.

``shapes.jsonl`` holds the shapes, one a line, each under its kind: the keys and their order are
those of the Messages API, of Claude Code's transcripts and of foldlog's own events; all values are
made up. In a shape

* ``"<uuid>"``, ``"<number 900>"``, … is a value (or part of a text) that is drawn again each time,
  and ``"<kind>"`` another shape of that kind;
* a key ``"<kind>"`` puts the keys of another shape in its place;
* a key or an item that ends in ``?`` is there half of the time.
"""

from __future__ import annotations

import json
import random
import re
import string
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("shapes.jsonl")
PLACEHOLDER = re.compile(r"<([a-z]+)(?: (\d+))?>")

MODELS = (
    "claude-sonnet-4-5-20250929",
    "claude-opus-4-5-20251101",
    "claude-opus-4-6",
    "claude-haiku-4-5-20251001",
    "claude-sonnet-4-5",
)
BRANCHES = ("main", "master", "HEAD", "develop", "feature/store", "fix/parser")
FOLDERS = ("/home/dev/project", "/Users/dev/work/project", "/repo", "/workspace", "/root/app")
FILES = (
    "src/app.py",
    "src/index.ts",
    "README.md",
    "tests/test_store.py",
    "package.json",
    "internal/store/store.go",
    "docs/design.md",
    "pyproject.toml",
    "src/lib.rs",
)
COMMANDS = (
    "git status",
    "git diff --stat",
    "git log --oneline -5",
    "ls -la",
    "python -m pytest -q",
    "npm run build",
    "go test ./...",
    "cargo test",
    "grep -rn",
    'git add -A && git commit -m "',
    "cat",
    "find . -name",
    "make check",
)


class Shapes:
    """Draws shapes and fills them.

    Args:
        pick: Where all chance comes from.
        texts: What to put where a text belongs: prose, source, output of tools.
    """

    def __init__(self, pick: random.Random, texts: Iterator[str]) -> None:
        self.pick = pick
        self.texts = texts
        self.shapes: dict[str, list[Any]] = defaultdict(list)
        for line in FILE.read_text(encoding="utf-8").splitlines():
            ((kind, shape),) = json.loads(line).items()
            self.shapes[kind].append(shape)
        self.values: dict[str, Callable[[int], Any]] = {
            "uuid": lambda _: self.uuid(),
            "time": lambda _: self.time(),
            "number": lambda most: pick.randrange(most),
            "hex": lambda digits: f"{pick.getrandbits(4 * digits):0{digits}x}",
            "letters": lambda count: "".join(
                pick.choices(string.ascii_letters + string.digits, k=count)
            ),
            "text": lambda most: next(texts)[: pick.randint(min(20, most), most)],
            "body": lambda _: next(texts)[:2000],
            "version": lambda _: f"2.{pick.randrange(2)}.{pick.randrange(300)}",
            "folder": lambda _: pick.choice(FOLDERS),
            "path": lambda _: f"{pick.choice(FOLDERS)}/{pick.choice(FILES)}",
            "model": lambda _: pick.choice(MODELS),
            "branch": lambda _: pick.choice(BRANCHES),
            "command": lambda _: pick.choice(COMMANDS),
        }

    def draw(self, kind: str) -> Any:
        """Any shape of this kind, filled."""
        return self.fill(self.pick.choice(self.shapes[kind]))

    def fill(self, shape: Any) -> Any:
        if isinstance(shape, str):
            return self.fill_text(shape)
        if isinstance(shape, list):
            return [
                self.fill(item.removesuffix("?") if isinstance(item, str) else item)
                for item in shape
                if self.is_there(item)
            ]
        if isinstance(shape, dict):
            return self.fill_object(shape)
        return shape

    def fill_object(self, shape: dict[str, Any]) -> dict[str, Any]:
        filled: dict[str, Any] = {}
        for key, value in shape.items():
            if placeholder := PLACEHOLDER.fullmatch(key):
                filled |= self.draw(placeholder[1])
            elif self.is_there(key):
                filled[key.removesuffix("?")] = self.fill(value)
        return filled

    def fill_text(self, text: str) -> Any:
        whole = PLACEHOLDER.fullmatch(text)
        return self.value(whole) if whole else PLACEHOLDER.sub(self.part, text)

    def value(self, placeholder: re.Match[str]) -> Any:
        name, size = placeholder[1], int(placeholder[2] or 0)
        if name in self.values:
            return self.values[name](size)
        return self.draw(name)

    def part(self, placeholder: re.Match[str]) -> str:
        """Return a placeholder within a text; what only looks like one (a tag) stays."""
        known = placeholder[1] in self.values
        return str(self.value(placeholder)) if known else placeholder[0]

    def is_there(self, name: Any) -> bool:
        optional = isinstance(name, str) and name.endswith("?")
        return not optional or self.pick.random() < 0.5

    def uuid(self) -> str:
        digits = f"{self.pick.getrandbits(128):032x}"
        variant = self.pick.choice("89ab")
        return (
            f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
        )

    def time(self) -> str:
        r = self.pick.randrange
        day = f"{r(2025, 2028)}-{r(1, 13):02}-{r(1, 29):02}"
        return f"{day}T{r(24):02}:{r(60):02}:{r(60):02}.{r(1000):03}Z"
