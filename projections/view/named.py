"""Open the view that a name means: of a version as it is folded, of a request as it was sent."""

from __future__ import annotations

from collections.abc import Callable

from foldlog.eventstore import Event, EventDraft, Store
from foldlog.projections.view.address import named_request, resolve
from foldlog.projections.view.open import open_view, project
from foldlog.projections.view.view import View

ViewAt = Callable[[int], View]


def named_view(store: Store, session: str, name: int | str, view_at: ViewAt | None = None) -> View:
    """Return the view that a name means.

    The view of ``request:K`` stands for that request: it is rendered as it was sent, and its pieces
    are those of the view that the request saw. Of a request on the side, such as one for a title,
    it is the conversation that was sent, whose versions count from 1.

    Args:
        name: A version, or a name of one (see ``resolve``).
        view_at: Gives the view at a version; without it, the store is asked.

    Raises:
        SessionNotFound: There is no such session.
        VersionNotFound: The name means nothing.
    """
    request = named_request(store, session, name)
    if request is not None and "sent" in request.data:
        return _sent_view(request)
    version = resolve(store, session, name)
    view = view_at(version) if view_at else open_view(store, session, version)
    return view if request is None else view.as_sent(request)


def is_side(view: View) -> bool:
    """Return whether a view is the conversation of a request on the side."""
    return view.request is not None and "sent" in view.request.data


def _sent_view(request: Event) -> View:
    sent = request.data["sent"]
    drafts = [
        EventDraft(f"{key}.set", {key: sent[key]}) for key in ("system", "tools") if sent.get(key)
    ]
    drafts += [
        EventDraft(f"message.{message.get('role')}", {"content": message.get("content")})
        for message in sent.get("messages") or ()
    ]
    return project([]).then(drafts).as_sent(request)
