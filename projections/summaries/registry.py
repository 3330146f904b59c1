"""Summarizers by name, as a person or a policy names them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from foldlog.projections.summaries.digest import DigestSummarizer
from foldlog.projections.summaries.failure import SummaryFailed
from foldlog.projections.summaries.model import AnthropicSummarizer
from foldlog.projections.summaries.server import ServerSummarizer
from foldlog.projections.summaries.task import Summarizer, SummaryReply, SummaryTask

if TYPE_CHECKING:
    from anthropic import Anthropic


def summarizer(
    name: str, *, model: str | None = None, client: Anthropic | None = None
) -> Summarizer:
    """The summarizer of that name.

    Args:
        name: ``digest``, ``anthropic``, ``api``, or the path of a file that holds the text.
        model: The model to ask; without, that of the session's newest reply.
        client: The client to ask with; without, one from the environment.

    Raises:
        SummaryFailed: ``unsupported``: it is none of these.
    """
    if name == "digest":
        return DigestSummarizer()
    if name == "anthropic":
        return AnthropicSummarizer(model, client=client)
    if name == "api":
        return ServerSummarizer(model, client=client)
    if Path(name).is_file():
        return FileSummarizer(name)
    raise SummaryFailed(
        "unsupported",
        f"no summarizer is called {name!r}, and there is no such file."
        " Name digest, anthropic, api, or a file that holds the summary.",
    )


class FileSummarizer:
    """Reads the summary from a file.

    Args:
        path: A text file in UTF-8. It is read when the summary is made.
    """

    name = "file"
    asks_model = False

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def summarize(self, task: SummaryTask) -> SummaryReply:
        """The text of the file.

        Raises:
            SummaryFailed: ``unsupported``: the file is not there or is no text.
        """
        try:
            text = self._path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            problem = f"the summary cannot be read from {self._path}: {error}."
            raise SummaryFailed("unsupported", problem) from error
        return SummaryReply(text, raw=text, prompt=f"file:{self._path.name}")
