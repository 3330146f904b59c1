"""What a request costs where branches pile up: as much as where there are few, in rows read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from foldlog.projections.live.branches import BRANCHES
from tests.live.editor import Editor
from tests.soak.effort import watched

TURNS = 6 * BRANCHES


def says_it_in_other_words(editor: Editor) -> None:
    editor.say()
    del editor.messages[-2:]
    editor.say()


def asks_for_a_title(editor: Editor) -> None:
    says_it_in_other_words(editor)
    talk, tools = editor.messages, editor.tools
    editor.messages, editor.tools = [{"role": "user", "content": editor.new("a title")}], []
    editor.send([{"type": "text", "text": editor.new("Title")}])
    editor.messages, editor.tools = talk, tools


def lets_a_window_slide(editor: Editor) -> None:
    editor.work()
    del editor.messages[: editor.turns()[-4]]


@pytest.mark.parametrize("observe", [True, False], ids=["observed", "managed"])
@pytest.mark.parametrize("turn", [says_it_in_other_words, asks_for_a_title, lets_a_window_slide])
def test_turns_read_no_more_of_the_log_as_it_grows(
    turn: Callable[[Editor], None], observe: bool
) -> None:
    editor = Editor(observe)
    for _ in range(5):
        editor.work()
    effort, read = watched(editor.session.store), []
    for number in range(TURNS):
        if number % 4 == 0:
            summarize(editor)
        before = effort.copy()
        turn(editor)
        read.append(effort.since(before).rows)
    third = TURNS // 3
    assert sum(read[2 * third :]) <= 1.1 * sum(read[third : 2 * third])


def summarize(editor: Editor) -> None:
    """A turn that is not measured: a summary of all but the newest turns."""
    text = editor.new("Summary of the conversation so far: it is about number")
    editor.messages[: editor.turns()[-2]] = [{"role": "user", "content": text}]
    editor.say()
