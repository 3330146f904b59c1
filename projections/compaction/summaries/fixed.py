"""The summarizer that gives a text that somebody wrote: a person, or another program."""

from __future__ import annotations

from pathlib import Path

from foldlog.projections.compaction.summaries.failure import SummaryFailed
from foldlog.projections.compaction.summaries.task import SummaryReply, SummaryTask


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
