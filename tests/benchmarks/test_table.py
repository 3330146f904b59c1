"""What a run tells: a missed target is called missed, and only the table in the README changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.table import BEGIN, END, Report, Row, Table, markdown, write

if TYPE_CHECKING:
    from pathlib import Path


def test_a_row_says_whether_its_target_is_met() -> None:
    assert Row("append", "150 µs", "100 µs", 1.5, 1.5).met
    assert not Row("append", "151 µs", "100 µs", 1.51, 1.5).met
    assert Row("bulk", "6/s", "10/s", 0.6, 0.5, at_least=True).met
    assert not Row("bulk", "4/s", "10/s", 0.4, 0.5, at_least=True).met


def test_only_a_missed_row_is_explained() -> None:
    met = Row("read", "1 s", "1 s", 1.0, 1.4).explained(lambda: {"profile": ["never asked"]})
    missed = Row("read", "2 s", "1 s", 2.0, 1.4).explained(lambda: {"profile": ["99% loads"]})
    text = markdown([Report([met, missed])], ["facts"])
    assert "never asked" not in text
    assert "99% loads" in text
    assert "| read | 2 s | 1 s | 2.00 | ≤ 1.4 | **missed** |" in text


def test_what_could_not_be_measured_is_told() -> None:
    table = Table("Peers", ("store", "append"), [["adk", "not measured: no module"]])
    text = markdown([Report([], [table]), Report(missing="startup was not measured")], ["facts"])
    assert "| adk | not measured: no module |" in text
    assert "startup was not measured" in text


def test_writing_leaves_the_text_around_the_markers_alone(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    write("new", readme)
    write("newer", readme)
    assert readme.read_text(encoding="utf-8") == f"before\n{BEGIN}\nnewer\n{END}\nafter\n"
