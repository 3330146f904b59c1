"""Sessions that are recorded by the middleware, each proven when its test is over."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.live.sdk import Place, proven
from tests.server import Server
from tests.server.fixtures import api as api


@pytest.fixture(params=[True, False], ids=["observed", "managed"])
def place(api: Server, request: pytest.FixtureRequest) -> Iterator[Place]:
    made = Place(api, request.param)
    yield made
    proven(made.session)


@pytest.fixture
def managed(api: Server) -> Iterator[Place]:
    made = Place(api, False, window=12_000, reserve=1_000)
    yield made
    proven(made.session)
