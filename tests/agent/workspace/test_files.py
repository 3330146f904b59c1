"""``read``, ``write`` and ``edit``: what the model knows is what it may change."""

from __future__ import annotations

import os
import stat
import struct
import tracemalloc
import zlib
from pathlib import Path

import pytest

from foldlog.cli.agent.tools.read import LINES
from foldlog.cli.agent.workspace import files
from tests.agent.conftest import Hands


def png(width: int, height: int) -> bytes:
    """The smallest image of that size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IEND", b"")


class TestRead:
    def test_lines_are_numbered(self, hands: Hands, folder: Path) -> None:
        (folder / "a.txt").write_text("one\ntwo\n")
        assert hands.text("read", path="a.txt") == "     1\tone\n     2\ttwo"

    def test_from_a_line_on_and_only_so_many(self, hands: Hands, folder: Path) -> None:
        (folder / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 11)))
        text = hands.text("read", path="a.txt", offset=4, limit=2)
        assert text == "     4\tline 4\n     5\tline 5\n[There is more: go on with offset 6]"
        assert "has only 10 lines" in hands.text("read", path="a.txt", offset=11)

    def test_a_long_file_is_read_in_pages(self, hands: Hands, folder: Path) -> None:
        (folder / "a.txt").write_text("x\n" * (LINES + 5))
        assert f"[There is more: go on with offset {LINES + 1}]" in hands.text("read", path="a.txt")
        last = hands.text("read", path="a.txt", offset=LINES + 1)
        assert len(last.splitlines()) == 5

    def test_a_page_has_no_more_than_its_characters(self, hands: Hands, folder: Path) -> None:
        (folder / "a.txt").write_text(("y" * 1500 + "\n") * 100)
        text = hands.text("read", path="a.txt")
        assert 50_000 < len(text) < 61_000
        assert "[There is more" in text

    def test_a_huge_line_is_cut(self, hands: Hands, folder: Path) -> None:
        (folder / "a.txt").write_text("z" * 100_000 + "\nnext\n")
        first, second = hands.text("read", path="a.txt").splitlines()
        assert first.endswith("z [… line cut]")
        assert len(first) < 2_100
        assert second == "     2\tnext"

    def test_a_huge_file_is_not_loaded(self, hands: Hands, folder: Path) -> None:
        with (folder / "a.txt").open("wb") as file:
            file.write(b"first\n")
            file.write(b"a" * 64 * 1024 * 1024)
            file.write(b"\nlast\n")
        tracemalloc.start()
        text = hands.text("read", path="a.txt", offset=3)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert text == "     3\tlast"
        assert peak < 8 * 1024 * 1024

    def test_an_image_is_shown(self, hands: Hands, folder: Path) -> None:
        (folder / "a.png").write_bytes(png(3, 2))
        result = hands.call("read", path="a.png").data
        assert not result["is_error"]
        (block,) = result["content"]
        assert block["type"] == "image"
        assert block["source"]["media_type"] == "image/png"

    def test_an_image_that_the_api_refuses_is_not(self, hands: Hands, folder: Path) -> None:
        (folder / "a.png").write_bytes(png(9000, 2))
        assert "too large an image" in hands.error("read", path="a.png")

    @pytest.mark.parametrize(
        ("name", "told"),
        [
            ("none", "none does not exist"),
            ("sub", "is a folder"),
            ("pipe", "not a file but"),
            ("b", "binary"),
        ],
    )
    def test_what_is_no_text_is_told(
        self, hands: Hands, folder: Path, name: str, told: str
    ) -> None:
        (folder / "sub").mkdir()
        os.mkfifo(folder / "pipe")
        (folder / "b").write_bytes(b"\x00\x01")
        assert told in hands.error("read", path=name)

    def test_an_empty_file(self, hands: Hands, folder: Path) -> None:
        (folder / "a").touch()
        assert hands.text("read", path="a") == "[a is empty]"


class TestWrite:
    def test_a_new_file_with_its_folders(self, hands: Hands, folder: Path) -> None:
        assert "Wrote a/b/c.txt: 2 lines, 8 bytes" in hands.text(
            "write", path="a/b/c.txt", content="one\ntwo\n"
        )
        assert (folder / "a/b/c.txt").read_text() == "one\ntwo\n"

    def test_a_file_that_was_never_read_is_not_overwritten(
        self, hands: Hands, folder: Path
    ) -> None:
        (folder / "a").write_text("precious")
        assert "was not read yet" in hands.error("write", path="a", content="x")
        assert (folder / "a").read_text() == "precious"

    def test_nor_one_that_was_changed_since(self, hands: Hands, folder: Path) -> None:
        file = folder / "a"
        file.write_text("before")
        times = file.stat()
        hands.call("read", path="a")
        file.write_text("behind")  # as long, and made to look as old
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert "was changed since you read it" in hands.error("write", path="a", content="x")
        assert file.read_text() == "behind"
        hands.call("read", path="a")
        hands.text("write", path="a", content="x")
        assert file.read_text() == "x"

    def test_one_that_was_only_touched_is(self, hands: Hands, folder: Path) -> None:
        (folder / "a").write_text("before")
        hands.call("read", path="a")
        (folder / "a").touch()
        hands.text("write", path="a", content="x")

    def test_what_it_wrote_itself_it_knows(self, hands: Hands, folder: Path) -> None:
        hands.text("write", path="a", content="1")
        hands.text("write", path="./a", content="2")
        assert (folder / "a").read_text() == "2"

    def test_mode_and_line_ends_and_mark_stay(self, hands: Hands, folder: Path) -> None:
        file = folder / "run.bat"
        file.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
        file.chmod(0o750)
        hands.call("read", path="run.bat")
        hands.text("write", path="run.bat", content="three\nfour\n")
        assert file.read_bytes() == b"\xef\xbb\xbfthree\r\nfour\r\n"
        assert stat.S_IMODE(file.stat().st_mode) == 0o750

    def test_a_link_stays_a_link(self, hands: Hands, folder: Path) -> None:
        (folder / "real").write_text("x")
        (folder / "link").symlink_to("real")
        hands.call("read", path="link")
        hands.text("write", path="link", content="y")
        assert (folder / "link").is_symlink()
        assert (folder / "real").read_text() == "y"

    def test_a_write_that_breaks_leaves_the_file_and_nothing_else(
        self, hands: Hands, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (folder / "a").write_text("before")
        hands.call("read", path="a")

        def full(file: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(files.os, "fsync", full)
        assert "No space left" in hands.error("write", path="a", content="x")
        assert [path.name for path in folder.iterdir()] == ["a"]
        assert (folder / "a").read_text() == "before"

    def test_a_folder_or_a_file_in_place_of_one_is_told(self, hands: Hands, folder: Path) -> None:
        (folder / "sub").mkdir()
        (folder / "file").touch()
        assert "is a folder" in hands.error("write", path="sub", content="x")
        assert "cannot be written" in hands.error("write", path="file/x", content="x")

    def test_half_a_character_is_told(self, hands: Hands, folder: Path) -> None:
        assert "half a character" in hands.error("write", path="a", content="\ud83d")
        assert list(folder.iterdir()) == []


class TestEdit:
    @pytest.fixture
    def file(self, hands: Hands, folder: Path) -> Path:
        """A file that was read."""
        (folder / "a.py").write_text("a = 1\nb = 1\nc = 2\n")
        hands.call("read", path="a.py")
        return folder / "a.py"

    def test_a_text_that_is_there_once(self, hands: Hands, file: Path) -> None:
        told = hands.text("edit", path="a.py", old_string="b = 1", new_string="b = 3")
        assert told == "Replaced once in a.py, at line 2."
        assert file.read_text() == "a = 1\nb = 3\nc = 2\n"

    def test_one_that_is_not_there(self, hands: Hands, file: Path) -> None:
        told = hands.error("edit", path="a.py", old_string="d = 1", new_string="")
        assert "0 matches" in told

    def test_one_that_is_there_more_than_once(self, hands: Hands, file: Path) -> None:
        told = hands.error("edit", path="a.py", old_string="= 1", new_string="= 9")
        assert "2 times, at lines 1, 2" in told
        assert file.read_text() == "a = 1\nb = 1\nc = 2\n"

    def test_all_of_them(self, hands: Hands, file: Path) -> None:
        told = hands.text("edit", path="a.py", old_string="= 1", new_string="= 9", replace_all=True)
        assert told == "Replaced 2 times in a.py, at lines 1, 2."
        assert file.read_text() == "a = 9\nb = 9\nc = 2\n"

    def test_no_change_is_no_edit(self, hands: Hands, file: Path) -> None:
        told = hands.error("edit", path="a.py", old_string="a", new_string="a")
        assert "nothing would change" in told

    def test_a_file_that_was_changed_since(self, hands: Hands, file: Path) -> None:
        file.write_text("a = 1\nb = 1\nc = 3\n")
        told = hands.error("edit", path="a.py", old_string="b = 1", new_string="b = 3")
        assert "was changed since you read it" in told
        assert "c = 3" in file.read_text()

    def test_one_that_was_never_read(self, hands: Hands, folder: Path) -> None:
        (folder / "b").write_text("x")
        assert "was not read yet" in hands.error("edit", path="b", old_string="x", new_string="y")

    def test_line_ends_of_the_file(self, hands: Hands, folder: Path) -> None:
        (folder / "a.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
        hands.call("read", path="a.txt")
        hands.text("edit", path="a.txt", old_string="one\ntwo", new_string="1\n2\n")
        assert (folder / "a.txt").read_bytes() == b"1\r\n2\r\n\r\nthree\r\n"

    def test_bytes_that_are_no_text_stay(self, hands: Hands, folder: Path) -> None:
        (folder / "a.txt").write_bytes(b"caf\xe9 one\n")
        hands.call("read", path="a.txt")
        hands.text("edit", path="a.txt", old_string="one", new_string="two")
        assert (folder / "a.txt").read_bytes() == b"caf\xe9 two\n"
