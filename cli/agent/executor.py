"""The executor: one call of the model, from permission to its recorded result.

    arguments -> permission.decided -> tool.started -> hooks -> the tool -> hooks -> tool.result

Whatever happens, a call gets a result that the model can read: a tool, a hook or an argument that
breaks is named in it. Only what concerns the person or the store leaves ``run``: Ctrl-C, once the
result is recorded, and a store that cannot record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foldlog.cli.agent.hooks import HookEvent, Hooks, Refused
from foldlog.cli.agent.permissions import Permissions
from foldlog.cli.agent.tool import Context, Stopped, Tool, ToolFailed
from foldlog.cli.agent.tool_result import Result, storable, with_notes
from foldlog.eventstore import Event, EventDraft, InvalidDraft
from foldlog.projections.installation import installation
from foldlog.projections.render.interrupted import STARTED
from foldlog.projections.render.render import open_calls
from foldlog.projections.session import Session
from foldlog.projections.view.view import View
from foldlog.projections.wire.blocks import blocks, content_of, objects

NOT_RUN = "[The call did not run: the user stopped the turn.]"
STOPPED = "[The user stopped this call while it ran. It may have run in part.]"

SHOWN_ERRORS = 5
"""How many mistakes in its arguments a result lists."""


class Executor:
    """Runs the calls of a session.

    Args:
        session: The session; what happens is recorded there.
        tools: The tools there are.
        permissions: Who may do what.
        hooks: What runs before and after a call.
        cwd: The folder that the tools work in; without, that of ``folder_of``.
    """

    def __init__(
        self,
        session: Session,
        tools: Iterable[Tool],
        permissions: Permissions,
        *,
        hooks: Hooks | None = None,
        cwd: Path | str | None = None,
    ) -> None:
        self.session = session
        self.tools = {tool.name: tool for tool in tools}
        self.permissions = permissions
        self.hooks = hooks or Hooks()
        self.cwd = Path(cwd or folder_of(session)).resolve()
        self._seen: dict[Path, str] = {}

    def definitions(self) -> list[dict[str, Any]]:
        """Return the tools, as ``tools`` of a request holds them."""
        return [tool.definition() for tool in self.tools.values()]

    def run(self, call: Mapping[str, Any]) -> Event:
        """Run one call and record its result.

        Args:
            call: The ``tool_use`` block, as the model wrote it.

        Returns:
            The ``tool.result``.

        Raises:
            KeyboardInterrupt: A person stopped it; its result is recorded and says so.
            VersionConflict: Somebody else appended to the session.
            StoreError: The store cannot be written.
        """
        running = Running(call)
        try:
            result = self._answered(running)
        except KeyboardInterrupt as stop:
            self._record(call, stopped(running, stop))
            raise
        return self._record(call, result)

    def skip(self, call: Mapping[str, Any], why: str = NOT_RUN) -> Event:
        """Record that a call did not run: the rest of a batch, after a person stopped one of it."""
        return self._record(call, Result(why, is_error=True))

    def _answered(self, running: Running) -> Result:
        """Return what comes of a call. Only the store's own errors and Ctrl-C leave it."""
        call = running.call
        context = Context(
            self.session,
            self.cwd,
            str(call.get("id")),
            self._seen,
            lambda path: self.permissions.hides(path, self.cwd),
        )
        arguments: Any = call.get("input")
        try:
            tool = self._tool(call, arguments)
            subject = tool.touches(arguments, context)
        except Exception as error:
            return failed(error)
        verdict = self.permissions.decide(tool, arguments, subject, context)
        if not verdict.allowed:
            return Result(verdict.reason, is_error=True)
        self.session.append(EventDraft(STARTED, {"tool_use_id": context.call}))
        event = HookEvent("before", self.session.id, self.cwd, shown(call), None, subject)
        try:
            notes = self.hooks.run(event)
            if tool.touches(arguments, context) != subject:
                raise ToolFailed(f"{call['name']} means another file now than was allowed.")
        except Exception as error:
            return failed(error)
        running.began = True
        return self._with_hooks(self._ran(tool, arguments, context), event, notes)

    def _tool(self, call: Mapping[str, Any], arguments: Any) -> Tool:
        """Return the tool of a call, if it is one that can be run.

        Raises:
            ToolFailed: It cannot; the error tells the model what to do.
        """
        name, tool = call.get("name"), self.tools.get(str(call.get("name")))
        if tool is None:
            raise ToolFailed(f"Unknown tool {name!r}; choose from {', '.join(self.tools)}.")
        if problems := list(mistakes(tool.input_schema, arguments)):
            listed = "\n".join(f"- {problem}" for problem in problems)
            raise ToolFailed(f"The arguments of {name} are not valid. Call it again:\n{listed}")
        if self._has_begun(str(call.get("id"))):
            raise ToolFailed("This call began before, and no call runs twice. Make a new one.")
        return tool

    def _has_begun(self, call: str) -> bool:
        """Return whether a call began on this lineage, in any process.

        An id may be used again: what counts is what began after the reply that waits for it.
        """
        view = self.session.view()
        since = next((open.version for open in open_calls(view) if open.id == call), 0)
        begun = [e for e in view.behind(since) if e.type == STARTED]
        same = [event for event in begun if event.data.get("tool_use_id") == call]
        return len(same) >= _times(view, since, call)

    def _ran(self, tool: Tool, arguments: Any, context: Context) -> Result:
        try:
            return storable(tool.run(arguments, context))
        except Exception as error:
            return failed(error)

    def _with_hooks(self, result: Result, event: HookEvent, notes: list[str]) -> Result:
        told = {"content": result.content, "is_error": result.is_error}
        after = HookEvent("after", event.session, event.cwd, event.call, told, event.subject)
        return with_notes(result, [*notes, *self.hooks.run(after)])

    def _record(self, call: Mapping[str, Any], result: Result) -> Event:
        toolset = call.get("toolset_name")
        more = {"toolset_name": toolset} if toolset else {}  # the API demands that it be echoed
        id = str(call.get("id"))
        try:
            return self.session.tool_result(id, result.content, is_error=result.is_error, **more)
        except (InvalidDraft, ValueError, TypeError, RecursionError) as error:
            why = f"[The call ran, and its result could not be recorded: {error!s:.300}]"
            return self.session.tool_result(id, why, is_error=True, **more)


def _times(view: View, version: int, call: str) -> int:
    """Return how many calls of an event have an id; 1 where there is no such event."""
    said = blocks(content_of(view.event(version).data.get("content"))) if version else []
    return max(1, len([block for block in objects(said) if block.get("id") == call]))


@dataclass(slots=True)
class Running:
    """A call, and how far it came.

    Attributes:
        call: The ``tool_use`` block.
        began: The tool itself has begun.
    """

    call: Mapping[str, Any]
    began: bool = False


def stopped(running: Running, stop: KeyboardInterrupt) -> Result:
    """Return the result of a call that a person stopped."""
    if not running.began:
        return Result(NOT_RUN, is_error=True)
    output = stop.output.rstrip() if isinstance(stop, Stopped) else ""
    return storable(f"{output}\n{STOPPED}".lstrip(), is_error=True)


def failed(error: Exception) -> Result:
    """Return the result of a call that did not work."""
    told = str(error) if isinstance(error, ToolFailed | Refused) else ""
    return storable(told or f"{type(error).__name__}: {error}", is_error=True)


def shown(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a hook gets of a call."""
    return {key: call.get(key) for key in ("id", "name", "input")}


def mistakes(schema: Mapping[str, Any], arguments: Any) -> Iterable[str]:
    """Yield what in the arguments of a call is not as the tool's schema says, the first few."""
    from itertools import islice

    from jsonschema import Draft202012Validator

    found = Draft202012Validator(schema).iter_errors(arguments)
    for error in islice(found, SHOWN_ERRORS):
        place = ".".join(map(str, error.absolute_path))
        yield f"{place}: {error.message:.300}" if place else f"{error.message:.300}"


def folder_of(session: Session) -> str:
    """Return the folder that a session works in.

    That is the one it began in, if this installation recorded it, wherever a person continues it
    from; what another program or machine says about folders decides nothing here, and the current
    one is used.
    """
    known = session.store.exists(session.id)
    started = session.store.read(session.id, types=("session.started",)) if known else ()
    own = [event.data.get("cwd") for event in started if installation().recorded(event)]
    return next((cwd for cwd in reversed(own) if isinstance(cwd, str)), ".")


def named_folder(session: Session) -> str | None:
    """Return the folder that the log names, no matter who recorded it."""
    store = session.store
    return store.session(session.id).cwd if store.exists(session.id) else None
