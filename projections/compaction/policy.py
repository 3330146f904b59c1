"""Policies: named data, an ordered list of rules with their parameters, in TOML.

    policy("adaptive")            a preset
    policy("./mine.toml")         a file of one's own, which works the same

An unknown key or a value that makes no sense is an error that names file, rule and key. A policy is
recorded as it was written (``policy.set``), so that a decision can be explained later.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from foldlog.eventstore.events import EventDraft
from foldlog.projections.compaction.amount import Amount
from foldlog.projections.compaction.errors import PolicyError
from foldlog.projections.compaction.policy_fields import read_fields
from foldlog.projections.compaction.reading import ViewReader
from foldlog.projections.compaction.rules import RULES, Rule
from foldlog.projections.compaction.rules.base import TRIGGERS
from foldlog.projections.compaction.sizes import UNITS, Unit
from foldlog.projections.registry import Registry
from foldlog.projections.summaries.fallbacks import EXITS
from foldlog.projections.summaries.hooks import Hooks

DEFAULT = "adaptive"
"""The default policy."""


NOTICES = (*TRIGGERS, "saved")
"""What a policy may have words for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a policy says besides its rules.

    Attributes:
        name: What it is called.
        description: What it does, for a person to choose by.
        sources: Where its constants come from.
        deviations: Where it differs from its model.
        unit: What sizes are counted in: ``tokens``, ``characters``, ``bytes`` or ``quarters``.
        materialize: A folder for the full content of what leaves the view; without one, handles.
        strict: Histories whose calls and results do not match exactly are refused.
        warn_at: From this size on, a plan warns.
        block_at: From this size on, nothing should be sent.
        breaker: After so many failed summaries in a row none is tried any more.
        model_calls: The most model calls for summaries in one turn of the user.
        override: An environment variable that lowers the triggers of summaries, in per cent.
        attempts_in: What attempts at a summary are counted in: one ``compaction``, or one ``turn``
            of the user however often it is compacted in it.
        exits: The ways out when no summary is accepted, in their order: in chunks, where it was too
            long; a digest from the log; without it, as far as the other rules go.
        hooks: Shell commands ``before`` and ``after`` a summary.
        notices: What a host says of it on stderr: a line for a summary by its trigger, and one for
            what was ``saved``; ``{path}`` leads there.
    """

    name: str
    description: str = ""
    sources: tuple[str, ...] = ()
    deviations: tuple[str, ...] = ()
    unit: str = "tokens"
    materialize: str | None = None
    strict: bool = False
    warn_at: Amount | None = None
    block_at: Amount | None = None
    breaker: int = 3
    model_calls: int = 4
    override: str | None = None
    attempts_in: Literal["compaction", "turn"] = "compaction"
    exits: tuple[str, ...] = ()
    hooks: Mapping[str, Any] | None = None
    notices: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy that makes sense: its rules in order.

    Attributes:
        settings: What it says besides its rules.
        rules: The rules, in the order in which they are asked.
        data: The policy as it was written.
        hooks: What runs before and after a summary.
    """

    settings: Settings
    rules: tuple[Rule, ...]
    data: Mapping[str, Any]
    hooks: Hooks = field(default_factory=Hooks)

    @property
    def name(self) -> str:
        """What it is called."""
        return self.settings.name

    @property
    def unit(self) -> Unit:
        """What sizes are counted in."""
        return UNITS[self.settings.unit]

    def reader(self) -> ViewReader:
        """Return a reader of views for it; keep one for each session."""
        return ViewReader(self.unit, self.settings.materialize)

    def powers(self) -> tuple[str, ...]:
        """Return what it does on this machine besides compacting: hooks, files that it writes."""
        hooks = self.settings.hooks or {}
        commands = [hooks.get("before", ()), hooks.get("after", ())]
        named = [[one] if isinstance(one, str) else list(one) for one in commands]
        runs = (f"run `{command}`" for commands in named for command in commands)
        folder = self.settings.materialize
        writes = () if folder is None else (f"write files below {folder}",)
        return (*runs, *writes)

    def recorded(self) -> EventDraft:
        """Return the ``policy.set`` event that makes its decisions explicable."""
        return EventDraft("policy.set", {**self.data})

    @classmethod
    def read(cls, data: Mapping[str, Any], where: str = "the policy") -> Policy:
        """Read a policy from data, as TOML or a ``policy.set`` event holds it.

        Args:
            where: What to call it in errors: the file's name.

        Raises:
            PolicyError: It says what cannot be; the error names the key.
        """
        plain = {key: value for key, value in data.items() if key != "rules"}
        settings = read_fields(Settings, plain, where)
        if settings.unit not in UNITS:
            units = ", ".join(UNITS)
            raise PolicyError(
                f"{where}: unit: unknown unit {settings.unit!r}; choose from {units}."
            )
        wrong = [name for name in settings.exits if name not in EXITS]
        if wrong:
            raise PolicyError(
                f"{where}: exits: unknown exit {wrong[0]!r}; choose from {', '.join(EXITS)}."
            )
        _check_notices(settings.notices or {}, f"{where}: notices")
        hooks = _hooks(settings.hooks, where)
        entries = data.get("rules")
        if not isinstance(entries, list) or not entries:
            raise PolicyError(f"{where}: rules: a policy has at least one [[rules]] table.")
        rules = tuple(_rule(entry, f"{where}: rules[{at}]") for at, entry in enumerate(entries, 1))
        return cls(settings, rules, dict(data), hooks)

    def lowered(self, percent: float) -> Policy:
        """Return the policy with the triggers of its summaries at most at a share of the room."""
        data = {**self.data, "rules": [_lowered(dict(e), percent) for e in self.data["rules"]]}
        return Policy.read(data, self.name)

    def into(self, folder: str | Path) -> Policy:
        """Return the policy with the full content of what leaves the view in files of a folder."""
        settings = replace(self.settings, materialize=str(folder))
        return replace(self, settings=settings, data={**self.data, "materialize": str(folder)})


def _hooks(data: Mapping[str, Any] | None, where: str) -> Hooks:
    try:
        return Hooks.read(data)
    except ValueError as error:
        raise PolicyError(f"{where}: hooks: {error}.") from error


def _check_notices(notices: Mapping[str, Any], where: str) -> None:
    for name, words in notices.items():
        if name not in NOTICES:
            raise PolicyError(f"{where}: {name}: unknown key; choose from {', '.join(NOTICES)}.")
        if not isinstance(words, str):
            raise PolicyError(f"{where}: {name}: {words!r} is not a text.")


def _preset(name: str, given: Any) -> str | Path:
    """Return the TOML of a preset, or the file that holds it."""
    if not isinstance(given, str | Path):
        raise TypeError(f"{given!r} is neither the TOML of a policy nor the path of such a file")
    if isinstance(given, str) and "\n" in given:
        return given
    if not Path(given).is_file():
        raise FileNotFoundError(f"there is no file {str(given)!r}")
    return Path(given)


PRESETS: Registry[str | Path] = Registry("preset", "foldlog.presets", _preset)
"""The presets by name: the TOML of a policy, or the file that holds it."""

for _file in sorted(Path(__file__).with_name("presets").glob("*.toml")):
    PRESETS.add(_file.stem, _file)


def register_preset(name: str, toml: str | Path) -> None:
    """Register a preset: the TOML of a policy, or the path of such a file.

    Another package names either as an entry point of the group ``foldlog.presets`` instead.

    Raises:
        ValueError, OSError: There is a preset of that name, or the file cannot be read.
    """
    PRESETS.add(name, toml)


def presets() -> tuple[str, ...]:
    """Return the names of the presets, those of other packages too, sorted."""
    return tuple(sorted(PRESETS))


def policy(name: str | Path = DEFAULT, environ: Mapping[str, str] | None = None) -> Policy:
    """Return a policy by the name of a preset, or from a TOML file.

    Args:
        environ: The environment, for a policy that names a variable which lowers its triggers.

    Raises:
        PolicyError: There is no such policy, or a value in it makes no sense.
    """
    text, where = _source(name)
    try:
        found = Policy.read(tomllib.loads(text), where)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{where}: this is not TOML: {error}.") from error
    variable = found.settings.override
    percent = (environ or {}).get(variable, "") if variable else ""
    return found.lowered(_percent(variable or "", percent)) if percent else found


def written(name: str | Path = DEFAULT) -> str:
    """Return the TOML of a policy, as it was written.

    Raises:
        PolicyError: There is no such policy.
    """
    return _source(name)[0]


def _source(name: str | Path) -> tuple[str, str]:
    """Return the text of a policy and what to call it."""
    preset = PRESETS.get(str(name))
    if isinstance(preset, str):
        return preset, str(name)
    path = Path(name) if preset is None else preset
    if not path.is_file():
        raise PolicyError(f"{PRESETS.why_not(str(name))} A TOML file is named by its path.")
    try:
        return path.read_text(encoding="utf-8"), str(name)
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"{path}: the file cannot be read: {error}.") from error


def _rule(entry: Any, where: str) -> Rule:
    kind = entry.get("rule") if isinstance(entry, dict) else None
    if not isinstance(kind, str) or kind not in RULES:
        raise PolicyError(f"{where}: rule: {RULES.why_not(kind)}")
    given = {key: value for key, value in entry.items() if key != "rule"}
    rule = read_fields(RULES[kind], given, f"{where} ({kind})")
    for key, problem in rule.problems():
        raise PolicyError(f"{where} ({kind}): {key}: {problem}.")
    return rule


def _lowered(entry: dict[str, Any], percent: float) -> dict[str, Any]:
    if entry["rule"] in ("summarize", "memory") and "trigger" in entry:
        entry["trigger"] = f"{entry['trigger']}, at most {percent:g}%"
    return entry


def _percent(variable: str, text: str) -> float:
    try:
        percent = float(text)
    except ValueError:
        percent = 0.0
    if not 0 < percent <= 100:
        raise PolicyError(f"{variable} is {text!r}; it must be a number from 1 to 100.")
    return percent
