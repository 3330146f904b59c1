"""How a model is asked for a summary: data, one file for each way, named as a policy names it."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, Literal

from foldlog.eventstore import codec
from foldlog.projections.summaries.failure import SummaryFailed

Form = Literal["conversation", "text", "json"]
Style = Literal["markdown", "numbered", "labels", "xml"]

REVIEW = """Look at your summary critically: does it leave out a detail, a path, a value or a \
demand of the user? Does it claim anything that the conversation does not show? Write the final \
summary in the same form, improved where it must be, else the same again."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading that a summary is asked for.

    Attributes:
        name: The heading.
        about: What belongs below it.
    """

    name: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Prompt:
    """How a model is asked for a summary, and what is made of its reply.

    Attributes:
        name: As a policy names it.
        description: What it follows, and where it does not.
        system: The system prompt.
        ask: What is asked, after the conversation.
        update: What is asked in addition where an earlier summary is carried on.
        form: How the conversation is given: as the messages that it is, or as one text, in plain
            lines or as the JSON of its messages.
        sections: The headings that are asked for.
        style: What the headings look like: Markdown, numbered lines, labels, XML elements.
        max_tokens: The most tokens of the reply.
        draft: The tag around a draft that is thrown away.
        tag: The tag around the summary itself.
        keep_tag: The tag is a part of the summary.
        title: A line that is put before what stood in the tag.
        recalls: How many characters of results that are not shown whole any more are given again
            from the log, so that what was cut is not lost to the summary.
        files: The heading under which the log says which files were read and changed, whatever the
            model writes; None for no such part.
        shares_prefix: System, tools and messages are sent as in any turn, so that the prompt cache
            is read and not written.
        drop: What is left out where the input is too long: the oldest ``fifth`` of the rounds, the
            oldest ``round``, or ``nothing``.
        retries: How often something may be left out.
        review: What is asked where a second request reads the first reply again.
    """

    name: str
    description: str = ""
    system: str = ""
    ask: str = ""
    update: str = ""
    form: Form = "text"
    sections: tuple[Section, ...] = ()
    style: Style = "markdown"
    max_tokens: int = 2_000
    draft: str | None = None
    tag: str | None = None
    keep_tag: bool = False
    title: str = ""
    recalls: int = 0
    files: str | None = None
    shares_prefix: bool = False
    drop: Literal["fifth", "round", "nothing"] = "round"
    retries: int = 1
    review: str = REVIEW

    @property
    def id(self) -> str:
        """Its name and a digest of all that it says, so that the log says which one was used."""
        said = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "description"}
        said["sections"] = [[section.name, section.about] for section in self.sections]
        return f"{self.name}@{sha256(codec.dumps(said)).hexdigest()[:12]}"


@cache
def prompt(name: str) -> Prompt:
    """Return the prompt of that name.

    Raises:
        SummaryFailed: ``unsupported``: there is no such prompt; the error names those there are.
    """
    import tomllib

    if name not in prompts():
        problem = f"unknown prompt {name!r}; choose from {', '.join(prompts())}."
        raise SummaryFailed("unsupported", problem)
    file = files(__package__) / "wording" / f"{name}.toml"
    return _read(name, tomllib.loads(file.read_text(encoding="utf-8")))


@cache
def prompts() -> tuple[str, ...]:
    """Return the names of all prompts."""
    found = (files(__package__) / "wording").iterdir()
    return tuple(sorted(f.name.removesuffix(".toml") for f in found if f.name.endswith(".toml")))


def _read(name: str, data: dict[str, Any]) -> Prompt:
    sections = tuple(Section(**section) for section in data.pop("section", ()))
    return Prompt(name, sections=sections, **data)


def unwrap(raw: str, prompt: Prompt) -> str:
    """Return the summary in a reply.

    What stands in no tag is kept. Runs of blank lines become one.
    """
    text = _without_draft(raw, prompt.draft, prompt.tag) if prompt.draft else raw
    if prompt.tag and not prompt.keep_tag:
        title = f"{prompt.title}\n" if prompt.title else ""
        tagged = re.compile(rf"<{prompt.tag}>(.*?)(?:</{prompt.tag}>|\Z)", re.DOTALL)
        text = tagged.sub(lambda found: title + found[1].strip(), text, count=1)
    return re.sub(r"\n[ \t]*(?:\n[ \t]*)+", "\n\n", text).strip()


def _without_draft(text: str, draft: str, tag: str | None) -> str:
    """Return the text without drafts; one that begins it and was never closed goes on to the tag.

    Where there is no tag either, the reply was cut off in its draft, and nothing is left.
    """
    text = re.sub(rf"<{draft}>.*?</{draft}>", "", text, flags=re.DOTALL)
    if not text.lstrip().startswith(f"<{draft}>"):
        return text
    at = text.find(f"<{tag}>") if tag else -1
    return text[at:] if at >= 0 else ""
