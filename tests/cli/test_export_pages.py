"""`export` for people: secrets masked, the sessions of a folder, and options that do not go
together."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from foldlog.cli.main import foldlog
from foldlog.eventstore import EventDraft, EventStore
from foldlog.projections import Session
from tests.cli.demo import DEMO
from tests.projections.build import call, shown

pytest.importorskip("detect_secrets")

KEY = "AKIA" + "QYLPMN5HFIQR7XYA"
TOKEN = "ghp_" + "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"
ANTHROPIC = "sk-ant-" + "api03-Zt0nW3vXk9Lr5QbTgY7eUa"
PASSWORD = "hunter2-Xy9!q"
PRIVATE = (
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0Zx\nq8Jv+9sT\n-----END RSA PRIVATE KEY-----"
)
SECRETS = (KEY, TOKEN, ANTHROPIC, PASSWORD, "MIIEpAIBAAKCAQEA0Zx", "q8Jv+9sT")

Export = Callable[..., Result]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store whose sessions hold secrets, in several folders."""
    path = tmp_path / "secrets.db"
    with EventStore(path) as store:
        session = Session(store, "keys")
        started = {"title": f"Rotate {KEY}", "cwd": str(tmp_path / "shop")}
        session.append(EventDraft("session.started", started))
        session.system(f"Use Authorization: Bearer {ANTHROPIC}")
        session.user(f"aws_access_key_id = {KEY}")
        session.assistant(
            [
                {"type": "text", "text": f"I use {KEY} now."},
                call("a", "Bash", command=f"curl -H 'Authorization: token {TOKEN}' x"),
            ],
            id="m1",
        )
        session.tool_result("a", f"password: '{PASSWORD}'\n{PRIVATE}\nthen {PASSWORD} alone")
        session.edit(
            "summarize",
            f"for {KEY}",
            [shown(3, 5, "summary", summary=6)],
            before=[EventDraft("summary.written", {"text": f"It is {TOKEN}.", "covers": [[3, 5]]})],
        )
        for name, folder in (("below", "shop/api"), ("beside", "shopping"), ("other", "else")):
            other = Session(store, name)
            other.append(EventDraft("session.started", {"cwd": str(tmp_path / folder)}))
            other.user(f"I am {name}.")
        Session(store, "nowhere").user("I am nowhere.")
    return path


@pytest.fixture
def export(path: Path) -> Export:
    def run(*arguments: str) -> Result:
        return CliRunner().invoke(foldlog, ["--db", str(path), "export", *arguments])

    return run


class TestRedactSecrets:
    @pytest.mark.parametrize(
        "more",
        [["--to", "markdown"], ["--to", "html"], ["--to", "html", "--side-by-side", "1"],
         ["--to", "html", "--at", "5"], ["--to", "markdown", "--prompts"]],
    )  # fmt: skip
    def test_no_secret_is_left_and_each_is_counted(self, export: Export, more: list[str]) -> None:
        assert KEY in export("keys", *more).stdout
        masked = export("keys", *more, "--redact-secrets")
        assert masked.exit_code == 0, masked.output
        assert [secret for secret in SECRETS if secret in masked.stdout] == []
        assert "[AWS Access Key masked]" in masked.stdout
        assert "1 AWS Access Key" in masked.stderr
        assert "1 Private Key" in masked.stderr
        assert "look before you share" in masked.stderr

    def test_it_holds_for_a_folder_with_its_index(self, export: Export, tmp_path: Path) -> None:
        site = tmp_path / "site"
        assert export("--to", "html", "-o", str(site), "--redact-secrets").exit_code == 0
        pages = {page.name: page.read_text("utf-8") for page in site.rglob("*.html")}
        assert {"index.html", "keys.html", "below.html"} <= pages.keys()
        for name, page in pages.items():
            assert [secret for secret in SECRETS if secret in page] == [], name
        assert "Rotate [AWS Access Key masked]" in pages["index.html"]

    def test_the_log_keeps_them(self, export: Export) -> None:
        before = export("keys", "--to", "jsonl").stdout
        export("keys", "--redact-secrets")
        assert export("keys", "--to", "jsonl").stdout == before
        assert KEY in before

    def test_what_has_none_says_so(self, export: Export) -> None:
        assert "No secrets were recognised." in export("below", "--redact-secrets").stderr

    def test_without_the_scanner_nothing_is_written(
        self, export: Export, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        for name in [name for name in sys.modules if name.startswith("detect_secrets")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "detect_secrets", None)
        file = tmp_path / "keys.md"
        refused = export("keys", "--redact-secrets", "-o", str(file))
        assert refused.exit_code == 2
        assert 'pip install "foldlog[secrets]"' in refused.stderr
        assert not file.exists()


class TestProject:
    def pages(self, export: Export, folder: Path, project: str) -> set[str]:
        made = export("--to", "html", "-o", str(folder), "--project", project)
        assert made.exit_code == 0, made.output
        return {page.stem for page in (folder / "sessions").glob("*.html")}

    def test_sessions_of_a_folder_and_those_below_are_chosen(
        self, export: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shop = tmp_path / "shop"
        assert self.pages(export, tmp_path / "1", str(shop)) == {"keys", "below"}
        shop.mkdir()
        monkeypatch.chdir(shop)
        assert self.pages(export, tmp_path / "2", ".") == {"keys", "below"}
        assert self.pages(export, tmp_path / "3", "../shop/api/") == {"below"}
        index = (tmp_path / "1" / "index.html").read_text("utf-8")
        assert "I am beside." not in index

    def test_a_folder_without_sessions_has_an_empty_index(
        self, export: Export, tmp_path: Path
    ) -> None:
        assert self.pages(export, tmp_path / "site", str(tmp_path / "none")) == set()
        assert "There are no sessions." in (tmp_path / "site" / "index.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("keys --to html --side-by-side 1 --at 3", "--side-by-side is for --to html, without --at"),
        ("keys --to markdown --side-by-side 1", "--side-by-side is for --to html"),
        ("keys --to html --side-by-side 2", "before-compaction:1"),
        ("keys --to html --side-by-side 0", "Count from 1"),
        ("keys --to html --side-by-side 1 -o {folder}/", "--at and --side-by-side make one page"),
        ("keys --to html --at 3 -o {folder}/", "--at and --side-by-side make one page"),
        ("--to html --at 3 -o {folder}/", "--at and --side-by-side make one page"),
        ("--to html", "without SESSION, name a folder"),
        ("--to html -o -", "without SESSION, name a folder"),
        ("--to markdown -o {folder}/", "markdown holds one session"),
        ("--to jsonl -o {folder}/", "jsonl holds one session"),
        ("keys --project .", "--project chooses sessions"),
        ("keys --to jsonl --prompts", "jsonl holds all of a session"),
        ("keys --to claude-code --redact-secrets", "claude-code holds all of a session"),
        ("keys --to jsonl --without-tools", "jsonl holds all of a session"),
        ("keys --to markdown -o {folder}/", "markdown makes one file"),
        ("keys --to html --at 99", "not 99"),
    ],
)
def test_options_that_do_not_go_together_are_refused_and_write_nothing(
    export: Export, tmp_path: Path, arguments: str, said: str
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    refused = export(*arguments.format(folder=folder).split())
    assert refused.exit_code == 2, refused.output
    assert said in " ".join(refused.stderr.split())
    assert list(folder.iterdir()) == []


def test_parts_of_a_session_can_be_combined(export: Export, db: Path) -> None:
    made = CliRunner().invoke(
        foldlog,
        ["--db", str(db), "export", DEMO, "--to", "html", "--prompts", "--without-tools"],
    )
    assert made.exit_code == 0
    main = made.stdout[made.stdout.index("<main") : made.stdout.index("</main>")]
    assert 'class="turn user' in main
    assert 'class="turn assistant' not in main
    assert 'class="call' not in main
