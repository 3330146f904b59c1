"""The fixture for tests that talk to the server.

Take it into a folder's conftest: ``from tests.server.fixtures import api as api``. Where a fixture
does not fit (each example of a property test a server of its own), use ``serving``.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.http import Server, serving


@pytest.fixture
def api() -> Iterator[Server]:
    """A server that refuses what the Messages API refuses."""
    with serving() as server:
        yield server
