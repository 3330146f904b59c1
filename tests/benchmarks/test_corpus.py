"""The corpus is what benchmarks/README.md says: the figures in it rest on these sizes."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import TYPE_CHECKING

import orjson
import pytest

from benchmarks import corpus, transcript

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def messages() -> list[corpus.Message]:
    return list(corpus.session(8_000))


@pytest.fixture(scope="module")
def results(messages: list[corpus.Message]) -> list[str]:
    blocks = [message["content"][0] for message in messages]
    return [block["content"] for block in blocks if block["type"] == "tool_result"]


def test_results_have_the_promised_sizes(results: list[str]) -> None:
    sizes = sorted(len(result.encode()) for result in results)
    assert 1_000 < median(sizes) < 1_400
    assert 16_000 < sizes[int(len(sizes) * 0.95)] < 24_000
    assert sizes[-1] < 210_000


def test_one_result_in_ten_repeats_an_earlier_one(results: list[str]) -> None:
    assert 0.07 < 1 - len(set(results)) / len(results) < 0.13


def test_some_results_are_chinese(results: list[str]) -> None:
    chinese = sum("的" in result and result.count("，") > 2 for result in results)
    assert 0.01 < chinese / len(results) < 0.08


def test_a_long_session_begins_like_a_short_one(messages: list[corpus.Message]) -> None:
    assert list(corpus.session(300)) == messages[:300]
    assert list(corpus.session(300, seed=8)) != messages[:300]


def test_every_call_is_answered_once_and_in_order(messages: list[corpus.Message]) -> None:
    open_calls: list[str] = []
    for message in messages:
        for block in message["content"]:
            if block["type"] == "tool_use":
                open_calls.append(block["id"])
            elif block["type"] == "tool_result":
                assert block["tool_use_id"] == open_calls.pop(0)
        if message["role"] == "assistant":
            assert len(open_calls) == len(message["content"]) - 1


def test_training_and_test_text_come_from_different_files() -> None:
    train, test = corpus.sources("train"), corpus.sources("test")
    assert train
    assert test
    assert not {path for path, _ in train} & {path for path, _ in test}


def test_a_session_survives_its_file(tmp_path: Path, messages: list[corpus.Message]) -> None:
    path = corpus.write(messages[:50], tmp_path / "corpus.jsonl")
    assert list(corpus.read(path, 20, skip=10)) == messages[10:30]


def test_a_transcript_is_a_tree_of_single_blocks(tmp_path: Path) -> None:
    path = transcript.write(tmp_path / "t.jsonl", 200_000)
    lines = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    calls: dict[str, str] = {}
    previous = None
    for line in lines:
        block = line["message"]["content"][0]
        result = block["type"] == "tool_result"
        assert line["parentUuid"] == (calls[block["tool_use_id"]] if result else previous)
        previous = line["uuid"]
        if block["type"] == "tool_use":
            calls[block["id"]] = previous
    blocks = Counter(
        len(line["message"]["content"]) for line in lines if line["type"] == "assistant"
    )
    assert set(blocks) == {1}
