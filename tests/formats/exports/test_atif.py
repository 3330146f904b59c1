"""Trajectories: what Harbor's own models take (tests/fixtures/harbor-0.26.0)."""

from __future__ import annotations

import json
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats.atif import exporting
from foldlog.cli.formats.conversation import Conversation
from foldlog.eventstore import EventDraft, EventStore
from foldlog.eventstore.errors import SourceError
from foldlog.projections import Session
from tests.formats.exports.conftest import exported, is_golden
from tests.formats.exports.sessions import CHILD, EVERYTHING, FORK, USAGE
from tests.formats.exports.test_openai import sessions

HARBOR = Path(__file__).parents[2] / "fixtures" / "harbor-0.26.0"


@cache
def harbor() -> Any:
    """Harbor's model of a trajectory."""
    sys.path.insert(0, str(HARBOR))
    try:
        return import_module("harbor.models.trajectories").Trajectory
    finally:
        sys.path.remove(str(HARBOR))


@pytest.fixture
def model() -> Any:
    return harbor()


def trajectory(store: EventStore, session: str, model: Any, **options: Any) -> dict[str, Any]:
    """A trajectory, once Harbor's model took it without changing anything."""
    content, _ = exported(store, session, "atif", **options)
    made: dict[str, Any] = json.loads(content)
    assert model.model_validate(made).to_json_dict() == made
    return made


def test_it_is_what_it_was(store: EventStore, model: Any) -> None:
    content, lost = exported(store, EVERYTHING, "atif")
    trajectory(store, EVERYTHING, model)
    assert is_golden("atif.json", content)
    assert is_golden("atif.lost.json", json.dumps(lost, indent=1).encode() + b"\n")


def test_harbor_takes_the_transcripts_of_claude_code(model: Any) -> None:
    with EventStore(":memory:") as store:
        for session in sorted(set(sessions(store))):
            for whole in (False, True):
                made = trajectory(store, session, model, whole=whole)
                assert len(made["steps"]) == made["final_metrics"]["total_steps"]


def test_a_reply_and_the_results_of_its_calls_are_one_step(store: EventStore, model: Any) -> None:
    steps = trajectory(store, EVERYTHING, model)["steps"]
    (looked,) = [step for step in steps if step["message"] == "I look."]
    assert [call["tool_call_id"] for call in looked["tool_calls"]] == [
        result["source_call_id"] for result in looked["observation"]["results"]
    ]
    assert looked["metrics"]["prompt_tokens"] == 45
    assert looked["metrics"]["cached_tokens"] == 30


def test_images_are_files_in_a_folder(store: EventStore, model: Any) -> None:
    conversation = Conversation.of(store, EVERYTHING)
    files = {path: b"".join(content) for path, content in exporting.export_view_files(conversation)}
    made = json.loads(files.pop("trajectory.json"))
    assert model.model_validate(made).has_multimodal_content()
    named = {
        part["source"]["path"]
        for step in made["steps"]
        for content in (step["message"], *_results(step))
        for part in (content if isinstance(content, list) else [])
        if part["type"] == "image"
    }
    assert named == {*files, "https://example.com/a.webp"}
    assert [content[:4] for content in files.values()] == [b"\x89PNG"]


def _results(step: dict[str, Any]) -> list[Any]:
    return [result.get("content") for result in step.get("observation", {}).get("results", [])]


def test_a_subagent_is_embedded_and_its_call_refers_to_it(store: EventStore, model: Any) -> None:
    made = trajectory(store, EVERYTHING, model)
    (child,) = made["subagent_trajectories"]
    assert child["trajectory_id"] == CHILD
    references = [
        result["subagent_trajectory_ref"]
        for step in made["steps"]
        for result in step.get("observation", {}).get("results", [])
        if "subagent_trajectory_ref" in result
    ]
    assert references == [[{"trajectory_id": CHILD, "session_id": CHILD}]]
    own = sum(step.get("metrics", {}).get("cost_usd", 0) for step in made["steps"])
    theirs = child["final_metrics"]["total_cost_usd"]
    assert made["final_metrics"]["total_cost_usd"] == pytest.approx(own + theirs)


def test_what_a_fork_inherits_is_copied(store: EventStore, model: Any) -> None:
    steps = trajectory(store, FORK, model)["steps"]
    copied = [step["message"] for step in steps if not step.get("is_copied_context")]
    assert copied == ["Be brief.", "Elsewhere."]


def test_a_reply_that_the_harness_wrote_is_no_call_of_a_model(
    store: EventStore, model: Any
) -> None:
    session = Session(store, "synthetic")
    session.user("hi")
    session.assistant([{"type": "text", "text": "No."}], model="<synthetic>", usage=USAGE)
    (_, said) = trajectory(store, "synthetic", model)["steps"]
    assert said["llm_call_count"] == 0
    assert "metrics" not in said


def test_a_session_that_shows_nothing_has_no_trajectory(store: EventStore) -> None:
    Session(store, "empty").append(EventDraft("session.started", {"title": "t"}))
    with pytest.raises(SourceError, match="needs a step"):
        exported(store, "empty", "atif")
