"""A session as one ATIF trajectory: a step for each reply with the results of its calls.

The form is version 1.7 of Harbor's ``models/trajectories`` (package ``harbor`` 0.26), which know
neither branches nor compactions: the steps are those of the view, summaries and markers are steps
of the system. What a fork inherits is ``is_copied_context``. Subagents are embedded, and the
results of the calls that started them refer to them. Images are files: ``export -o FOLDER/`` writes
them.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import NamedTuple, TypeAlias

from foldlog.cli.formats.conversation import Conversation, Turn, count, subagents
from foldlog.cli.formats.losses import Losses
from foldlog.cli.formats.portable import Media, Portable, Text, portable, result_content
from foldlog.eventstore.clock import text as iso
from foldlog.eventstore.codec import dumps
from foldlog.eventstore.errors import SourceError
from foldlog.eventstore.events import Json
from foldlog.projections.tokens.prices import cost
from foldlog.projections.wire.blocks import CALLS, call_id, is_server_result, kind

VERSION = "ATIF-v1.7"

IMAGES = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}
"""The media types of images that a trajectory may name, and the endings of their files."""

Step: TypeAlias = dict[str, Json]


def export_view(conversation: Conversation) -> Iterator[bytes]:
    """Yield the trajectory as one JSON document; images that are no addresses are left out."""
    yield dumps(_Trajectory(conversation, None).to_json()).lstrip() + b"\n"


def export_view_files(conversation: Conversation) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield ``trajectory.json`` and the files of its images."""
    files: dict[str, bytes] = {}
    made = dumps(_Trajectory(conversation, files).to_json()).lstrip() + b"\n"
    yield "trajectory.json", [made]
    yield from ((path, [content]) for path, content in files.items())


class _Metrics(NamedTuple):
    """What a reply cost."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    cost_usd: float | None

    @classmethod
    def of(cls, turn: Turn) -> _Metrics | None:
        usage = turn.usage
        if usage is None or not turn.was_asked:
            return None
        cached = count(usage.get("cache_read_input_tokens"))
        prompt = count(usage.get("input_tokens")) + cached
        prompt += count(usage.get("cache_creation_input_tokens"))
        dollars = cost(usage, turn.model or "?", iso(turn.at))
        paid = None if dollars is None else float(dollars)
        return cls(prompt, count(usage.get("output_tokens")), cached, paid)

    def to_json(self) -> Json:
        return {key: value for key, value in self._asdict().items() if value is not None}


class _Trajectory:
    """One trajectory on its way.

    Args:
        conversation: What it tells.
        files: Takes the images by their paths; None where only one document is written.
    """

    def __init__(self, conversation: Conversation, files: dict[str, bytes] | None) -> None:
        self._told = conversation
        self._losses: Losses = conversation.losses
        self._files = files
        self._children = _children(conversation)

    def to_json(self) -> Json:
        """Return the document.

        Raises:
            SourceError: The view shows nothing: a trajectory needs a step.
        """
        turns = self._told.turns
        steps = [*self._system(), *(self._step(turn) for turn in turns if turn.kind != "result")]
        if not steps:
            raise SourceError(
                f"session {self._told.id!r} shows nothing at version {self._told.view.version},"
                " and a trajectory needs a step. Choose another version with --at."
            )
        embedded = [_Trajectory(child, self._files).to_json() for child in self._children.values()]
        made = {
            "schema_version": VERSION,
            "session_id": self._told.id,
            "trajectory_id": self._told.id,
            "agent": self._agent(),
            "steps": [{"step_id": number, **step} for number, step in enumerate(steps, 1)],
            "notes": self._notes(),
            "final_metrics": _total(turns, embedded, len(steps)),
            "subagent_trajectories": embedded or None,
        }
        return _there(made)

    # -- the document ------------------------------------------------------------------------

    def _agent(self) -> Json:
        tools = [
            {
                "type": "function",
                "function": {
                    "name": tool.get("name"),
                    "description": str(tool.get("description") or ""),
                    "parameters": tool.get("input_schema") or {},
                },
            }
            for tool in self._told.tools
        ]
        harness = self._told.harness
        return _there(
            {
                "name": str(harness.get("harness") or "foldlog"),
                "version": str(harness.get("version") or "unknown"),
                "model_name": self._told.model,
                "tool_definitions": tools or None,
            }
        )

    def _notes(self) -> str:
        what = "All that happened" if self._told.whole else "What the model sees"
        return f"{what} at version {self._told.view.version}, exported by foldlog."

    def _system(self) -> list[Step]:
        prompt = self._told.system
        return [{"source": "system", "message": prompt}] if prompt else []

    # -- steps -------------------------------------------------------------------------------

    def _step(self, turn: Turn) -> Step:
        made: Step = {"timestamp": iso(turn.at), **self._said(turn)}
        if turn.events and turn.events[0].session != self._told.id:
            made["is_copied_context"] = True
        return _there({**made, "extra": {"version": turn.version, **made.get("extra", {})}})

    def _said(self, turn: Turn) -> Step:
        if turn.role == "assistant" and turn.kind == "message":
            return self._reply(turn)
        message = self._content(portable(turn.blocks, self._losses))
        if turn.kind == "message" and turn.role == "user":
            return {"source": "user", "message": message}
        return {"source": "system", "message": message, "extra": {"kind": turn.kind}}

    def _reply(self, turn: Turn) -> Step:
        calls = [block for block in turn.blocks if kind(block) in CALLS]
        answers = [block for block in turn.blocks if is_server_result(kind(block))]
        told = {id(block) for block in (*calls, *answers, *turn.thinking)}
        rest = [block for block in turn.blocks if id(block) not in told]
        results = [*map(self._server_result, answers), *self._results(turn)]
        metrics = _Metrics.of(turn)
        return {
            "source": "agent",
            "model_name": turn.model,
            "message": self._content(portable(rest, self._losses)),
            "reasoning_content": _reasoning(turn) if turn.was_asked else None,
            "tool_calls": list(map(_call, calls)) or None,
            "observation": {"results": results} if results else None,
            "metrics": metrics.to_json() if metrics else None,
            "llm_call_count": int(turn.was_asked),
            "extra": _there({"stop_reason": turn.stop_reason, "message_id": turn.reply}),
        }

    def _results(self, turn: Turn) -> Iterator[Json]:
        for block in turn.calls:
            result = self._told.results.get(str(call_id(block)))
            if result is not None:
                yield self._result(result)

    def _result(self, turn: Turn) -> Json:
        id = str(call_id(turn.result))
        child = self._children.get(id)
        failed = {"is_error": True} if turn.result.get("is_error") else None
        return _there(
            {
                "source_call_id": id,
                "content": self._content(result_content(turn.result, self._losses)),
                "subagent_trajectory_ref": [_reference(child)] if child else None,
                "extra": failed,
            }
        )

    def _server_result(self, block: Json) -> Json:
        """Return the result of a tool that the API ran, its content as JSON."""
        content = dumps(block.get("content")).decode().lstrip()
        return {"source_call_id": str(block.get("tool_use_id")), "content": content}

    # -- content -----------------------------------------------------------------------------

    def _content(self, parts: Iterable[Portable]) -> Json:
        """Return a text; a list of parts where there are images."""
        found = [shown for part in parts if (shown := self._part(part)) is not None]
        if all(part["type"] == "text" for part in found):
            return "\n\n".join(part["text"] for part in found)
        return found

    def _part(self, part: Portable) -> Json | None:
        if isinstance(part, Text):
            return {"type": "text", "text": part.text}
        if part.kind != "image":
            self._losses.add("document", "a trajectory has texts and images only")
            return None
        path = self._path(part)
        if path is None:
            return {"type": "text", "text": "[image]"}
        ending = path.rpartition(".")[2].lower()
        named = next((t for t, end in IMAGES.items() if end == ending), "image/png")
        type_ = part.type if part.type in IMAGES else named
        return {"type": "image", "source": {"media_type": type_, "path": path}}

    def _path(self, image: Media) -> str | None:
        """Return where an image is: its address, or the file that it is written to."""
        if image.url:
            return image.url
        content = _decoded(image)
        if content is None or image.type not in IMAGES:
            self._losses.add("image", "it is of a type that a trajectory cannot name")
            return None
        if self._files is None:
            self._losses.add("image", "they are files of their own; write to a folder: -o FOLDER/")
            return None
        path = f"images/{sha256(content).hexdigest()[:16]}.{IMAGES[image.type]}"
        self._files[path] = content
        return path


def _children(conversation: Conversation) -> dict[str, Conversation]:
    """Return what subagents saw, by the ids of the calls that started them."""
    calls = {str(call_id(block)) for turn in conversation.turns for block in turn.calls}
    found: dict[str, Conversation] = {}
    for call, session in subagents(conversation.store, conversation.id).items():
        child = Conversation.of(conversation.store, session, losses=conversation.losses)
        if call in calls and child.turns:
            found[call] = child
    return found


def _reference(child: Conversation) -> Json:
    return {"trajectory_id": child.id, "session_id": child.id}


def _call(block: Json) -> Json:
    given = block.get("input")
    made = {
        "tool_call_id": str(call_id(block)),
        "function_name": str(block.get("name")),
        "arguments": given if isinstance(given, dict) else {},
    }
    ran = {"ran_by": "the API"} if kind(block) != "tool_use" else {}
    raw = {} if isinstance(given, dict) else {"raw_arguments": given}
    return {**made, "extra": {**ran, **raw}} if ran or raw else made


def _reasoning(turn: Turn) -> str | None:
    texts = (str(block.get("thinking") or "") for block in turn.thinking)
    return "\n\n".join(text for text in texts if text) or None


def _total(turns: Iterable[Turn], embedded: Iterable[Json], steps: int) -> Json:
    """Return the sums of all steps; the cost is that of subagents, too, and left out if unknown."""
    found = [metrics for turn in turns if (metrics := _Metrics.of(turn))]
    costs = [metrics.cost_usd for metrics in found]
    costs += [child["final_metrics"].get("total_cost_usd") for child in embedded]
    known = [cost for cost in costs if cost is not None]
    return _there(
        {
            "total_prompt_tokens": sum(metrics.prompt_tokens for metrics in found),
            "total_completion_tokens": sum(metrics.completion_tokens for metrics in found),
            "total_cached_tokens": sum(metrics.cached_tokens for metrics in found),
            "total_cost_usd": sum(known) if known and len(known) == len(costs) else None,
            "total_steps": steps,
        }
    )


def _decoded(image: Media) -> bytes | None:
    try:
        return b64decode(image.data or "", validate=True)
    except (Error, ValueError):
        return None


def _there(fields: dict[str, Json]) -> dict[str, Json]:
    """Return the fields that are not null: Harbor's models know no others."""
    return {key: value for key, value in fields.items() if value is not None}
