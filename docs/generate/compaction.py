"""Tables of docs/compaction.md: the kinds of rules and the presets, as the program has them."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields

from docs.generate.markdown import fence, table
from docs.generate.signatures import summary
from foldlog.projections.compaction import policy
from foldlog.projections.compaction import presets as names
from foldlog.projections.compaction.policy import Settings, written
from foldlog.projections.compaction.rules import RULES


def rule_kinds() -> None:
    """Print each kind of rule, what it does and its parameters, required ones first."""
    rows = [
        (f"`{kind}`", summary(rule), ", ".join(map(_parameter, _ordered(fields(rule)))))
        for kind, rule in RULES.items()
    ]
    table(("rule", "what it does", "parameters"), *rows)


def presets() -> None:
    """Print each preset: what it does, its rules in their order, where it deviates."""
    for name in names():
        found = policy(name)
        print(f"\n### `{name}`\n\n{found.settings.description.strip()}")
        print("\nRules: " + " → ".join(f"`{rule.kind}`" for rule in found.rules) + ".")
        if found.settings.deviations:
            print("\nIt differs from its model:\n")
            for deviation in found.settings.deviations:
                print(f"* {deviation}")


def settings() -> None:
    """Print what a policy says beside its rules."""
    print("\n" + ", ".join(map(_parameter, fields(Settings))))


def preset(name: str) -> None:
    """Print the TOML of a preset."""
    fence(written(name), "toml")


def _ordered(found: tuple[Field[object], ...]) -> list[Field[object]]:
    return sorted(found, key=lambda field: not _required(field))


def _parameter(field: Field[object]) -> str:
    return f"**`{field.name}`**" if _required(field) else f"`{field.name}`"


def _required(field: Field[object]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING
