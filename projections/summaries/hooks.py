"""Hooks: what runs before and after a summary.

A hook is a Python callable or a shell command of the policy. It is said what is about to be
summarized. What a hook before says is added to the instructions; what one after says is put before
the model.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from foldlog.eventstore.events import EventDraft
from foldlog.projections.summaries.failure import SummaryFailed
from foldlog.projections.view.lineage import Range

TIMEOUT = 60.0
"""Seconds that a shell command may take, as in Claude Code."""

REFUSED = 2
"""The exit code with which a command before a summary refuses the compaction, as in Claude Code."""

PRINTED = 10_000
"""The most characters of what a hook says that are used. Chosen: about 3,000 tokens."""


@dataclass(frozen=True, slots=True)
class HookEvent:
    """What a hook is passed; a command reads it as JSON from its standard input.

    Attributes:
        phase: ``before`` or ``after`` the summary.
        session: The session.
        trigger: Why the compaction is made.
        policy: The policy that decided it.
        ranges: The versions that are summarized.
        summary: The version of the summary, after it.
    """

    phase: Literal["before", "after"]
    session: str
    trigger: str
    policy: str
    ranges: tuple[Range, ...]
    summary: int | None = None


Hook: TypeAlias = "str | Callable[[HookEvent], str | None]"
"""A shell command, or a callable that gives what it has to say."""


@dataclass(frozen=True, slots=True)
class HookOutput:
    """What hooks said.

    Attributes:
        texts: What each of them said, those that said nothing left out.
        problems: What went wrong with those that broke; the compaction goes on without them.
    """

    texts: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def attachments(self) -> list[EventDraft]:
        """Return what hooks after a summary put before the model."""
        return [EventDraft("attachment.added", {"kind": "hook", "content": t}) for t in self.texts]


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks of a policy.

    Attributes:
        before: Those before a summary, in order.
        after: Those after it.
        timeout: Seconds that a shell command may take.
    """

    before: tuple[Hook, ...] = ()
    after: tuple[Hook, ...] = ()
    timeout: float = TIMEOUT

    @classmethod
    def read(cls, data: Mapping[str, Any] | None) -> Hooks:
        """Read hooks as a policy has them: ``before`` and ``after``, a command or a list each, and
        ``timeout`` in seconds.

        Raises:
            ValueError: A key is unknown or its value makes no sense; the error names the key.
        """
        given = dict(data or {})
        timeout = given.pop("timeout", TIMEOUT)
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout <= 0:
            raise ValueError(f"timeout: {timeout!r} is not a number of seconds")
        before, after = (_commands(given.pop(k, ()), k) for k in ("before", "after"))
        if given:
            raise ValueError(f"{min(given)}: unknown key; choose from before, after, timeout")
        return cls(before, after, float(timeout))

    def run(self, occasion: HookEvent) -> HookOutput:
        """Run the hooks of an occasion's phase, one after the other.

        Raises:
            SummaryFailed: ``hook``: one of those before refuses the compaction.
        """
        texts, problems = [], []
        for hook in self.before if occasion.phase == "before" else self.after:
            try:
                text = _run(hook, occasion, self.timeout)
            except SummaryFailed:
                if occasion.phase == "before":
                    raise
                problems.append(f"{_name(hook)} refused, after the summary.")
            except Exception as error:
                problems.append(f"{_name(hook)} broke: {type(error).__name__}: {error}")
            else:
                texts.append(text.strip()[:PRINTED])
        return HookOutput(tuple(filter(None, texts)), tuple(problems))


def refuse(problem: str) -> SummaryFailed:
    """Return what a callable before a summary raises to refuse the compaction."""
    return SummaryFailed("hook", problem)


def _run(hook: Hook, occasion: HookEvent, timeout: float) -> str:
    if not isinstance(hook, str):
        return hook(occasion) or ""
    code, out, err = _shell(hook, json.dumps(asdict(occasion)), timeout)
    if code == REFUSED:
        raise refuse(f"`{hook}` refuses the compaction: {err.strip() or out.strip()}")
    if code:
        raise RuntimeError(f"exit code {code}: {err.strip()}")
    return out


def _shell(command: str, told: str, timeout: float) -> tuple[int, str, str]:
    """Run a command in a group of its own, so that a timeout ends its children too."""
    with subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(told, timeout)
        except subprocess.TimeoutExpired as error:
            os.killpg(process.pid, signal.SIGKILL)
            raise TimeoutError(f"it took longer than {timeout:g} seconds") from error
        return process.returncode, out, err


def _commands(value: Any, where: str) -> tuple[str, ...]:
    commands = [value] if isinstance(value, str) else value
    if not isinstance(commands, Iterable) or not all(isinstance(c, str) for c in commands):
        raise ValueError(f"{where}: {value!r} is neither a command nor a list of commands")
    return tuple(commands)


def _name(hook: Hook) -> str:
    return f"`{hook}`" if isinstance(hook, str) else getattr(hook, "__name__", repr(hook))
