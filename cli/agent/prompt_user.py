"""Ask a person on the terminal: whether a call may run, whether something from elsewhere counts."""

from __future__ import annotations

import json
from collections.abc import Iterable

import click

from foldlog.cli.agent.permissions import Answer, Question
from foldlog.cli.output import note, styled
from foldlog.cli.safe import one_line, safe


def ask(question: Question) -> Answer:
    """Return what a person decides about a call.

    Raises:
        EOFError: There is no answer.
    """
    for line in _question_lines(question):
        click.echo(line)
    while True:
        answer = answered(input("? "), question)
        if answer is not None:
            return answer
        note("Answer y, n, never, or the number of what to allow always; n may have a reason.")


def confirm(lines: Iterable[str], question: str) -> bool:
    """Return whether a person says yes to what is listed; no answer is a no."""
    for line in lines:
        click.echo(one_line(line) if line.strip() == line else f"  {one_line(line)}")
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def answered(text: str, question: Question) -> Answer | None:
    """Return what an answer means; None where it means nothing."""
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


def _question_lines(question: Question) -> list[str]:
    """Return the question in full: a person decides only about what they can see."""
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
        "  n      no; text after it is passed to the model as the reason",
        f"  never  never: {one_line(question.patterns[0])}",
    ]
