"""Whether a process that a tool started is gone: a signal takes a moment to arrive."""

from __future__ import annotations

import select
import time

import psutil

PATIENCE = 60.0
"""Seconds until a process that does not end is missed."""


def has_ended(pid: int) -> bool:
    """Whether a process is gone, or dead and only not asked about yet."""
    deadline = time.monotonic() + PATIENCE
    while _runs(pid):
        if time.monotonic() > deadline:
            return False
        select.select([], [], [], 0.01)
    return True


def _runs(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
