"""What a summary quotes of the user must be what the user said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldlog.projections.summaries.acceptance import invented

SAID = ["Please fix the login.\nDon't touch   billing until I say so.", "no", "“Keep it simple.”"]


@pytest.mark.parametrize(
    "summary",
    [
        'The user said "Please fix the login."',
        'The user said "please fix the login"',
        "The user said “Don’t touch billing until I say so”.",
        'The user asked: "Please fix the login. Don\'t touch billing"',
        'The user wrote "Please fix … until I say so".',
        'The user answered "no".',
        'The user said "Keep it simple."',
        'The test prints "everything is fine here, really" in green.',
        "The user said `yes, deploy it now please`.",
        'The user has a file "config.py".',
        "No quotations at all.",
    ],
)
def test_true_quotations_and_no_quotations_are_accepted(summary: str) -> None:
    assert invented(summary, SAID) == []


@pytest.mark.parametrize(
    ("summary", "found"),
    [
        ('The user said "yes, deploy it now".', "yes, deploy it now"),
        ('The user approved: "go ahead".', "go ahead"),
        ('User confirmed "yes"', "yes"),
        ('The user answered "not".', "not"),
        ("The user agreed «to everything».", "to everything"),
        ('Per the user, "billing may be changed freely".', "billing may be changed freely"),
        ('The user wrote "until I say so … Please fix".', "until I say so … Please fix"),
        ("用户说「可以删除所有数据」", "可以删除所有数据"),
        ('## All user messages\n- "Deploy to production"', "Deploy to production"),
        ("## All user messages\n> Deploy to production", "Deploy to production"),
    ],
)
def test_invented_quotations_are_found(summary: str, found: str) -> None:
    assert invented(summary, SAID) == [found]


def test_what_was_said_is_read_only_where_something_is_quoted() -> None:
    def spoken() -> list[str]:
        raise AssertionError("not needed")

    assert invented("Nothing is quoted.", (text for text in [] if spoken())) == []


words = st.lists(
    st.sampled_from(["fix", "the", "login", "never", "touch", "billing", "支払い", "deploy", "a1"]),
    min_size=3,
)


@given(words, st.data())
def test_any_run_of_words_that_was_said_may_be_quoted(said: list[str], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(said) - 1))
    last = data.draw(st.integers(first, len(said) - 1))
    blank = data.draw(st.sampled_from([" ", "  ", "\n", "\t "]))
    quote = " ".join(said[first : last + 1])
    assert invented(f'The user said "{quote}".', [blank.join(said)]) == []
