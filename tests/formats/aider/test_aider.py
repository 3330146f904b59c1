"""Histories of aider: a session for each chat, as far as Markdown says what was said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import import_path
from foldlog.cli.formats.testing import STEPS, ImporterTests, Sample, contents, cuts
from foldlog.eventstore import EventStore, Store
from foldlog.projections import Session, render
from tests.formats.claude_code.cases import CORPUS

DATA = Path(__file__).parent / "data"
CHATS = DATA / "monochromatic_excerpt.md"

HISTORY = """
# aider chat started at 2026-11-30 12:00:00

> Aider v0.86.2
> Main model: gpt-5 with diff edit format

#### Change a.py.
#### And b.py.

I change both.

# A heading of the model

> Tokens: 2.4k sent, 1.0k cache write, 300 cache hit, 1,100 received. Cost: $0.02 message.
"""


class TestConformance(ImporterTests):
    format = "aider"
    samples = (
        Sample(CHATS, {"message.user": 4, "message.assistant": 4, "aider.output": 7}, broken=None),
        Sample(DATA / "zen_small.md", {"message.user": 8, "aider.output": 12}, broken=None),
    )

    def test_a_growing_file_ends_as_the_whole_one(
        self, target: Store, copy: Path, sample: Sample
    ) -> None:
        """A text that was cut off is kept, and not shown: nothing says where a text ends."""
        whole = copy.read_bytes()
        for size in sorted(cuts(whole, STEPS)):
            copy.write_bytes(whole[:size])
            self.imported(target, copy)
        copy.write_bytes(whole)
        self.imported(target, copy)
        with EventStore(":memory:") as at_once:
            self.imported(at_once, copy)
            shown = {name: request for name, (_, request) in contents(target).items()}
            wanted = {name: request for name, (_, request) in contents(at_once).items()}
        assert {name: shown[name] for name in wanted} == wanted


@pytest.fixture
def store() -> Iterator[EventStore]:
    with EventStore(":memory:") as opened:
        yield opened


@pytest.fixture
def session(store: EventStore, tmp_path: Path) -> Session:
    path = tmp_path / "demo" / ".aider.chat.history.md"
    path.parent.mkdir()
    path.write_text(HISTORY, encoding="utf-8")
    (report,) = import_path(store, path)
    return Session(store, str(report.session))


def messages(session: Session) -> Any:
    return render(session.view(), open="recover")["messages"]


def test_the_marks_say_who_speaks(session: Session) -> None:
    person, model = messages(session)
    assert person == {"role": "user", "content": "Change a.py.\nAnd b.py."}
    assert model["content"] == "I change both.\n\n# A heading of the model"
    outputs = [e.data["text"] for e in session.store.read(session.id, types=["aider.output"])]
    assert outputs[0] == "Aider v0.86.2\nMain model: gpt-5 with diff edit format"


def test_what_is_known_of_a_chat_is_recorded_and_that_it_is_little(session: Session) -> None:
    started = session.store.get(session.id, 1)
    assert session.id == "demo-2026-11-30T12-00-00"
    assert started.meta["occurred"] == "2026-11-30T12:00:00"
    origin = started.data["origin"]
    assert (origin["harness"], origin["version"], origin["confidence"]) == (
        "aider",
        "0.86.2",
        "low",
    )
    assert Path(started.data["cwd"]).name == "demo"


def test_the_model_and_the_tokens_of_a_reply_are_those_that_the_program_printed(
    session: Session,
) -> None:
    (reply,) = session.store.read(session.id, types=["message.assistant"])
    assert reply.data["model"] == "gpt-5"
    assert reply.data["usage"] == {
        "input_tokens": 1100,
        "cache_creation_input_tokens": 1000,
        "cache_read_input_tokens": 300,
        "output_tokens": 1100,
    }


def test_chats_that_began_in_the_same_second_are_two(store: EventStore, tmp_path: Path) -> None:
    path = tmp_path / "history.md"
    path.write_text(HISTORY + HISTORY, encoding="utf-8")
    first, second = import_path(store, path)
    assert first.session != second.session
    assert first.new == second.new


@pytest.mark.skipif(not (CORPUS / "aider").is_dir(), reason="the corpus is not here")
def test_the_corpus_is_imported(store: EventStore) -> None:
    reports = list(import_path(store, CORPUS / "aider"))
    assert len(reports) == 1134 + 19 + 4
    assert not [report for report in reports if report.rejected or report.format != "aider"]
