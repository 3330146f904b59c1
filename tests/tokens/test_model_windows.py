"""How much a model reads: known offline for names of every form, or asked."""

from __future__ import annotations

import pytest

from foldlog.projections.tokens.model_windows import UNKNOWN, WINDOWS, ask_window, window_of
from tests.server import Server
from tests.server.fixtures import api as api


@pytest.mark.parametrize(
    ("model", "tokens", "output"),
    [
        ("claude-opus-5-5", 1_000_000, 128_000),
        ("claude-sonnet-5", 1_000_000, 128_000),
        ("claude-haiku-5-5-20261001", 1_000_000, 128_000),
        ("claude-sonnet-4-6", 1_000_000, 64_000),
        ("claude-haiku-4-5-20251001", 200_000, 64_000),
        ("claude-sonnet-4-5@20250929", 200_000, 64_000),
        ("claude-opus-4-1-20250805", 200_000, 32_000),
        ("claude-3-5-haiku-20241022", 200_000, 8_192),
        ("us.anthropic.claude-opus-4-8-v1:0", 1_000_000, 128_000),
        ("anthropic/claude-opus-4-5", 200_000, 64_000),
        ("claude-sonnet-4-5[1m]", 1_000_000, 64_000),
        ("claude-opus-4-8[200k]", 200_000, 128_000),
    ],
)
def test_a_name_tells_the_window(model: str, tokens: int, output: int) -> None:
    assert window_of(model) == (tokens, output)


@pytest.mark.parametrize("model", [None, "", "<synthetic>", "my-finetune", "gpt-9"])
def test_an_unknown_model_has_the_smallest_window(model: str | None) -> None:
    assert window_of(model) == UNKNOWN
    assert UNKNOWN.tokens == min(window.tokens for window in WINDOWS.values())


def test_the_api_knows_better(api: Server) -> None:
    api.window = 48_000
    assert ask_window(api.client(), "claude-opus-5-5") == (48_000, 128_000)


def test_the_table_agrees_with_what_the_api_tells(api: Server) -> None:
    for model in api.client().models.list():
        assert window_of(model.id) == (model.max_input_tokens, model.max_tokens), model.id
