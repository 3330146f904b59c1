"""Reading a frozen dataclass from data: each field by its type, every fault with its key.

The types of the fields are read with ``typing.get_type_hints``, so a rule may be written with or
without ``from __future__ import annotations``. These types can be read: ``bool``, ``int``,
``float``, ``str``, ``Any``, ``Amount``, ``Literal``, unions and optional types, tuples and lists of
one type, mappings with text keys, and dataclasses of such fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache, partial
from types import UnionType
from typing import Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from foldlog.projections.compaction.amount import Amount
from foldlog.projections.compaction.errors import PolicyError

T = TypeVar("T")

Reader: TypeAlias = Callable[[Any], Any]
"""Returns a value of a type from data; raises ``ValueError`` where the data is not one."""


def read_fields(kind: type[T], data: Mapping[str, Any], where: str) -> T:
    """Return an instance of a dataclass whose fields are the keys of the data.

    Args:
        where: What to call the data in errors.

    Raises:
        PolicyError: A key is unknown or missing, its value is of another type, or a policy cannot
            hold the type of a field.
    """
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    for key in data:
        if key not in known:
            raise PolicyError(f"{where}: {key}: unknown key; choose from {', '.join(known)}.")
    missing = [name for name, field in known.items() if name not in data and not has_default(field)]
    if missing:
        raise PolicyError(f"{where}: {missing[0]}: must be given.")
    return kind(**{name: _value(kind, name, data[name], where) for name in known if name in data})


def has_default(field: Field[Any]) -> bool:
    """Return whether a field may be left out."""
    return field.default is not MISSING or field.default_factory is not MISSING


def _value(kind: type[Any], name: str, value: Any, where: str) -> Any:
    try:
        return readers_of(kind)[name](value)
    except ValueError as error:
        raise PolicyError(f"{where}: {name}: {error}.") from error
    except TypeError as error:
        raise PolicyError(f"{where}: {error}.") from error


def readers_of(kind: Any) -> dict[str, Reader]:
    """Return how each field of a dataclass is read from a policy.

    Raises:
        TypeError: A type is unknown, or no policy can hold it; the error names the field.
    """
    return _readers(kind)


@cache
def _readers(kind: Any) -> dict[str, Reader]:
    try:
        hints = get_type_hints(kind)
    except NameError as error:
        raise TypeError(f"the types of {kind.__name__} cannot be read: {error}") from error
    return {
        field.name: _reader(hints[field.name], f"{kind.__name__}.{field.name}")
        for field in fields(kind)
    }


def _reader(type_: Any, where: str) -> Reader:
    plain = _PLAIN.get(type_)
    if plain is not None:
        return plain
    origin, args = get_origin(type_), get_args(type_)
    if origin is Literal:
        return partial(_one_of, words=args)
    if origin in (Union, UnionType):
        return partial(_any_of, readers=[_reader(arg, where) for arg in args])
    if origin in (tuple, list, Sequence) and args and args[1:] in ((), (...,)):
        return partial(
            _each, reader=_reader(args[0], where), made=list if origin is list else tuple
        )
    if origin in (dict, Mapping) and args and args[0] is str:
        return partial(_table, reader=_reader(args[1], where))
    if isinstance(type_, type) and is_dataclass(type_):
        return partial(_record, kind=type_)
    raise TypeError(f"{where}: a policy cannot hold the type {type_}")


def _one_of(value: Any, words: Sequence[Any]) -> Any:
    if value not in words:
        raise ValueError(f"{value!r} is not one of {', '.join(map(str, words))}")
    return value


def _any_of(value: Any, readers: Sequence[Reader]) -> Any:
    problems = []
    for reader in readers:
        try:
            return reader(value)
        except ValueError as problem:
            problems.append(problem)
    raise problems[0]


def _each(value: Any, reader: Reader, made: Callable[[list[Any]], Any]) -> Any:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{value!r} is not a list")
    return made([reader(item) for item in value])


def _table(value: Any, reader: Reader) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is not a table")
    return {str(key): reader(item) for key, item in value.items()}


def _record(value: Any, kind: type[Any]) -> Any:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is not a table")
    try:
        return read_fields(kind, value, kind.__name__.lower())
    except PolicyError as error:
        raise ValueError(str(error).rstrip(".")) from error


def _amount(value: Any) -> Amount:
    if isinstance(value, Amount):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{value!r} is not a size")
    return Amount.read(value)


def _of(wanted: type[Any] | tuple[type[Any], ...], name: str) -> Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            raise ValueError(f"{value!r} is not {name}")
        return value

    return read


_PLAIN: dict[Any, Reader] = {
    Amount: _amount,
    Any: lambda value: value,
    bool: _of(bool, "true or false"),
    float: _of((int, float), "a number"),
    int: _of(int, "a whole number"),
    str: _of(str, "a text"),
    type(None): _of(type(None), "nothing"),
}
