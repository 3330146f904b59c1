"""Recall: give the model back what left its view, in bounded pages.

    recall = Recall(Session(store, "my-session"))
    recall.call({"search": "connection pool"})      # where it was said, the newest first
    recall.call({"show": "foldlog:my-session/12"})  # one event, page by page
    recall.call({"show": "4-480"})                  # what a summary covers, a line each

Reading writes nothing. It reads its own session and what that inherits. What comes from the log is
put between two lines that it cannot imitate (see ``quoted``).
"""

from foldlog.projections.recall.quoted import PAGE
from foldlog.projections.recall.recall import Answer, Recall
from foldlog.projections.recall.tool import TOOL

__all__ = ["PAGE", "TOOL", "Answer", "Recall"]
