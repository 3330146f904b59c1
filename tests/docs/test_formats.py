"""The table of formats has a row for each format of this package, and for no other."""

from __future__ import annotations

from docs.generate.format_table import ROWS
from foldlog.cli.formats.registry import BUILT_IN_EXPORTERS, BUILT_IN_IMPORTERS


def test_every_format_has_one_row() -> None:
    names = [row.name for row in ROWS]
    assert sorted(names) == sorted({*BUILT_IN_IMPORTERS, *BUILT_IN_EXPORTERS})


def test_every_row_says_how_it_was_tested() -> None:
    assert [row.name for row in ROWS if not row.verified] == []
