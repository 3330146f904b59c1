"""``foldlog stats`` on real transcripts: each reply of the API counts once for the whole store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from foldlog.cli.main import foldlog

CLAUDE = Path(__file__).parents[1] / "fixtures" / "claude"


@pytest.mark.parametrize(
    "names",
    [
        ("gen_v332_branch_parent", "gen_v332_branch_child_forkedFrom"),
        ("ccl_dag_fork_3sessions.jsonl",),
    ],
)
def test_a_branch_repeats_no_requests(tmp_path: Path, names: tuple[str, ...]) -> None:
    paths = [CLAUDE / name for name in names]
    db = ["--db", str(tmp_path / "s.db")]
    assert CliRunner().invoke(foldlog, [*db, "import", *map(str, paths)]).exit_code == 0
    told = json.loads(CliRunner().invoke(foldlog, [*db, "stats", "--json"]).stdout)
    assert told["tokens"]["requests"] == len(_replies(paths))


def _replies(paths: list[Path]) -> set[str]:
    """The message ids of all replies that a model wrote."""
    files = [
        file for path in paths for file in ([path] if path.is_file() else path.rglob("*.jsonl"))
    ]
    lines = (json.loads(line) for file in files for line in file.read_text().splitlines())
    messages = (line["message"] for line in lines if line.get("type") == "assistant")
    return {m["id"] for m in messages if m.get("model") != "<synthetic>" and m.get("usage")}
