"""The page of a session: its structure, and that nothing in it obeys a transcript."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from foldlog.cli.formats import html
from foldlog.cli.formats.html.edits import diff_lines, edits_of
from foldlog.cli.formats.html.markdown import markdown
from foldlog.cli.formats.telling import Telling
from foldlog.eventstore import EventDraft, EventStore
from foldlog.projections import Session
from foldlog.projections.explain.narrative import Call, narrate
from tests.cli.demo import DEMO
from tests.cli.demo import record as record_demo
from tests.formats.html.outline import Outline
from tests.formats.html.showcase import CHILD, HOSTILE, HOSTILE_TEXTS, SHOWCASE
from tests.projections.build import call, shown

GOLDEN = Path(__file__).parent / "golden"


def exported(store: EventStore, session: str, until: int | None = None) -> str:
    return b"".join(html.export_lines(store, session, until)).decode()


def main_of(page: str) -> str:
    """The part of a page that holds the conversation."""
    return page[page.index("<main") : page.index("</main>")]


@pytest.mark.parametrize("session", [SHOWCASE, CHILD, HOSTILE])
def test_a_page_is_what_it_was(filled: EventStore, session: str) -> None:
    """FOLDLOG_WRITE_GOLDEN=1 writes the outlines anew: look at what changed."""
    outline = "\n".join(Outline(exported(filled, session)).lines) + "\n"
    file = GOLDEN / f"{session}.txt"
    if os.environ.get("FOLDLOG_WRITE_GOLDEN"):
        file.write_text(outline, encoding="utf-8")
    assert outline == file.read_text(encoding="utf-8")


class TestConversation:
    def test_markdown_is_rendered_and_code_is_coloured(self, filled: EventStore) -> None:
        page = exported(filled, SHOWCASE)
        assert "<strong>floats</strong>" in page
        assert '<td class="right">' in page
        assert '<i class="k">from</i>' in page
        assert 'href="https://docs.python.org/3/library/decimal.html"' in page

    def test_an_edit_is_a_diff_that_marks_what_differs(self, filled: EventStore) -> None:
        page = exported(filled, SHOWCASE)
        assert "<del>    result = <mark>0.0</mark>\n</del>" in page
        assert "<ins>    result = <mark>Decimal(&#34;0.00&#34;)</mark>\n</ins>" in page

    def test_calls_and_thinking_are_folded(self, filled: EventStore) -> None:
        folded = [
            given
            for tag, given in Outline(exported(filled, SHOWCASE)).elements
            if tag == "details" and "call" in (given.get("class") or "")
        ]
        assert len(folded) == 6
        assert all("open" not in given for given in folded)

    def test_an_image_is_in_the_page(self, filled: EventStore) -> None:
        images = [
            given for tag, given in Outline(exported(filled, SHOWCASE)).elements if tag == "img"
        ]
        assert [str(image["src"])[:22] for image in images] == ["data:image/png;base64,"]

    def test_terminal_colours_are_left_out_of_outputs(self, filled: EventStore) -> None:
        assert "FAILED test_total" in exported(filled, SHOWCASE)

    def test_the_contents_name_messages_of_the_user_and_compactions(
        self, filled: EventStore
    ) -> None:
        page = exported(filled, SHOWCASE)
        entries = re.findall(r'<li class="(\w+)"><a href="#v(\d+)">', page)
        assert entries == [
            *[("prompt", "4"), ("prompt", "9"), ("compaction", "12")],
            *[("prompt", "19"), ("rewind", "20")],
        ]

    def test_every_event_that_is_shown_has_one_anchor(self, filled: EventStore) -> None:
        for session in (SHOWCASE, HOSTILE):
            elements = Outline(exported(filled, session)).elements
            ids = [str(given["id"]) for _, given in elements if given.get("id")]
            assert len(ids) == len(set(ids))
        ids = [
            str(given["id"])
            for _, given in Outline(exported(filled, SHOWCASE)).elements
            if given.get("id")
        ]
        assert {f"v{version}" for version in range(2, 22)} <= set(ids)

    def test_a_reply_in_many_events_has_an_anchor_for_each(self, store: EventStore) -> None:
        session = Session(store, "lines")
        session.user("go")
        for text in ("one", "two"):
            session.assistant([{"type": "text", "text": text}], id="msg_1")
        page = exported(store, "lines")
        assert page.count("<h2>Assistant") == 1
        assert '<section class="turn assistant s-whole" id="v2"' in page
        assert 'id="v3"' in page


class TestSight:
    def test_each_part_says_how_the_model_sees_it_and_why(self, filled: EventStore) -> None:
        page = main_of(exported(filled, SHOWCASE))
        sections = dict(re.findall(r'class="turn \w+ s-(\w+)" id="v(\d+)"', page)[::-1])
        assert set(sections) == {"summary", "whole", "left"}
        assert "summary 11" in page
        assert "summarize: the context is 91% full" in page
        assert '<a class="badge s-left" href="#v20"' in page
        assert '<a class="badge s-part" href="#v18"' in page

    def test_at_an_earlier_version_it_is_as_it_was_then(self, filled: EventStore) -> None:
        page = main_of(exported(filled, SHOWCASE, until=10))
        assert "summary 11" not in page
        assert '<a class="badge s-cleared" href="#v10"' in page
        assert 'id="v12"' not in page

    def test_the_rail_shows_runs_and_compactions(self, filled: EventStore) -> None:
        page = exported(filled, SHOWCASE)
        rail = page[page.index('<nav class="rail"') :]
        runs = re.findall(r'class="run r-(\w+)"', rail)
        assert runs == ["summary", "whole", "part", "left", "whole"]
        assert re.findall(r'href="#(v\d+)" aria-label="([^"]+)" class="mark', rail) == [
            ("v12", "Compaction 12"),
            ("v20", "Rewind 20"),
        ]
        heights = [float(size) for size in re.findall(r'height="([\d.]+)%" class="run', rail)]
        assert sum(heights) == pytest.approx(100, abs=0.1)


class TestSafety:
    def test_the_policy_allows_what_is_in_the_page_and_nothing_else(
        self, filled: EventStore
    ) -> None:
        page = exported(filled, HOSTILE)
        (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
        style, script = (
            "sha256-" + b64encode(sha256(content.encode()).digest()).decode()
            for tag in ("style", "script")
            for content in re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[-1:]
        )
        assert policy.replace("&#39;", "'").split("; ") == [
            "default-src 'none'",
            f"script-src '{script}'",
            f"style-src '{style}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]

    def test_a_hostile_transcript_adds_no_element_and_no_attribute(
        self, filled: EventStore
    ) -> None:
        for tag, given in Outline(exported(filled, HOSTILE)).elements:
            assert tag not in ("iframe", "object", "embed", "base", "video", "audio")
            assert not [name for name in given if name.startswith("on") or name == "style"]
            assert given.get("http-equiv") in (None, "Content-Security-Policy")
            for name in ("href", "src", "action"):
                address = given.get(name) or "#"
                assert address.startswith(("#", "data:,", "data:image/png;", "https://tracker"))
                assert tag == "a" or not address.startswith("https:")
        assert exported(filled, HOSTILE).count("<script>") == 1

    def test_what_is_invisible_is_written_out(self, filled: EventStore) -> None:
        page = exported(filled, HOSTILE)
        assert "\\u202egnirts\\u202c" in page
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u200b\u202a-\u202e\u2066-\u2069]", page)

    def test_remote_images_are_shown_as_their_addresses(self) -> None:
        page = markdown("![a pixel](https://tracker.invalid/p.png)")
        assert "<img" not in page
        assert "<code>https://tracker.invalid/p.png</code>" in page

    @pytest.mark.parametrize("text", HOSTILE_TEXTS)
    def test_hostile_markdown_makes_no_tag_of_its_own(self, text: str) -> None:
        tags = {tag for tag, _ in Outline(str(markdown(text))).elements}
        assert tags <= {"p", "a", "h4", "pre", "code", "span", "i"}

    def test_links_lead_to_the_web_or_to_a_mailbox(self) -> None:
        page = markdown("[a](https://a.example) [b](file:///etc/passwd) [c](JavaScript:x) [d](e)")
        assert re.findall('href="([^"]*)"', page) == ["https://a.example"]


class TestEdits:
    def test_no_difference_is_lost(self) -> None:
        old, new = "a\nb\nc\nd\n", "a\nB\nc\nd\ne\n"
        lines = diff_lines(old, new)
        texts = {sign: ["".join(line[1:]) for line in lines if line.sign == sign] for sign in "+- "}
        assert texts == {"-": ["b"], "+": ["B", "e"], " ": ["a", "c", "d"]}

    @pytest.mark.parametrize(
        "arguments",
        [
            {"file_path": "a.py", "old_string": "x", "new_string": "y"},
            {"command": "str_replace", "path": "a.py", "old_str": "x", "new_str": "y"},
            {"filePath": "a.py", "edits": [{"oldText": "x", "newText": "y"}]},
        ],
    )
    def test_the_forms_of_several_harnesses_are_known(self, arguments: dict[str, object]) -> None:
        (edit,) = edits_of(arguments)
        assert edit.path == "a.py"
        assert [(line.sign, line.before + line.changed) for line in edit.lines or ()] == [
            ("-", "x"),
            ("+", "y"),
        ]

    def test_a_whole_file_and_a_patch(self) -> None:
        (whole,) = edits_of({"file_path": "a.py", "content": "x = 1\n"})
        assert (whole.content, whole.lines) == ("x = 1\n", None)
        (patch,) = edits_of({"input": "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n z"})
        assert [line.sign for line in patch.lines or ()] == ["@", "@", "@", "-", "+", " "]

    @pytest.mark.parametrize("arguments", [None, [], "x", {"old_string": 1}, {"edits": [3]}, {}])
    def test_odd_arguments_are_no_edit(self, arguments: object) -> None:
        assert edits_of(arguments) == []


class TestTelling:
    def test_only_what_the_person_said(self, filled: EventStore) -> None:
        page = b"".join(html.export_narrative(filled, SHOWCASE, None, Telling(prompts=True)))
        outline = Outline(page.decode())
        kinds = {
            str(given.get("class")).split()[1]
            for tag, given in outline.elements
            if tag == "section"
        }
        assert kinds == {"user"}

    def test_without_tools(self, filled: EventStore) -> None:
        telling = Telling(without_tools=True)
        page = b"".join(html.export_narrative(filled, SHOWCASE, None, telling)).decode()
        assert 'class="call' not in main_of(page)
        assert "floats" in page


class TestSides:
    def test_what_happened_is_beside_what_the_model_saw(self, filled: EventStore) -> None:
        page = main_of(b"".join(html.export_compared(filled, SHOWCASE, 1)).decode())
        rows = page.split('<div class="row">')[1:]
        assert len(rows) == 3
        happened, saw = rows[1].split('<div class="seen">')
        assert "I look at the cart first." in happened
        assert "So far" not in happened
        assert "So far" in saw
        assert "As it happened." in rows[2].split('<div class="seen">')[1]

    def test_a_cleared_result_has_its_placeholder(self, store: EventStore) -> None:
        session = Session(store, "cleared")
        session.user("go")
        session.assistant([call("a"), call("b")])
        session.tool_result("a", "first output")
        session.tool_result("b", "second output")
        session.edit(
            "r",
            "full",
            [
                shown(3, 3, "cleared", text="[was here]"),
                shown(1, 1, "marker", text="[one archived]"),
            ],
        )
        page = main_of(b"".join(html.export_compared(store, "cleared", -1)).decode())
        row = next(row for row in page.split('<div class="row">') if "first output" in row)
        assert "[was here]" in row.split('<div class="seen">')[1]


class TestFolder:
    def test_an_index_and_a_page_for_each_session(self, filled: EventStore) -> None:
        files = {
            name: b"".join(chunks).decode()
            for name, chunks in html.export_sessions(filled, filled.sessions())
        }
        assert set(files) == {
            "index.html",
            *(f"sessions/{session}.html" for session in (SHOWCASE, CHILD, HOSTILE)),
        }
        index = files["index.html"]
        assert f'href="sessions/{SHOWCASE}.html"' in index
        assert index.index(f"{SHOWCASE}.html") < index.index(f"{CHILD}.html")
        assert f'<a href="{CHILD}.html">Check the tax</a>' in files[f"sessions/{SHOWCASE}.html"]
        assert f'<a href="{SHOWCASE}.html">' in files[f"sessions/{CHILD}.html"]
        assert 'href="../index.html"' in files[f"sessions/{CHILD}.html"]
        for page in files.values():
            Outline(page)

    def test_odd_names_become_plain_ones_that_differ(self, store: EventStore) -> None:
        names = ["A", "a", "../../x", "a/b", "a b", ".", "con:1", "日本"]
        for name in names:
            store.append(name, [EventDraft("message.user", {"content": "hi"})])
        files = [name for name, _ in html.export_sessions(store, store.sessions())]
        assert len({name.casefold() for name in files}) == len(names) + 1
        assert all(re.fullmatch(r"(sessions/)?\w[\w.-]*\.html", name, re.ASCII) for name in files)

    def test_a_session_that_cannot_be_shown_has_a_page_that_says_why(
        self, store: EventStore
    ) -> None:
        edit = {"rule": "r", "reason": "", "edits": [{"first": 9, "last": 1, "shown": "hidden"}]}
        store.append("bad", [EventDraft("view.edited", edit)])
        store.append("good", [EventDraft("message.user", {"content": "hello"})])
        files = {
            name: b"".join(chunks).decode()
            for name, chunks in html.export_sessions(store, store.sessions())
        }
        assert "This session cannot be shown" in files["sessions/bad.html"]
        assert "hello" in files["sessions/good.html"]


def test_fragments_are_of_use_alone(filled: EventStore) -> None:
    fragments = html.Fragments(link=lambda session: f"/s/{session}")
    made = [fragments.of(p) for p in narrate(filled, SHOWCASE) if isinstance(p, Call)]
    assert len(made) == 6
    assert '<a href="/s/showcase-agent">' in made[-1]


def test_the_demo_has_a_page(store: EventStore) -> None:
    record_demo(store)
    assert "no result" in exported(store, DEMO)
