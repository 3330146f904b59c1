"""A Responses API for tests: it streams what a script says and refuses what OpenAI's refuses.

    with serving() as api:
        api.script(text("Done."), call("shell", command="ls"))
        ...
        assert api.requests[-1]["input"]

It shares no code with the project. The refusals are those that OpenAI documents or that its users
report word for word; ``rules`` has one function for each.
"""

from tests.responses.api import Api, Refusal, call, serving, text

__all__ = ["Api", "Refusal", "call", "serving", "text"]
