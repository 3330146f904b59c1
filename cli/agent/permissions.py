"""Permissions: who may do what, decided by people and folded from the log.

A decision is an event, ``permission.decided``. What was allowed always, or never, holds for as long
as the session and its forks: after a restart, a compaction, a rewind. No summary and no message
grants anything, since only these events are read, and only those that this installation sealed: a
store that somebody else wrote allows nothing. What is denied stays denied, whatever allows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from foldlog.cli.agent.patterns import Pattern, PatternError, Subject, offered
from foldlog.cli.agent.tool import Arguments, Context, Tool, Touched
from foldlog.eventstore import Event, EventDraft, FoldlogError
from foldlog.projections.installation import installation
from foldlog.projections.session import Session

TYPE = "permission.decided"

Decision: TypeAlias = Literal["allow", "deny"]
Scope: TypeAlias = Literal["once", "always", "never"]


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked.

    Attributes:
        call: The id of the call.
        tool: Its tool.
        arguments: Its arguments.
        about: The command or the path that it is about; empty where there is none. As the model
            wrote it: a terminal gets it through ``safe``.
        why: Why permission is needed.
        patterns: What could be allowed or denied for good, the narrowest first.
    """

    call: str
    tool: str
    arguments: Arguments
    about: str
    why: str
    patterns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person decided.

    Attributes:
        decision: ``allow`` or ``deny``.
        scope: ``once``; or for good: ``always`` where it is allowed, ``never`` where it is denied.
        pattern: What it holds for from now on; without, for the narrowest pattern of the question.
        reason: What the model reads, where it is denied.

    Raises:
        PatternError: The pattern is not valid.
    """

    decision: Decision
    scope: Scope = "once"
    pattern: str | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        if (self.decision, self.scope) in (("allow", "never"), ("deny", "always")):
            raise FoldlogError(f"{self.decision} and {self.scope} contradict each other.")
        if self.pattern is not None:
            Pattern.parse(self.pattern)


Ask: TypeAlias = Callable[[Question], Answer]
"""Asks a person; what it raises where nobody answers is EOFError."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a call may run.

    Attributes:
        allowed: It may.
        reason: What the model reads, where it may not.
    """

    allowed: bool
    reason: str = ""


class Permissions:
    """What is allowed and denied in a session.

    Args:
        session: The session; decisions are recorded there and read from there.
        allow, deny: Patterns that were given beforehand.
        ask: Asks a person. None: there is nobody to ask, and what is not allowed is refused.
        above: The permissions of the agent that this one works for: what holds there holds here.

    Raises:
        PatternError: One of the patterns is not valid.
    """

    def __init__(
        self,
        session: Session,
        *,
        allow: Iterable[str] = (),
        deny: Iterable[str] = (),
        ask: Ask | None = None,
        above: Permissions | None = None,
    ) -> None:
        self._session = session
        self._given: dict[Decision, list[Pattern]] = {
            "allow": [Pattern.parse(text) for text in allow],
            "deny": [Pattern.parse(text) for text in deny],
        }
        self._decided: dict[Decision, list[Pattern]] = {"allow": [], "deny": []}
        self._foreign: list[Pattern] = []
        self._read_to = 0
        self._ask = ask
        self._above = above

    def decide(
        self, tool: Tool, arguments: Arguments, subject: Subject, context: Context
    ) -> Verdict:
        """Return whether a call may run; asked for where it has to be, and recorded.

        A call that needs no permission and is not denied leaves no event.
        """
        denied = self.found("deny", tool.name, subject, context.cwd)
        why = needed(tool, subject, context.cwd)
        if denied:
            pattern, by = denied
            self._record(context.call, "deny", "once", pattern, by)
            return Verdict(False, f"Denied by {pattern}. Do it in another way, or ask the user.")
        if not why:
            return Verdict(True)
        if allowed := self.found("allow", tool.name, subject, context.cwd):
            self._record(context.call, "allow", "once", *allowed)
            return Verdict(True)
        return self._asked(tool, arguments, subject, context, why)

    def foreign(self) -> tuple[Pattern, ...]:
        """Return what the log allows always, but another installation recorded: not in force."""
        self._catch_up()
        own = set(self._decided["allow"])
        return tuple(dict.fromkeys(one for one in self._foreign if one not in own))

    def adopt(self, patterns: Iterable[Pattern]) -> None:
        """Record that a person allows these always."""
        for pattern in patterns:
            self._record(None, "allow", "always", pattern, "person")

    def hides(self, path: Path, cwd: Path) -> bool:
        """Return whether a file is denied to ``read``: then no search shows it either."""
        return self.found("deny", "read", Touched(path, path), cwd) is not None

    def found(
        self, decision: Decision, tool: str, subject: Subject, cwd: Path
    ) -> tuple[Pattern, str] | None:
        """Return the pattern that decides a call, and who set it: ``given`` or ``earlier``."""
        self._catch_up()
        for by, held in (("given", self._given), ("earlier", self._decided)):
            for pattern in held[decision]:
                holds = pattern.allows if decision == "allow" else pattern.denies
                if holds(tool, subject, cwd):
                    return pattern, by
        return self._above.found(decision, tool, subject, cwd) if self._above else None

    def _asked(
        self, tool: Tool, arguments: Arguments, subject: Subject, context: Context, why: str
    ) -> Verdict:
        patterns = tuple(map(str, offered(tool.name, subject, context.cwd)))
        question = Question(context.call, tool.name, arguments, about(subject), why, patterns)
        try:
            answer = self._ask(question) if self._ask else None
        except EOFError:
            answer = None
        if answer is None:
            self._record(context.call, "deny", "once", None, "nobody")
            ways = " or ".join(f"--allow '{pattern}'" for pattern in patterns)
            return Verdict(
                False,
                f"Not allowed: {why}, and there is nobody to ask."
                f" It would have to be allowed beforehand, with {ways}."
                " Go on without it, or end by saying what you need.",
            )
        pattern = None if answer.scope == "once" else Pattern.parse(answer.pattern or patterns[0])
        self._record(context.call, answer.decision, answer.scope, pattern, "person")
        told = f" The user says: {answer.reason.strip()}" if answer.reason.strip() else ""
        return Verdict(
            answer.decision == "allow",
            f"The user does not allow this call.{told} Do not try it again in the same way.",
        )

    def _catch_up(self) -> None:
        """Take up the decisions that are recorded since; a fork's log begins with its parent's."""
        store, session = self._session.store, self._session.id
        last = store.last(session)
        if last <= self._read_to:
            return
        for event in store.read(session, after=self._read_to, until=last, types=[TYPE]):
            self._take_up(event)
        self._read_to = last

    def _take_up(self, event: Event) -> None:
        text, decided = (
            event.data.get("pattern"),
            (event.data.get("decision"), event.data.get("scope")),
        )
        if not isinstance(text, str):
            return
        with suppress(PatternError):  # nothing can be meant by it, so it allows nothing
            if decided == ("deny", "never"):
                self._decided["deny"].append(Pattern.parse(text))
            elif decided == ("allow", "always"):
                own = installation().recorded(event)
                (self._decided["allow"] if own else self._foreign).append(Pattern.parse(text))

    def _record(
        self, call: str | None, decision: Decision, scope: Scope, pattern: Pattern | None, by: str
    ) -> None:
        about = {"tool_use_id": call} if call else {}
        data = {**about, "decision": decision, "scope": scope, "by": by}
        more = {"pattern": str(pattern)} if pattern else {}
        draft = EventDraft(TYPE, {**data, **more})
        self._session.append(installation().sealed(self._session.id, draft))


def needed(tool: Tool, subject: Subject, cwd: Path) -> str:
    """Return why a call needs permission; empty where it needs none."""
    if isinstance(subject, Touched) and not subject.path.is_relative_to(cwd):
        return f"{tool.name} outside of the session's folder"
    if tool.writes:
        return "it runs a command" if isinstance(subject, str) else "it changes something"
    return ""


def about(subject: Subject) -> str:
    """Return what a call is about, as a text."""
    if isinstance(subject, Touched):
        return str(subject.path)
    return subject or ""
