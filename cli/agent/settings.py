"""Settings of the agent: a TOML file that a person names with ``--settings``.

    [permissions]
    allow = ["bash(git status *)", "write(src/**)"]
    deny = ["read(.env)"]

    [hooks]
    before = [{command = "./check.sh", match = "bash", timeout = 10, required = true}]
    after = ["./format.sh"]

No file is read without being named: one that lies in a folder is the folder's word, not the user's.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foldlog.cli.agent.hooks import Hooks, SettingsError, table
from foldlog.cli.agent.patterns import Pattern, PatternError


@dataclass(frozen=True, slots=True)
class Settings:
    """What a settings file says.

    Attributes:
        hooks: What runs before and after tools.
        allow, deny: Patterns of permissions.
    """

    hooks: Hooks = field(default_factory=Hooks)
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Settings:
        """Return the settings of a file.

        Raises:
            SettingsError: It cannot be read, or says what cannot be; the error names the key.
        """
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise SettingsError(f"{path} cannot be read: {error.strerror}.") from error
        except ValueError as error:
            raise SettingsError(f"{path} is not TOML: {error}.") from error
        given = table(data, str(path), ("hooks", "permissions"))
        permissions = table(given.get("permissions", {}), f"{path}: permissions", ("allow", "deny"))
        allow, deny = (
            _patterns(permissions.get(key, []), f"{path}: permissions: {key}")
            for key in ("allow", "deny")
        )
        return cls(Hooks.read(given.get("hooks"), f"{path}: hooks"), allow, deny)


def _patterns(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise SettingsError(f"{where}: {value!r} is not a list of patterns.")
    for text in value:
        try:
            Pattern.parse(text)
        except PatternError as error:
            raise SettingsError(f"{where}: {error}") from error
    return tuple(value)
