"""Cassettes of VCR: a YAML document with the requests of a test and their responses.

PyYAML reads them, where it is installed. A cassette is data from anybody: only plain values are
made of it, and aliases, which can make a small file huge, are refused.
"""

from __future__ import annotations

import math
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

from foldlog.cli.formats.jsonl_source import Reading, records_of
from foldlog.cli.formats.source_files import read_file
from foldlog.eventstore.errors import SourceError

if TYPE_CHECKING:
    from pathlib import Path

    from foldlog.eventstore.events import Json

INSTALL = "cassettes need PyYAML, which is not installed. Run `pip install 'foldlog[yaml]'`."

_TRAITS = (
    re.compile(rb"^interactions:", re.MULTILINE),
    re.compile(rb"^\s+uri: \S+/v1/messages\b", re.MULTILINE),
)
"""What the beginning of a cassette holds that has a request to the Messages API."""

_TIMESTAMP = "tag:yaml.org,2002:timestamp"


def is_cassette(content: bytes) -> bool:
    """Return whether the beginning of a file is that of a cassette with such requests."""
    return all(trait.search(content) for trait in _TRAITS)


def read_cassette(path: Path) -> Reading:
    """Read the interactions of a cassette; ``line`` is the place of one in it.

    Raises:
        SourceError: It is no YAML, or PyYAML is not installed.
    """
    document = _loaded(read_file(path))
    listed = document.get("interactions") if isinstance(document, dict) else None
    if not isinstance(listed, list) or "version" not in document:
        return Reading((), True)  # the version is written last
    return Reading(records_of(map(_plain, listed)), False)


def _loaded(content: bytes) -> Any:
    try:
        yaml: Any = import_module("yaml")
    except ImportError:
        raise SourceError(INSTALL) from None

    class Loader(yaml.SafeLoader):  # type: ignore[misc]  # the library has no types
        """Makes plain values only; times stay texts."""

        yaml_implicit_resolvers = {  # noqa: RUF012  # what the library calls it
            first: [(tag, match) for tag, match in pairs if tag != _TIMESTAMP]
            for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise SourceError("the cassette has an alias, which is not read.")
            return super().compose_node(parent, index)

    try:
        return yaml.load(content, Loader)
    except (yaml.YAMLError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise SourceError(f"it is no YAML: {reason}.") from error
    except RecursionError:
        raise SourceError("it is nested too deeply.") from None


def _plain(value: Any) -> Json:
    """Return a value of YAML as JSON; what JSON has no form for becomes a text."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    is_plain = value is None or isinstance(value, str | bool | int)
    is_plain = is_plain or (isinstance(value, float) and math.isfinite(value))
    return value if is_plain else str(value)
