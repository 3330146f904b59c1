"""The API that is recorded, as a client sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from foldlog.cli.proxy.headers import Headers

LINE = 1 << 17
"""The longest header line, in bytes, that is passed on."""

HEADER_LINES = 1_000

CONNECT = 30.0
"""Seconds to wait for a connection to the upstream; for its answer, as long as the client does."""

AUTOMATIC = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
"""Headers that the library would add of itself."""


class Upstream:
    """The API that is recorded.

    Args:
        url: Its address; a path in it comes before each path that is asked for.
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        parsed = URL(self.url, encoded=True)
        self.host = parsed.host or ""
        self._proxy = None if proxy_bypass(self.host) else getproxies().get(parsed.scheme)
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT),
            auto_decompress=False,
            skip_auto_headers=AUTOMATIC,
            max_line_size=LINE,
            max_field_size=LINE,
            max_headers=HEADER_LINES,
        )

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    @asynccontextmanager
    async def request(
        self, method: str, path: str, headers: Headers, data: bytes | aiohttp.StreamReader | None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Return the response to a request; the connection is closed if it is not read to its end.

        Raises:
            aiohttp.ClientError, OSError, TimeoutError: There is none.
        """
        assert self._session is not None
        reply = await self._session.request(
            method,
            URL(self.url + path, encoded=True),
            headers=headers,
            data=data,
            allow_redirects=False,
            proxy=self._proxy,
        )
        try:
            yield reply
        finally:
            reply.close()
