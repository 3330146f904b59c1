"""Signatures and the first words of docstrings, as they stand in the code."""

from __future__ import annotations

import inspect
from functools import cached_property
from textwrap import wrap
from typing import Any, get_args

WIDTH = 96
"""The width of generated listings, in characters."""


def summary(thing: object) -> str:
    """Return the first paragraph of a docstring, on one line."""
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())


class _Bare(str):
    """An annotation that is told as it is written, without quotes."""

    def __repr__(self) -> str:
        return str(self)


def signature(name: str, thing: Any, indent: int = 0) -> str:
    """Return a signature as it stands in a file: on one line, or one parameter a line."""
    parameters, marked = [], False
    found = inspect.signature(thing)
    for parameter in found.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not marked:
            parameters.append("*")
        marked = marked or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        parameters.append(_told(parameter))
    returned = found.return_annotation
    result = "" if returned in (inspect.Signature.empty, None, "None") else f" -> {returned}"
    line = f"{name}({', '.join(parameters)}){result}"
    if indent + len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {p},\n" for p in parameters) + f"){result}"


def _told(parameter: inspect.Parameter) -> str:
    """Return a parameter as it stands in a file; a default that is no plain value is left open."""
    default = parameter.default
    if default is not parameter.empty and not isinstance(default, PLAIN):
        parameter = parameter.replace(default=...)
    told = str(parameter.replace(annotation=_Bare(parameter.annotation)))
    return told.replace("Ellipsis", "...")


PLAIN = (str, int, float, tuple, type(None))
"""Types of defaults that say what they are."""


def described(name: str, thing: Any) -> list[str]:
    """Return a public name and what it is, as comments and signatures."""
    if get_args(thing):
        return [f"{name} = {' | '.join(kind.__name__ for kind in get_args(thing))}"]
    if isinstance(thing, PLAIN):
        return [f"{name} = {thing!r}"]
    if not callable(thing):
        return [f"{name}: {type(thing).__name__}"]
    head = f"class {name}(Protocol)" if is_protocol(thing) else signature(name, thing)
    lines = [*head.split("\n"), *_comment(thing, 0)]
    if inspect.isclass(thing):
        for method, function in vars(thing).items():
            if not method.startswith("_"):
                lines += [f"    {line}" for line in member_of(method, function)]
    return lines


def is_protocol(thing: object) -> bool:
    """Return whether a class only says which methods others have; nobody makes one."""
    return bool(getattr(thing, "_is_protocol", False))


def _comment(thing: object, indent: int) -> list[str]:
    return [f"    # {line}" for line in wrap(summary(thing), WIDTH - 6 - indent)]


def member_of(name: str, member: Any) -> list[str]:
    """Return a method or property of a class."""
    if isinstance(member, property | cached_property):
        getter = member.fget if isinstance(member, property) else member.func
        assert getter is not None
        return [f".{name}: {inspect.signature(getter).return_annotation}", *_comment(member, 4)]
    if isinstance(member, classmethod | staticmethod):
        member = member.__func__
    if not inspect.isfunction(member):
        return []
    return [*signature(f".{name}", member, 4).split("\n"), *_comment(member, 4)]
