"""The form of JSON: how a client wrote what is recorded, without repeating what it says.

Clients write the same message in forms of their own: with keys in another order, with nulls that
the wire left out, with a text in place of a list of one text block. A *form* leads from the
recorded value to the written one. It is JSON itself:

    0                 as recorded
    null              null, where nothing is recorded
    {key: form, …}    an object with these keys in this order
    [form, …]         a list, item by item; a recorded text counts as a list of one text block
    "text"            the text of the only block, in place of the list

A form holds no values: what says something else than the record has no form.
"""

from __future__ import annotations

from typing import TypeAlias

from foldlog.eventstore import codec
from foldlog.eventstore.events import Json
from foldlog.projections.wire.blocks import kind, text

Form: TypeAlias = Json

SAME = 0
"""The form of what is written as it is recorded."""

TEXT = "text"
"""The form of a list of one text block that is written as a text."""


class NoForm(Exception):
    """What was written says something else than what is recorded."""


def form_of(recorded: Json, written: Json) -> Form:
    """Return the form that leads from a recorded value to a written one.

    Raises:
        NoForm: There is none.
    """
    if isinstance(written, dict) and isinstance(recorded, dict):
        return _object(recorded, written)
    if isinstance(written, list) and isinstance(recorded, list | str):
        return _list(recorded, written)
    if isinstance(written, str) and isinstance(recorded, list):
        if _only_text(recorded) == written:
            return TEXT
    elif type(written) is type(recorded) and codec.dumps(written) == codec.dumps(recorded):
        return SAME
    raise NoForm


def in_form(recorded: Json, form: Form) -> Json:
    """Return a recorded value as it was written; the same object where it was written so.

    A form that does not fit the value, which was erased since for example, changes nothing.
    """
    if form is None:
        return None
    if form == TEXT and isinstance(recorded, list):
        words = _only_text(recorded)
        return recorded if words is None else words
    if isinstance(form, dict) and isinstance(recorded, dict):
        return {key: in_form(recorded.get(key), inner) for key, inner in form.items()}
    if isinstance(form, list) and isinstance(recorded, list | str):
        items = _items(recorded)
        if len(items) == len(form):
            return [in_form(item, inner) for item, inner in zip(items, form, strict=True)]
    return recorded


def _object(recorded: dict[str, Json], written: dict[str, Json]) -> Form:
    forms = {
        key: None if key not in recorded and value is None else form_of(recorded.get(key), value)
        for key, value in written.items()
    }
    is_same = list(written) == list(recorded) and not any(map(_changes, forms.values()))
    return SAME if is_same else forms


def _list(recorded: list[Json] | str, written: list[Json]) -> Form:
    items = _items(recorded)
    if len(items) != len(written):
        raise NoForm
    forms = [form_of(item, value) for item, value in zip(items, written, strict=True)]
    return forms if isinstance(recorded, str) or any(map(_changes, forms)) else SAME


def _changes(form: Form) -> bool:
    return bool(form != SAME)


def _items(recorded: list[Json] | str) -> list[Json]:
    return [text(recorded)] if isinstance(recorded, str) else recorded


def _only_text(items: list[Json]) -> str | None:
    if len(items) != 1 or kind(items[0]) != "text":
        return None
    words = items[0].get("text")
    return words if isinstance(words, str) else None
