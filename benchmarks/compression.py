"""What the dictionary of compression gains, on the corpus and on transcripts.

    python -m benchmarks.compression [FOLDER]

FOLDER holds transcripts (``*.jsonl``, in folders of any depth). Their lines are appended as they
are, ``{"line": …}``, so that all that a harness writes is counted. Prints the table of README.md.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from unittest import mock

import click
import orjson
import zstandard

from benchmarks import corpus
from benchmarks.measure import size
from benchmarks.stores.foldlog import draft
from benchmarks.table import grid
from foldlog.eventstore import EventDraft, EventStore, codec, dictionary

MESSAGES, ROUNDS, BATCH = 8_000, 5, 500
CLASSES = ((0, 1024), (1024, 4096), (4096, 16384), (16384, 1 << 31))
"""Sizes of bodies, in bytes, that are reported separately."""


class Plain(codec.Compressor):
    """Compresses at the same level without a dictionary."""

    @cached_property
    def _compress(self) -> Callable[[bytes], bytes]:
        return zstandard.ZstdCompressor(level=dictionary.LEVEL).compress


COMPRESSORS: dict[str, type[codec.Compressor]] = {"plain": Plain, "dictionary": codec.Compressor}


def disk(drafts: Sequence[EventDraft], compressor: type[codec.Compressor]) -> int:
    """Bytes of a store that holds these."""
    with (
        mock.patch.object(codec, "Compressor", compressor),
        tempfile.TemporaryDirectory() as folder,
    ):
        with EventStore(Path(folder) / "foldlog.db", synchronous="NORMAL") as store:
            for at in range(0, len(drafts), BATCH):
                store.append("s", drafts[at : at + BATCH])
        return size(Path(folder))


def bodies(drafts: Iterable[EventDraft]) -> list[bytes]:
    """Return what a store compresses of these: skeletons, and each payload once."""
    sealed = [codec.seal(draft.data, draft.meta) for draft in drafts]
    payloads = {digest: content for one in sealed for digest, content in one.payloads.items()}
    return [*(one.data for one in sealed), *payloads.values()]


class Contest:
    """The same bodies, packed and unpacked in turns with and without the dictionary."""

    def __init__(self, found: Sequence[bytes]) -> None:
        self.found = found
        self.packed: dict[str, list[codec.Stored]] = {}
        self.pack: dict[str, list[float]] = {name: [] for name in COMPRESSORS}
        self.unpack: dict[str, list[float]] = {name: [] for name in COMPRESSORS}
        for _ in range(ROUNDS):
            for name, kind in COMPRESSORS.items():
                self.round(name, kind())

    def round(self, name: str, compressor: codec.Compressor) -> None:
        compressor.unpack(compressor.pack(self.found[0] + bytes(codec.COMPRESS_BYTES)))  # warm up
        begin = time.process_time()
        self.packed[name] = [compressor.pack(body) for body in self.found]
        middle = time.process_time()
        for stored in self.packed[name]:
            compressor.unpack(stored)
        self.pack[name].append(middle - begin)
        self.unpack[name].append(time.process_time() - middle)

    def ratios(self, name: str) -> str:
        """Return how many times smaller the bodies of each class became."""
        told = []
        for least, end in CLASSES:
            pairs = zip(self.found, self.packed[name], strict=True)
            sizes = [(len(body), len(to)) for body, to in pairs if least <= len(body) < end]
            told.append(f"{sum(size for size, _ in sizes) / sum(size for _, size in sizes):.2f}")
        return " · ".join(told)

    def times(self, name: str, events: int) -> str:
        """CPU an event, in microseconds."""
        runs = (self.pack[name], self.unpack[name])
        return " / ".join(f"{statistics.median(run) / events * 1e6:.1f}" for run in runs)


def measure(what: str, json: int, drafts: Sequence[EventDraft]) -> list[list[str]]:
    """Return the rows of the table."""
    contest = Contest(bodies(drafts))
    return [
        [
            f"{what}, {name}",
            f"{disk(drafts, kind) / json:.3f}",
            contest.ratios(name),
            contest.times(name, len(drafts)),
        ]
        for name, kind in COMPRESSORS.items()
    ]


def transcripts(folder: Path) -> tuple[int, list[EventDraft]]:
    """Their bytes, and their lines as events; what is no JSON is left out."""
    json, drafts = 0, []
    for path in sorted(folder.rglob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            try:
                drafts.append(EventDraft("claude.line", {"line": orjson.loads(line)}))
            except orjson.JSONDecodeError:
                continue
            json += len(line) + 1
    return json, drafts


@click.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path, exists=True))
def main(folder: Path | None) -> None:
    """Measure with and without the dictionary."""
    messages = list(corpus.session(MESSAGES))
    json = sum(len(orjson.dumps(message)) for message in messages)
    rows = measure("corpus", json, [draft(message) for message in messages])
    if folder:
        rows += measure("transcripts", *transcripts(folder))
    sizes = "times smaller: bodies < 1 · 1-4 · 4-16 · > 16 KB"
    columns = ("", "file / JSON", sizes, "µs CPU an event: pack / unpack")
    click.echo("\n".join(grid(columns, rows)))


if __name__ == "__main__":
    main()
