"""What a user writes against the public names, for ``mypy --strict``: ``make lint`` checks it."""

from __future__ import annotations

from anthropic import Anthropic, AsyncAnthropic

from foldlog import AsyncEventStore, EventStore, Session, Store, open_store
from foldlog.eventstore import FoldlogError, Searchable, SessionHeld
from foldlog.eventstore.memory import MemoryStore
from foldlog.projections.live import Outgoing, Reading, Recording
from foldlog.projections.recall import TOOL, Recall


def record(path: str) -> list[Anthropic | AsyncAnthropic]:
    with EventStore(path) as store, store.lease("s", holder="a script") as holder:
        print(holder.program, holder.pid)
        session = Session(store, "s")
        managed = Anthropic(middleware=[session.middleware(policy="adaptive", window=200_000)])
        observed = AsyncAnthropic(middleware=[session.middleware(observe=True)])
        return [managed, observed]


def use_any_backend(url: str) -> list[str]:
    stores: list[Store] = [MemoryStore(), EventStore(":memory:")]
    with open_store(url, create=False) as opened:
        stores.append(opened)
        views = [Session(store, "s").prepare(window=200_000) for store in stores]
        recalls = [Recall(Session(store, "s")) for store in stores]
        print(views, recalls, Session(MemoryStore(), "s").middleware(observe=True))
        return [store.path for store in stores if isinstance(store, Searchable)]


def record_without_the_sdk(session: Session) -> None:
    recording = Recording(session, observe=True)
    outgoing: Outgoing | None = recording.begin({"model": "m", "messages": []}, betas=["b"])
    while outgoing is not None:
        reading: Reading = outgoing.reading("req_1")
        reading.feed(b"")
        reading.close()
        outgoing = outgoing.refused(413, b"{}")


def recall(session: Session) -> str:
    answer = Recall(session, media=True).answer({"search": "clock"})
    return f"{TOOL['name']}: {answer.content} {answer.is_error}"


async def wait(path: str) -> int:
    async with AsyncEventStore(path) as store:
        async for event in store.read("s"):
            print(event.type)
        try:
            async with store.lease("s"):
                return len(await store.sessions())
        except SessionHeld as held:
            print(held.pid, held)
        except FoldlogError as error:
            print(error)
    return 0
