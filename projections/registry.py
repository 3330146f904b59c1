"""Things by name: what foldlog has itself, what a program registers, what other packages add.

A package adds a thing as an entry point; its name is the one that a person writes. What a package
adds is loaded when it is asked for. A package that cannot be used is named in ``problems``, and in
the error when its thing is asked for by name; everything else works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from foldlog.eventstore import extensions
from foldlog.eventstore.errors import BrokenExtension

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """Things of one kind, by name, in the order in which they were added.

    Args:
        kind: What the things are, for errors: ``rule``.
        group: The group of entry points in which packages add theirs: ``foldlog.rules``.
        read: Makes a thing of what a package or a program gives under a name; raises
            ``TypeError`` or ``ValueError`` where it is not one.
    """

    def __init__(self, kind: str, group: str, read: Callable[[str, Any], T]) -> None:
        self.kind = kind
        self.group = group
        self._read = read
        self._own: dict[str, T] = {}
        self._others: dict[str, T] | None = None
        self._problems: dict[str, str] = {}

    def add(self, name: str, thing: Any) -> None:
        """Register a thing of this program.

        Raises:
            ValueError, TypeError: The name is taken, or it is no such thing.
        """
        if name in self._own:
            raise ValueError(f"there is a {self.kind} {name!r} already; choose another name.")
        self._own[name] = self._read(name, thing)

    def remove(self, name: str) -> None:
        """Forget a thing that this program registered."""
        del self._own[name]

    def problems(self) -> dict[str, str]:
        """Return why things of other packages cannot be used, by name."""
        self._added()
        return dict(self._problems)

    def why_not(self, name: object) -> str:
        """Return why there is nothing under a name, as a sentence that says what there is."""
        problem = self.problems().get(str(name))
        if problem is not None:
            return f"the {self.kind} {name!r} cannot be used: {problem}."
        return f"unknown {self.kind} {name!r}; choose from {', '.join(self)}."

    def reload(self) -> None:
        """Forget what other packages add: it is looked up again when it is needed."""
        self._others, self._problems = None, {}

    def __getitem__(self, name: str) -> T:
        return self._own[name] if name in self._own else self._added()[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from (name for name in self._added() if name not in self._own)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _added(self) -> dict[str, T]:
        """Return what other packages add, loaded once."""
        if self._others is None:
            self._others = {}
            for name in dict.fromkeys(extensions.names(self.group)):
                try:
                    self._others[name] = self._loaded(name)
                except Exception as error:
                    self._problems[name] = self._problem(name, error)
        return self._others

    def _problem(self, name: str, error: Exception) -> str:
        text = " ".join(str(error).split()).rstrip(".")
        if isinstance(error, BrokenExtension):
            return text
        return f"{extensions.package(self.group, name)}: {text}"

    def _loaded(self, name: str) -> T:
        if name in self._own:
            raise ValueError(f"foldlog has a {self.kind} of that name itself")
        return self._read(name, extensions.find(self.group, name))
