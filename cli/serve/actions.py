"""What a person may do in a viewer that was started with ``--write``.

Each action is asked first and done when the question is answered: a POST that holds the form's key,
so that no other page can send it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from foldlog.cli.serve.addresses import address
from foldlog.cli.serve.desk import Desk, number, problem
from foldlog.cli.serve.keys import same
from foldlog.cli.serve.rendering import rendered
from foldlog.eventstore import StoreError
from foldlog.projections import Session

Given = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Action:
    """Something that can be done to a session.

    Attributes:
        question: What is asked before it is done.
        button: What the answer is called.
        field: What a person writes for it: its label; empty for nothing.
        do: Does it, and returns the address to go on from; None for that of the session.
    """

    question: str
    button: str
    do: Callable[[Session, Given], str | None]
    field: str = ""


def _version(given: Given) -> int:
    version = number(given.get("version"))
    if version is None:
        raise StoreError("name a version: a number.")
    return version


def _text(given: Given) -> str:
    text = given.get("text", "").strip()
    if not text:
        raise StoreError("the text is empty. Write something.")
    return text


def _expand(session: Session, given: Given) -> None:
    session.expand(_version(given))


def _pin(session: Session, given: Given) -> None:
    session.pin(_version(given))


def _unpin(session: Session, given: Given) -> None:
    session.unpin(_version(given))


def _tag(session: Session, given: Given) -> None:
    session.tag(dict.fromkeys(given.get("text", "").replace(",", " ").split()))


def _rename(session: Session, given: Given) -> None:
    session.rename(_text(given))


def _fork(session: Session, given: Given) -> str:
    title = given.get("text", "").strip() or None
    started = session.store.fork(session.id, at=_version(given), title=title)
    return address("sessions", started.session)


def _rewind(session: Session, given: Given) -> None:
    session.rewind(_version(given))


ACTIONS: dict[str, Action] = {
    "expand": Action(
        "Show version {version} to the model again, as it was before the last edit of it?",
        "Expand",
        _expand,
    ),
    "pin": Action("Keep version {version} from ever being compacted?", "Pin", _pin),
    "unpin": Action("Let version {version} be compacted again?", "Unpin", _unpin),
    "tag": Action("Which tags does this session have from now on?", "Set tags", _tag, "Tags"),
    "rename": Action("What is this session called from now on?", "Rename", _rename, "Title"),
    "fork": Action(
        "Start a new session that shares the past up to version {version}? Nothing is copied.",
        "Fork",
        _fork,
        "Title of the new session",
    ),
    "rewind": Action(
        "Move the head back to version {version}? What came after it stays in the log; the model is"
        " not sent it any more.",
        "Rewind",
        _rewind,
    ),
}


def ask(request: Request, desk: Desk) -> Response:
    """Ask whether something is to be done; nothing is done yet."""
    name, given = request.path_params["session"], request.query_params
    action = ACTIONS.get(given.get("do", ""))
    if action is None:
        return problem(request, "There is no such action.", HTTPStatus.NOT_FOUND)
    info = desk.reader.store.session(name)
    written = {"tag": " ".join(info.tags), "rename": info.title or ""}.get(given["do"], "")
    version = number(given.get("version"))
    template = "ask.html" if "HX-Request" in request.headers else "ask_page.html"
    return rendered(
        template,
        place=desk.place,
        info=info,
        name=info.title or info.preview or info.session,
        action=action,
        do=given["do"],
        question=action.question.format(version=version),
        version=version,
        written=written,
        form=desk.form,
    )


def act(request: Request, desk: Desk) -> Response:
    """Do what was asked, and go on to the session as it is then."""
    given = dict(parse_qsl(request.state.body.decode("utf-8", "replace"), keep_blank_values=True))
    if desk.form is None or not same(given.get("form", ""), desk.form):
        return problem(
            request, "The form is not from this server. Load the page again.", HTTPStatus.FORBIDDEN
        )
    action = ACTIONS.get(given.get("do", ""))
    if action is None:
        return problem(request, "There is no such action.", HTTPStatus.NOT_FOUND)
    session = Session(desk.reader.store, desk.reader.store.session(_name(request)).session)
    target = action.do(session, given) or address("sessions", session.id)
    return RedirectResponse(target, HTTPStatus.SEE_OTHER)


def _name(request: Request) -> str:
    name: str = request.path_params["session"]
    return name
