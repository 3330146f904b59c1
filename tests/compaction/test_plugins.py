"""A rule, a preset and a summarizer in a package of somebody else's."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

from foldlog.eventstore import EventStore
from foldlog.projections import Session, render
from foldlog.projections.compaction import PolicyError, SummaryFailed, policy
from foldlog.projections.compaction.policy import PRESETS, Policy, register_preset
from foldlog.projections.compaction.rules import RULES, Rule, register_rule
from foldlog.projections.summaries import summarizer
from foldlog.projections.summaries.registry import SUMMARIZERS, register_summarizer
from tests.compaction.talk import work

ROOT = Path(__file__).parents[2]

MODULE = '''
from dataclasses import dataclass
from typing import ClassVar, Literal

from foldlog.projections.compaction import Edits
from foldlog.projections.compaction.amount import Amount
from foldlog.projections.compaction.rules import Rule
from foldlog.projections.summaries import SummaryReply


@dataclass(frozen=True, slots=True, kw_only=True)
class Shout(Rule):
    """Clears the oldest results, loudly."""

    kind: ClassVar[str] = "shout"
    most: Amount
    words: tuple[str, ...] = ("CLEARED",)
    mark: str | None = None
    how: Literal["once", "twice"] = "once"
    times: int = 1

    def decide(self, window):
        old = [part for part in window.results if window.seen(part) and part.whole]
        if not old or window.size <= window.amount(self.most):
            return None
        text = " ".join(self.words) * self.times + (self.mark or "")
        return Edits(
            tuple(dict(first=p.version, last=p.version, shown="cleared", text=text) for p in old),
            "somebody shouted",
        )


class Haiku:
    name = "haiku"
    asks_model = False

    def summarize(self, task):
        return SummaryReply("Old pond: a frog leaps in.", prompt="haiku@1")


class NoRule:
    kind = "no_rule"


PRESET = """
name = "loud"
description = "Shouts, then writes a poem."

[[rules]]
rule = "shout"
most = 10

[[rules]]
rule = "summarize"
trigger = 10
keep = 0
max_tokens = 100
"""
'''

ENTRY_POINTS = """
[foldlog.rules]
shout = loud_package:Shout
no_rule = loud_package:NoRule
gone = loud_package:NotThere

[foldlog.presets]
loud = loud_package:PRESET
broken = no_such_module:PRESET
adaptive = loud_package:PRESET

[foldlog.summarizers]
haiku = loud_package:Haiku
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an installed distribution, as pip leaves one."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "loud_package.py").write_text(MODULE)
    info = folder / "loud-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: loud\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


@pytest.fixture
def installed(package: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    registries = (RULES, PRESETS, SUMMARIZERS)
    monkeypatch.syspath_prepend(package)
    for registry in registries:
        registry.reload()
    yield
    monkeypatch.undo()
    for registry in registries:
        registry.reload()


@pytest.fixture
def session() -> Session:
    session = Session(EventStore(":memory:"), "s")
    session.append(*work())
    return session


@pytest.mark.usefixtures("installed")
class TestPackage:
    def test_all_three_work_together(self, session: Session) -> None:
        view = session.prepare("loud", summarizer="haiku", window=200_000)
        assert session.prepared is not None
        shouted, summarized = (edit.data for edit in session.prepared.edits)
        assert (shouted["rule"], shouted["reason"]) == ("shout", "somebody shouted")
        assert shouted["edits"][0]["text"] == "CLEARED"
        assert summarized["rule"] == "summarize"
        assert "Old pond" in json.dumps(session.render()["messages"])
        assert view.version == session.version

    def test_its_fields_are_read_by_their_types(self) -> None:
        given: dict[str, Any] = {"rule": "shout", "most": "10%", "words": ["A", "B"], "mark": "!"}
        rule: Any = Policy.read({"name": "p", "rules": [given]}).rules[0]
        assert (rule.words, rule.mark, rule.most.of(1_000, 1_000)) == (("A", "B"), "!", 100)
        for key, value, problem in [
            ("how", "thrice", "how: 'thrice' is not one of once, twice"),
            ("times", "1", "times: '1' is not a whole number"),
            ("words", "A", "words: 'A' is not a list"),
            ("mark", 1, "mark: 1 is not a text"),
        ]:
            with pytest.raises(PolicyError, match=problem):
                Policy.read({"name": "p", "rules": [{**given, key: value}]})

    def test_what_is_broken_is_named_for_whoever_asks_and_stops_nothing(self) -> None:
        assert policy("adaptive").name == "adaptive"
        with pytest.raises(PolicyError, match=r"'gone' cannot be used: .* of loud \(loud_pack"):
            Policy.read({"name": "p", "rules": [{"rule": "gone"}]})
        with pytest.raises(PolicyError, match=r"'broken' cannot be used: .*ModuleNotFoundError"):
            policy("broken")
        assert RULES.problems().keys() == {"gone", "no_rule"}
        assert "foldlog has a preset of that name itself" in PRESETS.problems()["adaptive"]
        with pytest.raises(SummaryFailed, match="unknown summarizer 'tanka'; choose from digest"):
            summarizer("tanka")


class TestCommandLine:
    def run(self, package: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {"PYTHONPATH": f"{package}:{ROOT}", "HOME": str(package), "PATH": "/usr/bin"}
        command = [sys.executable, "-m", "foldlog", "--db", str(package / "s.db"), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    def test_a_package_is_used_by_name(self, package: Path, tmp_path: Path) -> None:
        with EventStore(package / "s.db") as store:
            Session(store, "s").append(*work())
        listed = self.run(package, "policies", "--json")
        assert "loud" in [json.loads(line)["name"] for line in listed.stdout.splitlines()]
        assert "preset 'broken' cannot be used" in listed.stderr
        assert "rule 'gone' cannot be used" in listed.stderr
        done = self.run(
            package, "compact", "s", "--policy", "loud", "--summarizer", "haiku", "--json"
        )
        assert done.returncode == 0, done.stderr
        rules = [json.loads(line)["rule"] for line in done.stdout.splitlines()]
        assert rules == ["shout", "summarize"]
        refused = self.run(package, "policies", "broken")
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr.startswith("Error: the preset 'broken' cannot be used: ")
        assert len(refused.stderr.splitlines()) == 1


class TestProgram:
    def test_a_class_is_registered_by_a_decorator(self, session: Session) -> None:
        @register_rule
        @dataclass(frozen=True, slots=True, kw_only=True)
        class Nothing(Rule):
            kind: ClassVar[str] = "nothing"

            def decide(self, window: object) -> None:
                return None

        try:
            assert Policy.read({"name": "p", "rules": [{"rule": "nothing"}]}).rules == (Nothing(),)
            with pytest.raises(ValueError, match="there is a rule 'nothing' already"):
                register_rule(Nothing)
        finally:
            RULES.remove("nothing")

    def test_a_preset_is_text_or_a_file(self, tmp_path: Path) -> None:
        text = 'name = "mine"\n[[rules]]\nrule = "snip"\ntrigger = 20\ntarget = 10\n'
        (tmp_path / "mine.toml").write_text(text)
        for given in (text, tmp_path / "mine.toml", str(tmp_path / "mine.toml")):
            register_preset("mine", given)
            try:
                assert policy("mine").name == "mine"
            finally:
                PRESETS.remove("mine")
        with pytest.raises(FileNotFoundError):
            register_preset("mine", "nowhere.toml")

    def test_a_summarizer_or_what_makes_one(self) -> None:
        @register_summarizer("made")
        def make(model: str | None) -> Any:
            return type("S", (), {"name": f"made for {model}", "asks_model": False})()

        try:
            assert summarizer("made", model="m").name == "made for m"
        finally:
            SUMMARIZERS.remove("made")

    def test_a_type_that_no_policy_can_hold_is_refused_at_once(self) -> None:
        @dataclass(frozen=True, slots=True, kw_only=True)
        class Odd(Rule):
            kind: ClassVar[str] = "odd"
            what: complex = 1j

        with pytest.raises(TypeError, match=r"Odd\.what: a policy cannot hold the type"):
            register_rule(Odd)


DOCUMENTED = Path(__file__).parents[2] / "docs" / "compaction.md"


def test_the_package_that_the_documentation_shows_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, session: Session
) -> None:
    page = DOCUMENTED.read_text(encoding="utf-8")
    code = re.search(r"```python\n(# loud_package.py\n.*?)```", page, re.DOTALL)
    named = re.findall(r'^(\w+) = "(loud_package:\w+)"', page, re.MULTILINE)
    assert code is not None
    module = ModuleType("documented")
    monkeypatch.setitem(sys.modules, "documented", module)
    exec(compile(code[1], "loud_package.py", "exec"), vars(module))
    found = {name: getattr(module, place.partition(":")[2]) for name, place in named}
    assert found.keys() == {"clear_logs", "loud", "haiku"}
    registries: dict[str, Any] = {"clear_logs": RULES, "loud": PRESETS, "haiku": SUMMARIZERS}
    for name, registry in registries.items():
        registry.add(name, found[name])
    try:
        session.compact("loud", summarizer="haiku", window=2_000)
        assert "Old pond" in str(render(session.view()))
    finally:
        for name, registry in registries.items():
            registry.remove(name)
