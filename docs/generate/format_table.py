"""What each format can do, one row a format: the table of docs/formats.md.

Add a row with the format. Whether it is imported and exported is read from the registries; the rest
is what its tests show.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from docs.generate.markdown import table
from foldlog.cli.formats.registry import BUILT_IN_EXPORTERS, BUILT_IN_IMPORTERS

YES, NO = "yes", "–"

DOCS = Path(__file__).parent.parent

OWN = "#foldlogs-own-json-lines"

PAGES = {"claude-code": "claude-code.md", "html": "html.md", "foldlog": OWN, "jsonl": OWN}
"""The pages of formats that are not at ``formats/NAME.md``; or the part of the page itself."""


@dataclass(frozen=True)
class Row:
    """What a format can do.

    Attributes:
        name: Its name on the command line.
        program: Whose it is.
        branches: What becomes of rewinds, forks and undo.
        compactions: What becomes of the program's own compactions; for an export, of foldlog's.
        subagents: What becomes of subagents.
        images: What becomes of images.
        usage: What becomes of the tokens that the API counted.
        verified: Against which program and version, or by which files, this was tested.
    """

    name: str
    program: str
    branches: str = NO
    compactions: str = NO
    subagents: str = NO
    images: str = NO
    usage: str = NO
    verified: str = ""


ROWS = (
    Row(
        "claude-code",
        "Claude Code",
        branches="in and out",
        compactions="in and out",
        subagents="in and out",
        images="in and out",
        usage="in and out",
        verified="the program, 2.1.332 and 2.1.197: resumes compared, files byte for byte,"
        " handed over and resumed",
    ),
    Row(
        "opencode",
        "OpenCode, and its Go predecessor",
        branches="in: reverts, forks; out: the view",
        compactions="in; out: the view",
        subagents="in",
        images="in and out",
        usage="in and out",
        verified="in: 29 requests of 1.18.33, all equal; out: 1.18.33 imports and resumes it",
    ),
    Row(
        "kimi",
        "Kimi Code 2.x, kimi-cli",
        branches="in: undo, clear, branches",
        compactions="in",
        subagents="in",
        images="in",
        usage="in",
        verified="the state of 2.1.0 after each line, 67 of 67 equal, block by block; its requests",
    ),
    Row(
        "pi",
        "pi 0.x and 1.x",
        branches="in: tree; out: the view",
        compactions="in, with edits of the context; out: the view",
        images="in; out: with their content",
        usage="in and out",
        verified="in: what 0.73.1 and 1.6.0 make of each entry, 85 of 85 contexts equal, block by"
        " block; out: 1.6.0 resumes it",
    ),
    Row(
        "codex",
        "Codex CLI 0.40 to 0.171",
        branches="in: rewinds, forks; out: the view",
        compactions="in; out: the view",
        subagents="in",
        images="in; out: with their content",
        usage="in",
        verified="in: the requests of 0.171.0, 20 of 20, and its resumes, 5 of 5 equal, block by"
        " block; out: 0.171.0 resumes it",
    ),
    Row(
        "dsh",
        "DeepSeek Harness's event log",
        compactions="in: checkpoints, pruned results",
        subagents="in",
        usage="in",
        verified="two logs of its tests",
    ),
    Row(
        "aider",
        "aider's chat history",
        usage="in: as printed",
        verified="1,157 chats of public histories; it loses much",
    ),
    Row(
        "messages",
        "logs of requests to the Messages API",
        branches="in",
        compactions="in",
        subagents="in: sessions of their own",
        images="in",
        usage="in",
        verified="52 requests of Claude Code: 46 the view, 4 for summaries, 2 with a difference",
    ),
    Row(
        "openhands",
        "OpenHands: SDK 1.x, trajectories of 0.x",
        branches="in",
        compactions="in",
        subagents="in",
        images="in",
        usage="in",
        verified="what SDK 1.58.2 gave its model: 7 of 7 contexts equal, block by block",
    ),
    Row(
        "gemini",
        "Gemini CLI",
        branches="in: rewinds",
        compactions="in",
        subagents="in",
        images="in",
        usage="in",
        verified="the program, 0.61: 15 resumes compared",
    ),
    Row(
        "qwen",
        "Qwen Code",
        branches="in: rewinds, forks",
        compactions="in",
        subagents="in",
        images="in",
        usage="in",
        verified="the program, 0.24.4: 7 requests compared",
    ),
    Row(
        "openai-agents",
        "OpenAI Agents SDK: SQLite sessions",
        branches="in: branches, removed items",
        images="in",
        usage="in: by turn",
        verified="the SDK, 0.24.0: what it would send next, item by item",
    ),
    Row(
        "copilot",
        "GitHub Copilot CLI",
        branches="in: rewinds",
        compactions="in",
        subagents="in",
        usage="in",
        verified="the program, 1.0.102: 4 resumes compared",
    ),
    Row(
        "llm",
        "llm, both generations of its log",
        branches="in: forks, other turns",
        images="in",
        usage="in",
        verified="llm 0.36 writing; 8 of 8 requests of 0.27.1, but for a file's content",
    ),
    Row(
        "cline",
        "Cline 3; tasks of its extension, Roo Code, Kilo Code",
        branches="in: rewinds",
        compactions="in",
        subagents="in",
        images="in",
        usage="in",
        verified="the program, 3.0.65: 2 resumes compared; tasks by the public source",
    ),
    Row(
        "droid",
        "Factory's droid",
        compactions="in",
        images="in",
        verified="public sources only, no file of the program's",
    ),
    Row(
        "goose",
        "goose, schemas 5 to 13 and files",
        branches="in: removed rows",
        compactions="in",
        images="in",
        usage="in: by session",
        verified="its public source; constructed files",
    ),
    Row(
        "atif",
        "Harbor's trajectories (ATIF 1.0 to 1.8)",
        branches="out: the view",
        compactions="out: system steps",
        subagents="in and out: embedded",
        images="in and out: files",
        usage="in and out",
        verified="out: Harbor's models, 0.26.0; in: its converters' files",
    ),
    Row(
        "openai",
        "a request to OpenAI's Responses API",
        branches="out: the view",
        compactions="out: the view",
        images="out",
        verified="the types of the openai package, 3.57",
    ),
    Row(
        "openai-chat",
        "a request to OpenAI's Chat Completions",
        branches="out: the view",
        compactions="out: the view",
        images="out",
        verified="the types of the openai package, 3.57",
    ),
    Row(
        "otel",
        "OpenTelemetry's spans of generative AI",
        branches="out: all",
        compactions="out: replies that made summaries",
        subagents="out: within their calls",
        images="out, with `--content`",
        usage="out",
        verified="OpenTelemetry's own decoder and names, 1.45",
    ),
    Row("foldlog", "foldlog's JSON Lines", *(["whole"] * 5), verified="hash by hash"),
    Row("jsonl", "the same, as `export` names it", *(["whole"] * 5), verified="hash by hash"),
    Row(
        "markdown",
        "for people",
        branches="marked",
        compactions="marked",
        subagents="named",
        images="named",
        verified="by its files",
    ),
    Row(
        "html",
        "for people",
        branches="marked",
        compactions="marked, side by side",
        subagents="pages",
        images="shown",
        usage="shown",
        verified="in a browser",
    ),
)
"""The formats, those of programs first as ``foldlog import --help`` lists them."""


def format_table() -> None:
    """Print what each format can do."""
    table(
        (
            *("format", "of", "import", "export", "branches", "compactions"),
            *("subagents", "images", "usage", "verified with"),
        ),
        *(_cells(row) for row in ROWS),
    )


def _cells(row: Row) -> tuple[str, ...]:
    return (
        _name(row.name),
        row.program,
        YES if row.name in BUILT_IN_IMPORTERS else NO,
        YES if row.name in BUILT_IN_EXPORTERS else NO,
        row.branches,
        row.compactions,
        row.subagents,
        row.images,
        row.usage,
        row.verified,
    )


def _name(format: str) -> str:
    """Return the name of a format, with a link where it has a page."""
    page = PAGES.get(format, f"formats/{format}.md")
    is_there = page.startswith("#") or (DOCS / page).exists()
    return f"[`{format}`]({page})" if is_there else f"`{format}`"
