"""The server knows nothing of the project: a mistake is not made twice in the same way."""

from __future__ import annotations

import ast
from pathlib import Path


def test_it_imports_nothing_of_foldlog() -> None:
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = [getattr(node, "module", None) or ""]
            named += [alias.name for alias in getattr(node, "names", ()) if hasattr(alias, "name")]
            assert not any(name.split(".")[0] == "foldlog" for name in named), path
