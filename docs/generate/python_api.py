"""The public names of docs/python-api.md."""

from __future__ import annotations

from importlib import import_module

from docs.generate.markdown import fence, table
from docs.generate.signatures import described, summary
from foldlog import FoldlogError


def reference(*modules: str) -> None:
    """Print the public names of modules, each once: signatures and what they do."""
    told: set[str] = {error.__name__ for error in _errors()}
    for module in modules:
        names = [name for name in import_module(module).__all__ if name not in told]
        told.update(names)
        names.sort(key=lambda name: (not name[0].isupper(), name))
        found = ["\n".join(described(n, getattr(import_module(module), n))) for n in names]
        print(f"\n### `{module}`")
        fence("\n\n".join(found), "python")


def errors() -> None:
    """Print every error, what it is a kind of, and when it is raised."""
    rows = [
        (f"`{error.__name__}`", f"`{error.__bases__[0].__name__}`", summary(error))
        for error in _errors()
    ]
    table(("error", "is a", "when"), *rows)


def _errors() -> list[type[FoldlogError]]:
    import_module("foldlog.projections.compaction")  # has errors of its own
    found = [FoldlogError]
    for error in found:
        found.extend(error.__subclasses__())
    found = [error for error in found if not error.__module__.startswith("foldlog.cli")]
    return sorted(found, key=lambda error: (error is not FoldlogError, error.__name__))
