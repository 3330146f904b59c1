"""A Messages API for tests: it refuses what the real one refuses, and is talked to by the real SDK.

    def test_something(api: Server) -> None:
        api.script(reply(thought(), call("bash", command="ls")), reply("Done."))
        client = api.client()
        ...
        assert api.last.body["messages"][-1] == ...

It shares no code with the project, so that a mistake cannot be made twice in the same way.
"""

from tests.server.api import Api, Received
from tests.server.http import Server, serving
from tests.server.refusal import Refusal, broken, compaction_unavailable, overloaded, rate_limited
from tests.server.replies import Reply, call, redacted, reply, searched, thought

__all__ = [
    "Api",
    "Received",
    "Refusal",
    "Reply",
    "Server",
    "broken",
    "call",
    "compaction_unavailable",
    "overloaded",
    "rate_limited",
    "redacted",
    "reply",
    "searched",
    "serving",
    "thought",
]
