"""Summarizers by name: those below, those that a program registers, those that packages add."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from foldlog.projections.registry import Registry
from foldlog.projections.summaries.digest import DigestSummarizer
from foldlog.projections.summaries.failure import SummaryFailed
from foldlog.projections.summaries.model import AnthropicSummarizer
from foldlog.projections.summaries.server import ServerSummarizer
from foldlog.projections.summaries.task import Summarizer, SummaryReply, SummaryTask

if TYPE_CHECKING:
    from anthropic import Anthropic


Maker: TypeAlias = Callable[..., Summarizer]
"""Makes a summarizer; given ``model`` and ``client`` if it has parameters of these names."""


def _maker(name: str, given: Any) -> Maker:
    """Return what makes a summarizer: the thing itself, or a ready one."""
    if callable(getattr(given, "summarize", None)) and not isinstance(given, type):
        return lambda: given
    if not callable(given):
        raise TypeError(f"{given!r} is neither a summarizer nor something that makes one")
    return given  # type: ignore[no-any-return]


SUMMARIZERS: Registry[Maker] = Registry("summarizer", "foldlog.summarizers", _maker)
"""What makes each summarizer, by name."""

SUMMARIZERS.add("digest", DigestSummarizer)
SUMMARIZERS.add("anthropic", AnthropicSummarizer)
SUMMARIZERS.add("api", ServerSummarizer)

M = TypeVar("M", bound="Maker | Summarizer")


def register_summarizer(name: str) -> Callable[[M], M]:
    """Register a summarizer, or what makes one; a decorator of a class or a function.

    Another package names either as an entry point of the group ``foldlog.summarizers`` instead.

    Raises:
        ValueError, TypeError: There is one of that name, or it makes none.
    """

    def register(given: M) -> M:
        SUMMARIZERS.add(name, given)
        return given

    return register


def summarizer(
    name: str, *, model: str | None = None, client: Anthropic | None = None
) -> Summarizer:
    """Return the summarizer of that name.

    Args:
        name: ``digest``, ``anthropic``, ``api``, a name that was registered, or the path of a file
            that holds the text.
        model: The model to ask; without one, that of the session's newest reply.
        client: The client to ask with; without one, one from the environment.

    Raises:
        SummaryFailed: ``unsupported``: there is no such summarizer, or it cannot be made.
    """
    if name not in SUMMARIZERS:
        if Path(name).is_file():
            return FileSummarizer(name)
        problem = f"{SUMMARIZERS.why_not(name)} A file that holds the summary is named by its path."
        raise SummaryFailed("unsupported", problem)
    try:
        return _made(SUMMARIZERS[name], {"model": model, "client": client})
    except Exception as error:
        problem = f"the summarizer {name!r} cannot be made: {type(error).__name__}: {error}."
        raise SummaryFailed("unsupported", problem) from error


def _made(maker: Maker, known: Mapping[str, Any]) -> Summarizer:
    parameters = signature(maker).parameters
    return maker(**{key: value for key, value in known.items() if key in parameters})


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
        """Return the text of the file.

        Raises:
            SummaryFailed: ``unsupported``: the file is not there or is no text.
        """
        try:
            text = self._path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            problem = f"the summary cannot be read from {self._path}: {error}."
            raise SummaryFailed("unsupported", problem) from error
        return SummaryReply(text, raw=text, prompt=f"file:{self._path.name}")
