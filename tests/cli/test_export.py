"""Exports: Markdown that people read, JSON Lines without loss, files that only the owner reads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from foldlog.cli.formats import jsonl, markdown
from foldlog.eventstore import EventDraft, EventStore
from foldlog.eventstore.codec import loads
from foldlog.projections import Session
from tests.cli.conftest import Run
from tests.cli.demo import DEMO, HOSTILE, clock, record
from tests.formats.exports.test_otel import collecting
from tests.projections.build import call, shown

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def store() -> Iterator[EventStore]:
    """The demo sessions, recorded at fixed times."""
    with EventStore(":memory:", clock=clock()) as store:
        record(store)
        yield store


def exported(store: EventStore, session: str, until: int | None = None) -> str:
    return b"".join(markdown.export_lines(store, session, until)).decode()


@pytest.mark.parametrize("session", [DEMO, HOSTILE])
@pytest.mark.parametrize("form", [markdown, jsonl], ids=["markdown", "jsonl"])
def test_an_export_is_what_it_was(store: EventStore, session: str, form: object) -> None:
    """FOLDLOG_WRITE_GOLDEN=1 writes the files anew: look at what changed."""
    content = b"".join((markdown if form is markdown else jsonl).export_lines(store, session))
    file = GOLDEN / f"{session}.{'md' if form is markdown else 'jsonl'}"
    if os.environ.get("FOLDLOG_WRITE_GOLDEN"):
        file.write_bytes(content)
    assert content == file.read_bytes()


def test_jsonl_holds_every_event_without_loss(store: EventStore) -> None:
    lines = [loads(line) for line in jsonl.export_lines(store, HOSTILE)]
    events = list(store.read(HOSTILE))
    assert [line["data"] for line in lines] == [event.data for event in events]
    assert [line["hash"] for line in lines] == [event.hash for event in events]
    assert [line["meta"] for line in lines] == [event.meta for event in events]


class TestMarkdown:
    def test_what_the_model_no_longer_sees_is_marked_and_why(self, store: EventStore) -> None:
        page = exported(store, DEMO)
        assert "### User · 4 · 2026-11-29 12:00:03 · *not seen any more*" in page
        assert "*Not seen any more: in the summary 12, by edit 13 (`summarize`).*" in page
        assert "### User · 10 · 2026-11-29 12:00:09\n" in page
        assert "*Not seen any more: left behind by the rewind at version 18.*" in page

    def test_before_the_compaction_nothing_is_marked_but_what_was_cleared(
        self, store: EventStore
    ) -> None:
        assert "not seen any more" not in exported(store, DEMO, until=10)
        page = exported(store, DEMO, until=11)
        assert page.count("· *not seen any more*") == 1
        assert "Result · 7 · *not seen any more*" in page

    def test_calls_are_folded_with_their_results(self, store: EventStore) -> None:
        tokens = MarkdownIt("commonmark").parse(exported(store, DEMO))
        html = [token.content.strip() for token in tokens if token.type == "html_block"]
        assert "<details><summary><code>Bash(command: ls)</code></summary>" in html
        assert "<details><summary><code>Bash(command: pytest)</code> · failed</summary>" in html
        opened = sum(part.startswith("<details>") for part in html)
        assert opened == html.count("</details>") == len(html) / 2

    def test_arguments_are_shown_as_they_are_written(self, store: EventStore) -> None:
        session = Session(store, "arguments")
        session.assistant([call("x", "Write", path="要.md", edits=[{"new": "größe 🎉 \ud800"}])])
        page = exported(store, "arguments")
        assert "要.md" in page
        assert "größe 🎉" in page
        assert "\\u8981" not in page

    def test_a_call_without_a_result_says_so(self, store: EventStore) -> None:
        assert "<code>Bash(command: sleep 9)</code> · no result" in exported(store, DEMO)

    def test_long_outputs_are_shortened_with_a_pointer(self, store: EventStore) -> None:
        page = exported(store, DEMO)
        assert "FAILED test_39" in page
        assert "FAILED test_40" not in page
        assert "more characters: `foldlog show demo-1 7`" in page

    def test_compactions_are_marked(self, store: EventStore) -> None:
        page = exported(store, DEMO)
        assert "---\n\n**Compaction** · 13 · `summarize`: over budget. Covers 4 to 9;" in page

    def test_a_fence_in_an_output_does_not_end_its_block(self, store: EventStore) -> None:
        session = Session(store, "fences")
        session.assistant([call("x")])
        session.tool_result("x", "```\n</details>\n````\n# not a heading")
        tokens = MarkdownIt("commonmark").parse(exported(store, "fences"))
        (fence,) = [t for t in tokens if t.type == "fence" and "heading" in t.content]
        assert fence.content == "```\n</details>\n````\n# not a heading\n"
        assert [t for t in tokens if t.type == "heading_open" and t.tag == "h1"] == tokens[:1]

    def test_a_reply_in_many_events_has_one_title(self, store: EventStore) -> None:
        session = Session(store, "lines")
        session.user("go")
        for text in ("one", "two"):
            session.assistant([{"type": "text", "text": text}], id="msg_1")
        assert exported(store, "lines").count("### Assistant") == 1

    def test_a_preview_is_seen_in_part(self, store: EventStore) -> None:
        session = Session(store, "previews")
        session.assistant([call("x")])
        session.tool_result("x", "0123456789")
        session.edit("r", "long", [shown(2, 2, "preview", chars=2, before="", after="…")])
        assert "Result · 2 · *seen in part*" in exported(store, "previews")

    def test_an_unreadable_line_is_named(self, store: EventStore) -> None:
        store.append("bad", [EventDraft("source.unreadable", {"text": "{", "reason": "no JSON"})])
        assert "**Unreadable** · 1: no JSON. `foldlog show bad 1`" in exported(store, "bad")


class TestFiles:
    def test_a_file_is_its_owner_s_and_not_overwritten(self, run: Run, tmp_path: Path) -> None:
        target = tmp_path / "session.md"
        assert run("export", DEMO, "-o", str(target)).exit_code == 0
        content = target.read_bytes()
        assert content == run("export", DEMO).stdout_bytes
        if os.name != "nt":
            assert target.stat().st_mode & 0o077 == 0
        target.write_text("mine")
        refused = run("export", DEMO, "-o", str(target))
        assert refused.exit_code == 2
        assert "--force" in refused.stderr
        assert target.read_text() == "mine"
        assert run("export", DEMO, "-o", str(target), "--force").exit_code == 0
        assert target.read_bytes() == content

    def test_an_export_that_fails_leaves_nothing(self, run: Run, db: Path, tmp_path: Path) -> None:
        edit = {"rule": "r", "reason": "", "edits": [{"first": 99, "last": 9, "shown": "hidden"}]}
        with EventStore(db) as store:
            store.append(DEMO, [EventDraft("view.edited", edit)])
        before = set(tmp_path.iterdir())
        assert run("export", DEMO, "-o", str(tmp_path / "x.md")).exit_code == 2
        assert set(tmp_path.iterdir()) == before

    def test_a_device_is_written_to_and_stays(self, run: Run) -> None:
        if not Path(os.devnull).is_char_device():
            pytest.skip("there is no such device")
        assert run("export", DEMO, "-o", os.devnull).exit_code == 0
        assert Path(os.devnull).is_char_device()

    def test_at_a_version_only_what_was_there_is_exported(self, run: Run) -> None:
        lines = run("export", DEMO, "--to", "jsonl", "--at", "edit:1").stdout.splitlines()
        assert [loads(line)["version"] for line in lines] == list(range(1, 12))


class TestLosses:
    def test_what_is_not_carried_is_counted_on_stderr(self, run: Run) -> None:
        done = run("export", DEMO, "--to", "openai", "--whole")
        assert done.exit_code == 0
        assert loads(done.stdout.encode())["input"]
        assert "Not carried: mark of a failed result (2 times): only its text says so." in (
            done.stderr.splitlines()
        )

    def test_a_transcript_says_what_it_has_no_line_for(self, run: Run) -> None:
        done = run("export", DEMO, "--to", "claude-code")
        assert done.stderr.splitlines() == [
            "Not carried: system prompt: a transcript has no line for it.",
            "Not carried: set of tools: a transcript has no line for it.",
        ]

    def test_a_view_that_is_carried_whole_says_nothing(self, run: Run) -> None:
        done = run("export", DEMO, "--to", "openai", "--at", "5")
        assert (done.exit_code, done.stderr) == (0, "")

    def test_a_trajectory_with_its_images_goes_into_a_folder(
        self, run: Run, tmp_path: Path
    ) -> None:
        done = run("export", DEMO, "--to", "atif", "--at", "10", "-o", f"{tmp_path}/run/")
        assert (done.exit_code, done.stderr) == (0, "")
        assert (tmp_path / "run" / "trajectory.json").is_file()
        (image,) = (tmp_path / "run" / "images").iterdir()
        assert image.read_bytes().startswith(b"\x89PNG")

    def test_openai_is_one_file(self, run: Run, tmp_path: Path) -> None:
        done = run("export", DEMO, "--to", "openai", "-o", f"{tmp_path}/run/")
        assert done.exit_code == 2
        assert "openai makes one file. Name a file, not a folder." in done.stderr

    def test_only_otel_has_an_endpoint_and_content(self, run: Run) -> None:
        for option in (["--content"], ["--endpoint", "http://127.0.0.1:9"]):
            refused = run("export", DEMO, "--to", "openai", *option)
            assert refused.exit_code == 2
            assert "--endpoint and --content are for --to otel." in refused.stderr

    def test_spans_are_sent_to_a_collector(self, run: Run) -> None:
        with collecting() as collector:
            done = run("export", DEMO, "--to", "otel", "--endpoint", collector.url)
        assert done.exit_code == 0, done.output
        assert done.stdout == f"{len(collector.ids)} spans were sent to {collector.url}.\n"
