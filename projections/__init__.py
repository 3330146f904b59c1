"""What is seen: pure folds over the log.

``project`` folds events into a ``View``: pieces of the log and how each is shown. ``render`` turns
a view into the request that the model is sent. ``Session`` records and shows one session.
"""

from foldlog.projections.explain.diff import Change, diff
from foldlog.projections.explain.listing import piece_tokens
from foldlog.projections.explain.why import Cause, Why, why
from foldlog.projections.render.digest import digest
from foldlog.projections.render.render import render, repairs
from foldlog.projections.session import Session
from foldlog.projections.view.address import resolve
from foldlog.projections.view.edits import check_edit, problems
from foldlog.projections.view.fold import Fold
from foldlog.projections.view.open import open_view, project
from foldlog.projections.view.pieces import (
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
from foldlog.projections.view.view import View

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
