"""What is left of a raw reply: the draft is thrown away, the tags are taken off."""

from __future__ import annotations

import re

from foldlog.projections.compaction.summaries.prompts import Prompt


def unwrap(raw: str, prompt: Prompt) -> str:
    """The summary in a reply.

    What stands in no tag is kept. Runs of blank lines become one.
    """
    text = _without_draft(raw, prompt.draft, prompt.tag) if prompt.draft else raw
    if prompt.tag and not prompt.keep_tag:
        title = f"{prompt.title}\n" if prompt.title else ""
        tagged = re.compile(rf"<{prompt.tag}>(.*?)(?:</{prompt.tag}>|\Z)", re.DOTALL)
        text = tagged.sub(lambda found: title + found[1].strip(), text, count=1)
    return re.sub(r"\n[ \t]*(?:\n[ \t]*)+", "\n\n", text).strip()


def _without_draft(text: str, draft: str, tag: str | None) -> str:
    """The text without drafts; one that begins it and was never closed goes on to the tag.

    Where there is no tag either, the reply was cut off in its draft, and nothing is left.
    """
    text = re.sub(rf"<{draft}>.*?</{draft}>", "", text, flags=re.DOTALL)
    if not text.lstrip().startswith(f"<{draft}>"):
        return text
    at = text.find(f"<{tag}>") if tag else -1
    return text[at:] if at >= 0 else ""
