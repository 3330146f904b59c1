"""Who may talk to the proxy: programs of this machine, and no page that a browser has open.

A browser lets any page send requests to the loopback, and a name that its owner points there makes
them look like that page's own (DNS rebinding). Such requests betray themselves: by the ``Origin``
of a foreign page, by ``Sec-Fetch-Site``, or by a ``Host`` that is not a name of this machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Return whether a host, by name or by number, is this machine's loopback."""
    if host.rstrip(".").lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def refusal(headers: Mapping[str, str], *, remote: bool) -> str | None:
    """Return why a request is not let in; None where it is.

    Args:
        headers: Those of the request, whatever the case of their names.
        remote: Whether the proxy may be reached under other names than those of the loopback.
    """
    host = _host(f"//{headers.get('Host', '')}")
    if not remote and not is_loopback(host):
        return "it was asked for under a name that is not this machine's (Host)"
    origin = headers.get("Origin")
    if origin is not None and _host(origin) != host and not is_loopback(_host(origin)):
        return "it comes from the page of another site (Origin)"
    if origin is None and headers.get("Sec-Fetch-Site") in ("cross-site", "same-site"):
        return "it comes from the page of another site (Sec-Fetch-Site)"
    return None


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
