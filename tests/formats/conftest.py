"""Packages that bring formats of their own: installed as pip would, on sys.path for one test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from foldlog.cli.formats import registry

Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a package with one module and entry points of the group ``foldlog.formats``."""

    def installed(package: str, source: str, **points: str) -> Path:
        monkeypatch.delitem(sys.modules, package, raising=False)
        site = tmp_path / "site-packages"
        info = site / f"{package}-1.0.dist-info"
        info.mkdir(parents=True)
        (site / f"{package}.py").write_text(source, encoding="utf-8")
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = "".join(f"{name} = {value}\n" for name, value in points.items())
        (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{lines}")
        monkeypatch.syspath_prepend(str(site))
        registry.reload()
        return site

    yield installed
    monkeypatch.undo()
    registry.reload()
