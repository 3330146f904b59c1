"""``glob`` and ``grep``: sorted, bounded, and nothing from outside of the folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from foldlog.cli.agent.tools import grep
from tests.agent.conftest import Hands, Make


def put(folder: Path, names: Iterable[str], text: str = "needle\n") -> None:
    """Files with the same text."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class TestGlob:
    @pytest.fixture(autouse=True)
    def _files(self, folder: Path) -> None:
        put(folder, ["b.py", "a.py", "src/c.py", "src/deep/d.py", "src/e.ts", "readme.md"])
        put(folder, [".git/x.py", ".hidden/y.py", "node_modules/z.py", ".github/w.yml"])

    @pytest.mark.parametrize(
        ("pattern", "found"),
        [
            ("*.py", "a.py b.py src/c.py src/deep/d.py"),
            ("src/*.py", "src/c.py"),
            ("src/**/*.py", "src/c.py src/deep/d.py"),
            ("src/**", "src/c.py src/deep/d.py src/e.ts"),
            ("**/*.{md,ts}", "readme.md src/e.ts"),
            ("[ab].py", "a.py b.py"),
            ("[!a].py", "b.py src/c.py src/deep/d.py"),
            ("?.ts", "src/e.ts"),
            (".github/*", ".github/w.yml"),
        ],
    )
    def test_files_by_their_names_in_order(self, hands: Hands, pattern: str, found: str) -> None:
        assert hands.text("glob", pattern=pattern).split() == found.split()

    def test_in_a_folder(self, hands: Hands) -> None:
        assert hands.text("glob", pattern="*.py", path="src") == "src/c.py\nsrc/deep/d.py"

    def test_nothing(self, hands: Hands) -> None:
        assert hands.text("glob", pattern="*.rs") == "[No file has such a name]"

    def test_no_folder(self, hands: Hands) -> None:
        assert "is not a folder" in hands.error("glob", pattern="*", path="gone")

    def test_more_than_can_be_named(self, hands: Hands, folder: Path) -> None:
        put(folder, [f"many/{n:04}.txt" for n in range(300)])
        lines = hands.text("glob", pattern="*.txt").splitlines()
        assert len(lines) == 201
        assert lines[0] == "many/0000.txt"
        assert "There are more than 200" in lines[-1]

    @pytest.mark.parametrize("pattern", ["../*", "/etc/*", "src/../../*"])
    def test_a_pattern_leads_nowhere_else(self, hands: Hands, pattern: str) -> None:
        assert "leads out of the folder" in hands.error("glob", pattern=pattern)

    def test_a_link_leads_nowhere_else(self, hands: Hands, folder: Path, tmp_path: Path) -> None:
        put(tmp_path, ["outside/secret.key"])
        (folder / "link").symlink_to(tmp_path / "outside")
        (folder / "file.key").symlink_to(tmp_path / "outside" / "secret.key")
        assert "No file" in hands.text("glob", pattern="*.key")
        assert "Found in none" in hands.text("grep", pattern="needle", glob="*.key")

    def test_a_broken_pattern_is_told(self, hands: Hands) -> None:
        assert "not a pattern of files" in hands.error("glob", pattern="[z-a]")

    @pytest.mark.parametrize("stars", ["*a" * 40 + "b", "**a" * 6 + "b", "**/*a/" * 40 + "b"])
    def test_no_pattern_is_slow(self, hands: Hands, folder: Path, stars: str) -> None:
        put(folder, ["/".join(["a" * 200] * 10)])
        assert hands.text("glob", pattern=stars) == "[No file has such a name]"

    def test_a_pattern_of_too_many_alternatives_is_refused(self, hands: Hands) -> None:
        assert "more than 256 alternatives" in hands.error("glob", pattern="{a,b}" * 20)


class TestGrep:
    def test_lines_below_their_file_numbered(self, hands: Hands, folder: Path) -> None:
        put(folder, ["b.txt", "a.txt"], "one\ntwo needles\nthree needle\n")
        assert hands.text("grep", pattern="needles?") == (
            "a.txt\n     2\ttwo needles\n     3\tthree needle\n"
            "b.txt\n     2\ttwo needles\n     3\tthree needle"
        )

    def test_in_files_of_some_names_in_any_case(self, hands: Hands, folder: Path) -> None:
        put(folder, ["a.py", "b.txt"], "NEEDLE\n")
        found = hands.text("grep", pattern="needle", glob="*.py", ignore_case=True)
        assert found == "a.py\n     1\tNEEDLE"
        assert "Found in none of 1 files" in hands.text("grep", pattern="needle", glob="*.py")

    def test_in_one_file(self, hands: Hands, folder: Path) -> None:
        put(folder, ["a.py", "b.py"])
        assert hands.text("grep", pattern="n", path="b.py") == "b.py\n     1\tneedle"

    def test_hidden_folders_and_binary_files_are_left_out(self, hands: Hands, folder: Path) -> None:
        put(folder, [".git/a", "node_modules/b", ".venv/c"])
        (folder / "binary").write_bytes(b"\0needle\n")
        assert "Found in none" in hands.text("grep", pattern="needle")

    @pytest.mark.parametrize("pattern", ["(", "*a", "[z-a]", "(?P<1>x)"])
    def test_a_broken_expression_is_told(self, hands: Hands, pattern: str) -> None:
        assert "is not a regular expression" in hands.error("grep", pattern=pattern)

    def test_an_expression_that_python_warns_of(self, hands: Hands, folder: Path) -> None:
        put(folder, ["a"], "[[x\n")
        assert hands.text("grep", pattern="[[x]{3}") == "a\n     1\t[[x"

    def test_more_than_can_be_given(self, hands: Hands, folder: Path) -> None:
        put(folder, ["a"], "needle\n" * 500)
        lines = hands.text("grep", pattern="needle").splitlines()
        assert len(lines) == 202
        assert "There are more than 200 lines" in lines[-1]

    def test_a_long_line_is_cut_around_what_was_found(self, hands: Hands, folder: Path) -> None:
        put(folder, ["a"], "x" * 5000 + "needle" + "y" * 5000 + "\n")
        line = hands.text("grep", pattern="needle").splitlines()[1]
        assert "xneedley" in line
        assert len(line) < 320

    def test_an_expression_that_never_ends_is_ended(
        self, hands: Hands, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(grep, "SECONDS", 0.5)
        put(folder, ["a"], "a" * 60 + "!\n")
        assert "took longer than" in hands.error("grep", pattern="(a+)+$")

    def test_what_lies_in_the_folder_is_not_run(self, hands: Hands, folder: Path) -> None:
        for name in ("re.py", "json.py", "foldlog.py", "sitecustomize.py"):
            (folder / name).write_text("open('run', 'w')\n")
        put(folder, ["a.txt"])
        assert hands.text("grep", pattern="needle") == "a.txt\n     1\tneedle"
        assert not (folder / "run").exists()


class TestWhatIsDeniedIsNotFoundEither:
    def test_by_grep_or_by_glob(self, make: Make, folder: Path) -> None:
        put(folder, ["secrets/key.txt", "open.txt"])
        hands = make(deny=("read(secrets/**)",))
        assert hands.text("grep", pattern="needle") == "open.txt\n     1\tneedle"
        assert hands.text("glob", pattern="*.txt") == "open.txt"
        assert "neither a file nor" in hands.error("grep", pattern="n", path="secrets/key.txt")
        (folder / "link.txt").symlink_to("secrets/key.txt")
        assert "link.txt" not in hands.text("grep", pattern="needle")
