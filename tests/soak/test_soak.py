"""Two thousand turns in which everything goes wrong: nothing lost, nothing twice, all bounded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.soak.killed import killed
from tests.soak.sessions import AGAIN, MOST, SEED, TURNS, Kind, shares, soaked

KILLED = max(4, TURNS // 80)
"""The turns of the session whose processes are killed."""


@pytest.mark.parametrize(("kind", "turns"), [*shares(TURNS)], ids=str)
def test_a_long_session_in_which_everything_goes_wrong(
    kind: Kind, turns: int, tmp_path: Path
) -> None:
    print(AGAIN)
    growth = soaked(kind, turns, SEED, tmp_path).growth
    if turns >= 200:
        assert max(growth.values()) <= MOST, growth


@pytest.mark.skipif(os.name == "nt", reason="forks and signals of POSIX")
def test_a_session_that_is_killed_again_and_again(tmp_path: Path) -> None:
    print(AGAIN)
    assert killed(KILLED, SEED, tmp_path) >= KILLED / 2
