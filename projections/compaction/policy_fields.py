"""Reading a frozen dataclass from data: each field by its type, every fault with its key."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from foldlog.projections.compaction.amount import Amount
from foldlog.projections.compaction.decision import Allowance
from foldlog.projections.compaction.errors import PolicyError

T = TypeVar("T")


def read_fields(kind: type[T], data: Mapping[str, Any], where: str) -> T:
    """An instance of a dataclass whose fields are the keys of the data.

    Args:
        where: What to call the data in errors.

    Raises:
        PolicyError: A key is unknown or missing, or its value is of another type.
    """
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    for key in data:
        if key not in known:
            raise PolicyError(f"{where}: {key}: no such key; there are {', '.join(known)}.")
    values: dict[str, Any] = {}
    for name, field in known.items():
        if name in data:
            values[name] = _read(str(field.type), data[name], f"{where}: {name}")
        elif field.default is MISSING and field.default_factory is MISSING:
            raise PolicyError(f"{where}: {name}: must be given.")
    return kind(**values)


def _read(type: str, value: Any, where: str) -> Any:
    kind = type.removesuffix(" | None")
    literals = re.fullmatch(r"Literal\[(.*)\]", kind)
    try:
        if literals:
            return _one_of(value, [word.strip(" \"'") for word in literals[1].split(",")])
        return _READERS[kind](value)
    except ValueError as error:
        raise PolicyError(f"{where}: {error}.") from error


def _one_of(value: Any, words: list[str]) -> str:
    if value not in words:
        raise ValueError(f"{value!r} is none of {', '.join(words)}")
    return str(value)


def _of(wanted: type[Any] | tuple[type[Any], ...], name: str) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            raise ValueError(f"{value!r} is not {name}")
        return value

    return read


def _amount(value: Any) -> Amount:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{value!r} is no amount")
    return Amount.read(value)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise ValueError(f"{value!r} is not a list of texts")
    return tuple(value)


def _allowances(value: Any) -> dict[str, Allowance]:
    table = _of(Mapping, "a table")(value)
    return {
        name: read_fields(Allowance, _of(Mapping, "a table")(v), name) for name, v in table.items()
    }


_READERS: dict[str, Callable[[Any], Any]] = {
    "Amount": _amount,
    "Mapping[str, Allowance]": _allowances,
    "Mapping[str, Any]": _of(Mapping, "a table"),
    "bool": _of(bool, "true or false"),
    "float": _of((int, float), "a number"),
    "int": _of(int, "a whole number"),
    "str": _of(str, "a text"),
    "tuple[str, ...]": _texts,
}
