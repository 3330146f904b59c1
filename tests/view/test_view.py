"""What a view is made of: a small log for each way of showing, each kind of move."""

from __future__ import annotations

import pytest

from foldlog.eventstore.errors import InvalidView
from foldlog.eventstore.events import EventDraft
from foldlog.projections.view.open import project
from foldlog.projections.view.pieces import (
    WHOLE,
    Cleared,
    Hidden,
    Inputs,
    Marker,
    Piece,
    Preview,
    Shown,
    Summary,
    Without,
    shown_from_json,
)
from tests.projections.build import (
    edit,
    later,
    log,
    moved,
    shown,
    state,
    summary,
    system,
    tools,
    user,
)

THREE = [user("one"), user("two"), user("three")]


def test_without_edits_a_view_is_one_piece() -> None:
    view = project(log(*THREE))
    assert view.pieces == (Piece(1, 3, WHOLE),)
    assert (view.session, view.version, view.head) == ("s", 3, 3)


def test_the_view_of_nothing_is_empty() -> None:
    assert project([]).pieces == ()
    assert project(log(*THREE), until=0).pieces == ()


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"shown": "whole"}, WHOLE),
        ({"shown": "cleared", "text": "[gone]"}, Cleared("[gone]")),
        ({"shown": "preview", "chars": 9, "before": "<", "after": ">"}, Preview(9, "<", ">")),
        ({"shown": "marker", "text": "[1 message]"}, Marker("[1 message]")),
        ({"shown": "without", "kinds": ["image"], "placeholder": None}, Without(("image",), None)),
        ({"shown": "inputs", "chars": 20}, Inputs(20)),
        ({"shown": "hidden"}, Hidden()),
    ],
)
def test_each_way_of_showing_is_a_piece_of_its_own(
    entry: dict[str, object], expected: Shown
) -> None:
    view = project(log(*THREE, edit({"first": 2, "last": 2, **entry})))
    assert view.pieces == (Piece(1, 1, WHOLE), Piece(2, 2, expected, 4), Piece(3, 4, WHOLE))
    assert shown_from_json(expected.to_json()) == expected


def test_a_summary_stands_for_its_range() -> None:
    view = project(log(*THREE, summary(), edit(shown(1, 2, "summary", summary=4))))
    assert view.pieces == (Piece(1, 2, Summary(4), 5), Piece(3, 5, WHOLE))


def test_the_last_edit_of_a_version_wins_and_earlier_views_keep_theirs() -> None:
    events = log(
        *THREE, edit(shown(1, 3, "cleared", text="a")), edit(shown(2, 2, "cleared", text="b"))
    )
    assert [(p.first, p.last, p.edit) for p in project(events).pieces] == [
        (1, 1, 4),
        (2, 2, 5),
        (3, 3, 4),
        (4, 5, None),
    ]
    assert [(p.first, p.last) for p in project(events, until=4).pieces] == [(1, 3), (4, 4)]


def test_within_one_edit_the_last_entry_wins() -> None:
    view = project(log(*THREE, edit(shown(1, 3, "hidden"), shown(3, 3, "whole"))))
    assert view.pieces == (Piece(1, 2, Hidden(), 4), Piece(3, 3, WHOLE, 4), Piece(4, 4, WHOLE))


def test_entries_that_show_alike_make_one_piece() -> None:
    entries = [shown(v, v, "cleared", text="[gone]") for v in (1, 2, 3)]
    assert project(log(*THREE, edit(*entries))).pieces[0] == Piece(1, 3, Cleared("[gone]"), 4)


def test_a_rewind_leaves_versions_behind_and_names_itself() -> None:
    view = project(log(*THREE, moved(1), user("two again")))
    assert view.lineage == ((1, 1), (4, 5))
    assert (view.head, view.left_by(2), view.left_by(1)) == (5, 4, None)


def test_moves_at_the_end_are_not_the_head() -> None:
    assert project(log(*THREE, moved(2))).head == 2
    assert project(log(*THREE, moved(2), moved(1))).head == 1
    assert project(log(*THREE, moved(0))).head == 0


def test_a_rewind_can_be_rewound() -> None:
    view = project(log(*THREE, moved(1), user("other"), moved(3)))
    assert view.lineage == ((1, 3), (6, 6))
    assert view.left_by(5) == 6


def test_a_path_is_the_lineage_in_its_own_order() -> None:
    view = project(log(*THREE, moved(2, path=[[1, 1], [3, 3], [2, 2]]), user("four")))
    assert view.lineage == ((1, 1), (3, 3), (2, 2), (4, 5))
    assert [p.first for p in view.pieces] == [1, 3, 2, 4]


def test_rewinding_past_an_edit_undoes_it_unless_the_path_keeps_it() -> None:
    compacted = [*THREE, summary(), edit(shown(1, 2, "summary", summary=4)), user("on")]
    assert project(log(*compacted, moved(3))).pieces == (Piece(1, 3, WHOLE), Piece(7, 7, WHOLE))
    kept = project(log(*compacted, moved(3, path=[[1, 3], [4, 5]])))
    assert kept.pieces == (Piece(1, 2, Summary(4), 5), Piece(3, 5, WHOLE), Piece(7, 7, WHOLE))
    assert kept.left_by(6) == 7


def test_a_summary_across_a_gap_is_two_pieces() -> None:
    events = log(
        *THREE, moved(2), user("other"), summary(), edit(shown(1, 5, "summary", summary=6))
    )
    view = project(events)
    assert view.pieces == (
        Piece(1, 2, Summary(6), 7),
        Piece(4, 5, Summary(6), 7),
        Piece(6, 7, WHOLE),
    )


def test_settings_count_on_the_lineage_only_and_no_range_hides_them() -> None:
    events = log(
        system("first"),
        user("hi"),
        system("second"),
        tools("bash"),
        state("plan", "be quick"),
        edit(shown(1, 5, "hidden")),
    )
    view = project(events)
    assert view.system == {"system": "second"}
    assert view.tools == {"tools": [{"name": "bash"}]}
    assert view.state("plan") == "be quick"
    rewound = project([*events, *log(*[user("")] * 6, moved(2))[6:]])
    assert (rewound.system, rewound.tools) == ({"system": "first"}, None)


def test_the_setting_that_counts_is_the_last_one_in_the_order_of_the_lineage() -> None:
    view = project(log(system("a"), system("b"), moved(0, path=[[2, 2], [1, 1]])))
    assert view.system == {"system": "a"}


def test_a_path_that_leaves_the_summary_of_an_edit_behind_is_named() -> None:
    events = log(*THREE, summary(), edit(shown(1, 2, "summary", summary=4)))
    with pytest.raises(InvalidView, match=r"version 5 .*summary 4 is not there"):
        project(later(events, moved(3, path=[[1, 3], [5, 5]])))


def test_a_view_knows_the_piece_of_each_version() -> None:
    view = project(log(*THREE, moved(1), user("two again"), edit(shown(5, 5, "hidden"))))
    assert [view.piece(v) and view.piece(v).shown.kind for v in range(8)] == [  # type: ignore[union-attr]
        None, "whole", None, None, "whole", "hidden", "whole", None,
    ]  # fmt: skip


def test_what_would_be_recorded_next_can_be_seen_before() -> None:
    view = project(log(*THREE))
    after = view.then([summary(), edit(shown(1, 2, "summary", summary=4))])
    assert after.pieces == (Piece(1, 2, Summary(4), 5), Piece(3, 5, WHOLE))
    assert [event.version for event in after.events(after.pieces[1])] == [3, 4, 5]
    assert after.event(4).data["text"] == "What happened before."
    other = view.then([user("four"), user("five")])
    assert other.pieces == (Piece(1, 5, WHOLE),), "nothing was recorded"
    assert view.pieces == (Piece(1, 3, WHOLE),)


@pytest.mark.parametrize(
    "data",
    [
        {"to": 4},
        {"to": -1},
        {"to": "1"},
        {},
        {"to": 1, "path": [[1, 4]]},
        {"to": 1, "path": [[0, 1]]},
        {"to": 1, "path": [[2, 1]]},
        {"to": 1, "path": [[1, 2], [2, 3]]},
        {"to": 1, "path": [1, 2]},
        {"to": 1, "path": "all"},
    ],
)
def test_a_move_that_leads_nowhere_is_named(data: dict[str, object]) -> None:
    broken = EventDraft("head.moved", data)
    with pytest.raises(InvalidView, match="version 4 "):
        project(log(*THREE, broken))
    assert project(log(*THREE, broken), until=3).head == 3


@pytest.mark.parametrize(
    "entry",
    [
        shown(1, 4, "hidden"),
        shown(0, 1, "hidden"),
        shown(3, 2, "hidden"),
        shown(1, 1, "sparkling"),
        shown(1, 1, "cleared"),
        shown(1, 1, "preview", chars="many"),
        shown(1, 1, "without", kinds="thinking"),
        shown(1, 1, "summary", summary=2),
        shown(1, 1, "summary", summary=9),
        {"shown": "hidden"},
        {"first": 1, "last": 1},
    ],
)
def test_an_edit_that_cannot_be_folded_is_named(entry: dict[str, object]) -> None:
    with pytest.raises(InvalidView, match="version 4 "):
        _ = project(log(*THREE, edit(entry))).pieces


def test_an_edit_of_what_was_left_behind_is_named() -> None:
    with pytest.raises(InvalidView, match=r"version 5 .* left behind"):
        project(log(*THREE, moved(1), edit(shown(2, 3, "hidden"))))


def test_the_log_must_be_given_from_its_first_event() -> None:
    with pytest.raises(InvalidView, match="from the first"):
        project(log(*THREE)[1:])
