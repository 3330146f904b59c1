"""What all rules have in common, and the registry that a policy finds them in by name.

    @register_rule
    @dataclass(frozen=True, slots=True, kw_only=True)
    class DropGreetings(Rule):
        kind: ClassVar[str] = "drop_greetings"
        trigger: Amount

        def decide(self, window: Window) -> Edits | None: ...

Another package names its class as an entry point of the group ``foldlog.rules`` instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, is_dataclass
from typing import Any, ClassVar, TypeVar

from foldlog.projections.compaction.amount import Amount
from foldlog.projections.compaction.decision import Decision, Edits, Entry, File, filled
from foldlog.projections.compaction.policy_fields import readers_of
from foldlog.projections.compaction.visible import Visible
from foldlog.projections.compaction.window import Window
from foldlog.projections.registry import Registry
from foldlog.projections.view.lineage import Range
from foldlog.projections.view.pieces import Cleared, Preview, Shown

TRIGGERS = ("proactive", "reactive", "model", "person")

BEFORE = "[The result is long. Its beginning:]\n"
AFTER = "\n[In full at {path}]"
"""The texts around a preview, where a policy names none."""

ROOMS = (6_000, 60_000, 180_000, 980_000)
"""Rooms in which the amounts of a rule are compared, to find values that make no sense."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule of a policy: its parameters, and what it decides.

    Attributes:
        on: The triggers on which it takes part in a plan.
    """

    kind: ClassVar[str]
    on: tuple[str, ...] = TRIGGERS

    def decide(self, window: Window) -> Decision:
        """Return what is to be done about a window; None where nothing is. Pure."""
        raise NotImplementedError

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield the parameters whose values make no sense, and why."""
        for trigger in self.on:
            if trigger not in TRIGGERS:
                yield "on", f"unknown trigger {trigger!r}; choose from {', '.join(TRIGGERS)}"


def _rule_class(name: str, given: Any) -> type[Rule]:
    """Return a class that another package or a program gives, if it is a rule of that name."""
    if not (isinstance(given, type) and issubclass(given, Rule) and is_dataclass(given)):
        raise TypeError(f"{given!r} is not a dataclass that inherits from Rule")
    if getattr(given, "kind", None) != name:
        raise ValueError(f"its kind is {getattr(given, 'kind', None)!r}, not {name!r}")
    readers_of(given)
    return given


RULES: Registry[type[Rule]] = Registry("rule", "foldlog.rules", _rule_class)
"""The kinds of rules by the names that a policy uses; parameters are the fields of a class."""

R = TypeVar("R", bound=type[Rule])


def register_rule(rule: R) -> R:
    """Register a kind of rule; a decorator of its class.

    Raises:
        ValueError, TypeError: There is one of that name, or it is no such class.
    """
    RULES.add(rule.kind, rule)
    return rule


def over(window: Window, trigger: Amount | None) -> bool:
    """Return whether a window is over an amount; triggers are ignored where it was asked for."""
    return window.budget.forced or (trigger is not None and window.size > window.amount(trigger))


def reached(less: Amount | None, more: Amount | None) -> bool:
    """Return whether an amount that should be below another one is not, in any room."""
    if less is None or more is None:
        return False
    return any(less.of(room, room) >= more.of(room, room) for room in ROOMS)


class Changes:
    """Parts that a rule shows differently, gathered one by one.

    Attributes:
        freed: What they give back so far, in the unit of the policy.
    """

    def __init__(self, window: Window) -> None:
        self.freed = 0
        self._window = window
        self._entries: list[Entry] = []
        self._files: list[File] = []

    @property
    def size(self) -> int:
        """The size that the window would have."""
        return self._window.size - self.freed

    def clear(self, part: Visible, text: str) -> Visible:
        """Return a placeholder instead of a result, with the words of ``placeholder``."""
        path, files = self._window.saved(part)
        words = placeholder(self._window, part, path)
        return self.show(part, Cleared(filled(text, words)), files)

    def preview(self, part: Visible, chars: int, before: str, after: str) -> Visible:
        """Return the first characters of a result, ``{path}`` in the texts around it."""
        path, files = self._window.saved(part)
        words = {"path": path}
        return self.show(part, Preview(chars, filled(before, words), filled(after, words)), files)

    def show(self, part: Visible, shown: Shown, files: Iterable[File] = ()) -> Visible:
        """Show one event differently, if that makes it smaller; gives what is seen then."""
        new = part.shown_as(shown)
        saved = self._window.size_of(part) - self._window.size_of(new)
        if saved <= 0:
            return part
        self.freed += saved
        self._entries.append({"first": part.version, "last": part.version, **shown.to_json()})
        self._files += files
        return new

    def edits(self, reason: str, via: str | None = None) -> Edits | None:
        """Return the decision; None where nothing was gathered."""
        if not self._entries:
            return None
        entries = sorted(self._entries, key=lambda entry: int(entry["first"]))
        return Edits(tuple(entries), reason, files=tuple(self._files), via=via)


def entries(ranges: Iterable[Range], shown: Shown) -> tuple[Entry, ...]:
    """Return the entries of an edit that show ranges alike."""
    return tuple({"first": first, "last": last, **shown.to_json()} for first, last in ranges)


def placeholder(window: Window, part: Visible, path: str) -> dict[str, str]:
    """Return the words of a placeholder: ``path``, ``source``, ``tool``, ``receipt``, ``position``.

    The position is that of the message among those that are visible, from 1.
    """
    return {
        "path": path,
        "source": source(window.arguments(part), path),
        "tool": ", ".join(sorted(window.tools(part))),
        "receipt": window.handle(window.receipt),
        "position": str(window.position(part)),
    }


def source(arguments: dict[str, Any], handle: str) -> str:
    """Return the path or the address that a call named, from which its result can be had again."""
    for name in ("file_path", "path", "notebook_path", "url", "uri"):
        if isinstance(arguments.get(name), str) and arguments[name]:
            return str(arguments[name])
    return handle
