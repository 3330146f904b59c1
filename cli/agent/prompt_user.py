"""Asking a person on the terminal whether a call may run."""

from __future__ import annotations

import json

import click

from foldlog.cli.agent.permissions import Answer, Question
from foldlog.cli.output import note, styled
from foldlog.cli.safe import one_line, safe


def ask(question: Question) -> Answer:
    """What a person decides about a call.

    Raises:
        EOFError: Nobody answers.
    """
    for line in _told(question):
        click.echo(line)
    while True:
        answer = answered(input("? "), question)
        if answer is not None:
            return answer
        note("Answer y, n, never, or the number of what to allow always; n may have a reason.")


def answered(text: str, question: Question) -> Answer | None:
    """What somebody means by an answer; None for what means nothing."""
    word, _, reason = text.strip().partition(" ")
    if word in ("y", "yes"):
        return Answer("allow")
    if word in ("n", "no"):
        return Answer("deny", reason=reason)
    if word == "never":
        return Answer("deny", "never", reason=reason)
    if word.isdecimal() and 1 <= int(word) <= len(question.patterns):
        return Answer("allow", "always", question.patterns[int(word) - 1])
    return None


def _told(question: Question) -> list[str]:
    """The question, whole: nobody is asked about what they cannot see."""
    lines = [styled(f"May {one_line(question.tool)} run? ({question.why})", bold=True)]
    for name, value in question.arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        first, *rest = safe(text).split("\n")
        lines += [f"  {one_line(name)}: {first}", *(f"    {line}" for line in rest)]
    lines.append("  y      yes, this once")
    for number, pattern in enumerate(question.patterns, start=1):
        lines.append(f"  {number}      always: {one_line(pattern)}")
    return [
        *lines,
        "  n      no; what stands behind it is told to the model",
        f"  never  never: {one_line(question.patterns[0])}",
    ]
