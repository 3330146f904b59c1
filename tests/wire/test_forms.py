"""Forms: what leads from the recorded value to the written one, and holds no values itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldlog.eventstore.codec import dumps
from foldlog.projections.wire.forms import NoForm, form_of, in_form

TEXT = {"type": "text", "text": "Hello."}

WRITTEN: tuple[tuple[str, Any, Any, Any], ...] = (
    ("as recorded", [TEXT], [TEXT], 0),
    ("a list of one text as a text", [TEXT], "Hello.", "text"),
    ("a text as a list", "Hello.", [TEXT], [0]),
    (
        "keys in another order",
        [{"type": "tool_use", "id": "a", "input": {"x": 1}}],
        [{"id": "a", "input": {"x": 1}, "type": "tool_use"}],
        [{"id": 0, "input": 0, "type": 0}],
    ),
    (
        "nulls of a model class",
        [TEXT],
        [{"citations": None, "text": "Hello.", "type": "text"}],
        [{"citations": None, "text": 0, "type": 0}],
    ),
    (
        "a field that is left out",
        [{**TEXT, "citations": None}],
        [TEXT],
        [{"type": 0, "text": 0}],
    ),
    (
        "keys within a field",
        {"input": {"a": 1, "b": [2]}},
        {"input": {"b": [2], "a": 1}},
        {"input": {"b": 0, "a": 0}},
    ),
)


@pytest.mark.parametrize(
    ("recorded", "written", "form"), [w[1:] for w in WRITTEN], ids=[w[0] for w in WRITTEN]
)
def test_a_form_leads_from_what_is_recorded_to_what_was_written(
    recorded: Any, written: Any, form: Any
) -> None:
    assert form_of(recorded, written) == form
    assert dumps(in_form(recorded, form)) == dumps(written)


@pytest.mark.parametrize(
    ("recorded", "written"),
    [
        ([TEXT], [{"type": "text", "text": "Hello!"}]),
        ([TEXT], [TEXT, TEXT]),
        ([TEXT], "Hello!"),
        ([TEXT, TEXT], "Hello."),
        ([TEXT], [{**TEXT, "citations": []}]),
        ({"a": 1}, {"a": 1.0}),
        ({"a": 1}, {"a": True}),
        ({"a": 1}, {"a": None}),
        ("Hello.", None),
    ],
)
def test_what_says_something_else_has_no_form(recorded: Any, written: Any) -> None:
    with pytest.raises(NoForm):
        form_of(recorded, written)


def test_a_form_of_something_else_changes_nothing() -> None:
    """Content that was erased since is shown as it is."""
    for form in ("text", [0, 0], {"type": 0}, 0):
        assert in_form("[redacted]", form) == "[redacted]"


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


@st.composite
def rewritten(draw: st.DrawFn) -> tuple[Any, Any]:
    """A value, and how a client writes it."""
    recorded = draw(VALUES)

    def write(value: Any) -> Any:
        if isinstance(value, list):
            return [write(item) for item in value]
        if not isinstance(value, dict):
            return value
        keys = list(value) + draw(st.lists(st.sampled_from(["null", "nothing"]), max_size=1))
        return {key: write(value.get(key)) for key in draw(st.permutations(keys))}

    return recorded, write(recorded)


@given(rewritten())
def test_whatever_order_and_nulls_a_client_writes_there_is_a_form(pair: tuple[Any, Any]) -> None:
    recorded, written = pair
    assert dumps(in_form(recorded, form_of(recorded, written))) == dumps(written)


@given(VALUES, VALUES)
def test_a_form_is_exact_or_there_is_none(recorded: Any, written: Any) -> None:
    try:
        form = form_of(recorded, written)
    except NoForm:
        return
    assert dumps(in_form(recorded, form)) == dumps(written)
