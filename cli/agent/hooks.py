"""Hooks: what runs before and after a tool.

A hook is a Python callable or a shell command. It gets the call; a command reads it as JSON from
its standard input. One before the call may refuse it: a callable raises ``Refused``, a command
exits with 2 and says why, or prints ``{"decision": "deny", "reason": …}``. What else a hook says is
put after the result, as is a note about a hook that breaks; the call runs without that hook, unless
it is ``required``.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from foldlog.cli.agent.patterns import Pattern, PatternError, Subject
from foldlog.cli.agent.processes import CtrlCHeld, end, start
from foldlog.eventstore import FoldlogError

LONGEST = 86_400.0
"""The most seconds that a command may be given: no clock counts to infinity."""

TIMEOUT = 60.0
"""Seconds that a command may take, as for the hooks of a policy."""

REFUSED = 2
"""The exit code with which a command refuses, as in Claude Code."""

PRINTED = 10_000
"""The most characters of what a hook says that are used, as for the hooks of a policy."""

DENIED = ("deny", "block", "refuse")
"""What a command may call its refusal: the words of public harnesses, and ours."""


class Refused(Exception):
    """What a hook raises to refuse a call; its words are the reason."""


class SettingsError(FoldlogError):
    """Settings say what cannot be; the error names the key."""


@dataclass(frozen=True, slots=True)
class HookEvent:
    """What a hook gets, as an object or as JSON.

    Attributes:
        phase: ``before`` or ``after`` the call.
        session: The session.
        cwd: The folder that it works in.
        call: ``id``, ``name`` and ``input`` of the call.
        result: ``content`` and ``is_error``, after it.
        subject: What the call is about.
    """

    phase: Literal["before", "after"]
    session: str
    cwd: Path
    call: Mapping[str, Any]
    result: Mapping[str, Any] | None = None
    subject: Subject = None

    def to_json(self) -> dict[str, Any]:
        """Return it as a command reads it."""
        told = {"phase": self.phase, "session": self.session, "cwd": str(self.cwd)}
        more = {} if self.result is None else {"result": self.result}
        return {**told, "call": dict(self.call), **more}


Run: TypeAlias = "str | Callable[[HookEvent], str | None]"
"""A shell command, or a callable that gives what it has to say."""


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook.

    Attributes:
        run: What runs.
        match: The calls that it runs for, as in permissions; all without.
        timeout: Seconds that a command may take.
        required: The call is refused where the hook breaks.
    """

    run: Run
    match: Pattern | None = None
    timeout: float = TIMEOUT
    required: bool = False

    @property
    def name(self) -> str:
        """Its name in messages."""
        if isinstance(self.run, str):
            return f"`{self.run}`"
        return getattr(self.run, "__name__", repr(self.run))

    def concerns(self, event: HookEvent) -> bool:
        """Return whether it runs for that call: a guard sees a call in doubt, as a denial does."""
        tool = str(event.call.get("name"))
        return self.match is None or self.match.denies(tool, event.subject, event.cwd)

    def ask(self, event: HookEvent) -> str:
        """Return what it has to say.

        Raises:
            Refused: It refuses the call.
            Exception: It broke.
        """
        if not isinstance(self.run, str):
            return str(self.run(event) or "").strip()
        code, out, err = _shell(self.run, event, self.timeout)
        decided = _decision(out)
        reason = str(decided.get("reason") or "") or err.strip() or out.strip()
        if code == REFUSED or decided.get("decision") in DENIED:
            raise Refused(reason or "it gave no reason")
        if code:
            raise RuntimeError(f"exit code {code}: {err.strip()[-500:]}")
        return str(decided.get("add") or "") if decided else out.strip()


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks of an agent.

    Attributes:
        before: Those before a call, in order.
        after: Those after it.
    """

    before: tuple[Hook, ...] = ()
    after: tuple[Hook, ...] = ()

    @classmethod
    def read(cls, data: Mapping[str, Any] | None, where: str = "hooks") -> Hooks:
        """Hooks as settings have them: ``before`` and ``after``, each a command or a list of
        commands and tables of ``command``, ``match``, ``timeout``, ``required``.

        Raises:
            SettingsError: It says what cannot be; the error names the key.
        """
        given = table(data or {}, where, ("before", "after"))
        return cls(*(_hooks(given.get(key, ()), f"{where}: {key}") for key in ("before", "after")))

    def run(self, event: HookEvent) -> list[str]:
        """Run the hooks of a phase, one after the other.

        Returns:
            What is put after the result: what they said, and what went wrong with those that
            broke.

        Raises:
            Refused: One of those before refuses the call.
        """
        before = event.phase == "before"
        said = []
        for hook in self.before if before else self.after:
            if not hook.concerns(event):
                continue
            try:
                text = hook.ask(event)
            except Refused as refused:
                if before:
                    raise Refused(f"The hook {hook.name} refuses this call: {refused}") from None
                text = f"The hook {hook.name} objects: {refused}"
            except Exception as error:
                text = f"The hook {hook.name} broke: {type(error).__name__}: {error}"
                if before and hook.required:
                    raise Refused(f"{text}. The call did not run.") from error
            if text:
                said.append(text[:PRINTED])
        return said


def _shell(command: str, event: HookEvent, timeout: float) -> tuple[int, str, str]:
    """Run a command in a group of its own, so that all of it ends with it."""
    shell = ["/bin/sh", "-c", command]
    with CtrlCHeld() as held:
        process = start(shell, event.cwd, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            held.let_go()
            out, err = process.communicate(json.dumps(event.to_json()).encode(), timeout)
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(f"it took longer than {timeout:g} seconds") from error
        finally:
            end(process)
    return process.returncode, out.decode(errors="replace"), err.decode(errors="replace")


def _decision(out: str) -> dict[str, Any]:
    """Return what a command printed as a JSON object; empty where it printed something else."""
    try:
        found = json.loads(out)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _hooks(value: Any, where: str) -> tuple[Hook, ...]:
    entries = value if isinstance(value, list | tuple) else [value]
    return tuple(_hook(entry, where) for entry in entries)


def _hook(entry: Any, where: str) -> Hook:
    given = table(
        {"command": entry} if isinstance(entry, str) else entry,
        where,
        ("command", "match", "timeout", "required"),
    )
    command, timeout = given.get("command"), given.get("timeout", TIMEOUT)
    if not isinstance(command, str) or not command.strip():
        raise SettingsError(f"{where}: command: {command!r} is not a command.")
    is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not (is_number and 0 < timeout <= LONGEST):
        raise SettingsError(f"{where}: timeout: {timeout!r} is not a number of seconds.")
    if not isinstance(required := given.get("required", False), bool):
        raise SettingsError(f"{where}: required: {required!r} is neither true nor false.")
    return Hook(command, _pattern(given.get("match"), f"{where}: match"), float(timeout), required)


def _pattern(text: Any, where: str) -> Pattern | None:
    try:
        return None if text is None else Pattern.parse(str(text))
    except PatternError as error:
        raise SettingsError(f"{where}: {error}") from error


def table(value: Any, where: str, keys: Iterable[str]) -> Mapping[str, Any]:
    """Return a table that has no other keys.

    Raises:
        SettingsError: It has, or it is not valid.
    """
    if not isinstance(value, Mapping):
        raise SettingsError(f"{where}: {value!r} is not a table.")
    for key in value:
        if key not in keys:
            raise SettingsError(f"{where}: {key}: unknown key; choose from {', '.join(keys)}.")
    return value
