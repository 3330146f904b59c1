"""Policies are data: presets and files of one's own, every fault named."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from foldlog.projections.compaction import Policy, PolicyError, policy, presets
from foldlog.projections.compaction.policy import DEFAULT
from foldlog.projections.compaction.rules import RULES
from tests.compaction.run import budget_of, planned
from tests.projections.build import assistant, log, user

PRESETS = {
    "learn-claude-code",
    "lesson",
    "claude-code",
    "opencode",
    "codex",
    "gemini",
    "openhands",
    "cline",
    "aider",
    "pi",
    "deepagents",
    "adk",
    "cursor",
    "manus",
    "api-native",
    "adaptive",
}

MINE = """
name = "mine"
unit = "characters"

[[rules]]
rule = "snip"
trigger = 20
target = 10
"""


def test_the_presets() -> None:
    assert set(presets()) == PRESETS
    assert DEFAULT in PRESETS


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_each_says_what_it_is_where_it_comes_from_and_how_it_differs(name: str) -> None:
    settings = policy(name).settings
    assert settings.name == name
    assert len(settings.description) > 40
    assert settings.sources
    assert settings.deviations or name == "adaptive"


def test_a_file_of_ones_own_works_the_same(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(MINE, encoding="utf-8")
    mine = policy(path)
    assert (mine.name, mine.unit.name, [rule.kind for rule in mine.rules]) == (
        "mine",
        "characters",
        ["snip"],
    )
    assert policy(str(path)).data == mine.data


def test_it_is_recorded_as_it_was_written_and_can_be_read_again() -> None:
    for name in presets():
        found = policy(name)
        draft = found.recorded()
        assert draft.type == "policy.set"
        assert Policy.read(draft.data, "the log").rules == found.rules


def faulty(text: str) -> str:
    with pytest.raises(PolicyError) as error:
        Policy.read(tomllib.loads(text), "mine.toml")
    return str(error.value)


def changed(old: str, new: str) -> str:
    assert old in MINE
    return faulty(MINE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'unit = "characters"',
            'unit = "pounds"',
            "unit: unknown unit 'pounds'; choose from t",
        ),
        ('unit = "characters"', "notices = { ready = 'x' }", "notices: ready: unknown key; choose"),
        ('unit = "characters"', "notices = { saved = 1 }", "notices: saved: 1 is not a text"),
        ('unit = "characters"', "colour = 1", "colour: unknown key; choose from name, description"),
        ('name = "mine"', "", "name: must be given"),
        ('name = "mine"', "name = 7", "name: 7 is not a text"),
        (
            'rule = "snip"',
            'rule = "snap"',
            "rules[1]: rule: unknown rule 'snap'; choose from clear_inputs",
        ),
        ("trigger = 20", "trigre = 20", "rules[1] (snip): trigre: unknown key; choose from on"),
        ("trigger = 20", "", "rules[1] (snip): trigger: must be given"),
        ("trigger = 20", 'trigger = "20"', "rules[1] (snip): trigger: '20' is not a whole number"),
        ("trigger = 20", "trigger = true", "rules[1] (snip): trigger: True is not a whole number"),
        ("trigger = 20", "trigger = 10", "rules[1] (snip): target: must be below the trigger"),
        ("target = 10", "target = 4", "rules[1] (snip): target: 4 messages are too few"),
        (
            "target = 10",
            'target = 10\non = ["noon"]',
            "on: unknown trigger 'noon'; choose from",
        ),
    ],
)
def test_faults_are_named_with_file_rule_and_key(old: str, new: str, message: str) -> None:
    found = changed(old, new)
    assert found.startswith("mine.toml: ")
    assert message in found


def test_a_policy_has_rules() -> None:
    assert "rules: a policy has at least one" in faulty('name = "mine"')


def test_an_amount_that_is_none_is_named() -> None:
    text = 'name = "mine"\n[[rules]]\nrule = "truncate"\ntrigger = "lots"\nkeep = 1'
    assert "rules[1] (truncate): trigger: 'lots' is not a size; write it as" in faulty(text)


def test_what_is_no_policy_at_all(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"unknown preset 'nobody'; choose from adaptive, adk"):
        policy("nobody")
    broken = tmp_path / "broken.toml"
    broken.write_text("name = ", encoding="utf-8")
    with pytest.raises(PolicyError, match=r"broken\.toml: this is not TOML: "):
        policy(broken)
    broken.write_bytes(b"\xff")
    with pytest.raises(PolicyError, match="cannot be read"):
        policy(broken)


@pytest.mark.parametrize("name", sorted(PRESETS))
@pytest.mark.parametrize("window", [8_000, 32_000, 200_000, 1_000_000])
def test_no_preset_acts_on_a_little_talk_in_any_window(name: str, window: int) -> None:
    made = planned(
        log(user("hello"), assistant("hi"), user("bye")), policy(name), budget_of(window=window)
    )
    assert not made.decides
    assert made.level == "fine"


def test_an_environment_variable_lowers_the_triggers_of_claude_code() -> None:
    variable = "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"
    assert trigger_of(policy("claude-code", {})) == 167_000
    assert trigger_of(policy("claude-code", {variable: "50"})) == 90_000
    assert trigger_of(policy("claude-code", {variable: "99"})) == 167_000, "lowers, never raises"
    assert trigger_of(policy("adaptive", {variable: "50"})) == 153_000
    for wrong in ("0", "101", "half"):
        with pytest.raises(PolicyError, match=f"{variable} is '{wrong}'; it must be a number"):
            policy("claude-code", {variable: wrong})


def trigger_of(found: Policy) -> int:
    rule: Any = next(rule for rule in found.rules if rule.kind == "summarize")
    budget = budget_of(window=200_000)
    return int(rule.trigger.of(budget.room, budget.window))


def test_every_kind_of_rule_is_used_by_a_preset() -> None:
    assert {rule.kind for name in presets() for rule in policy(name).rules} == set(RULES)
