"""What is seen: pure folds over the log.

``project`` folds events into a ``View``: pieces of the log and how each is shown. ``render`` turns
a view into the request that the model is sent. ``Session`` records and shows one session.
"""

from foldlog.projections.address import resolve
from foldlog.projections.diff import Change, diff
from foldlog.projections.digest import digest
from foldlog.projections.edits import check_edit, problems
from foldlog.projections.fold import Fold
from foldlog.projections.pieces import (
    Cleared,
    Hidden,
    Inputs,
    Marker,
    Piece,
    Preview,
    Shown,
    Summary,
    Whole,
    Without,
)
from foldlog.projections.render import render, repairs
from foldlog.projections.session import Session
from foldlog.projections.sizes import piece_tokens
from foldlog.projections.stored import open_view
from foldlog.projections.view import View, project
from foldlog.projections.why import Cause, Why, why

__all__ = [
    "Cause",
    "Change",
    "Cleared",
    "Fold",
    "Hidden",
    "Inputs",
    "Marker",
    "Piece",
    "Preview",
    "Session",
    "Shown",
    "Summary",
    "View",
    "Whole",
    "Why",
    "Without",
    "check_edit",
    "diff",
    "digest",
    "open_view",
    "piece_tokens",
    "problems",
    "project",
    "render",
    "repairs",
    "resolve",
    "why",
]
