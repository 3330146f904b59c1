"""Every error of foldlog: what is wrong, and what to do about it.

One base class, so that a caller can catch all of them; the children say what kind of thing went
wrong. Each message is complete by itself: it names the place (session, version, file, line) and the
way out, because a command prints it as it is.
"""

from __future__ import annotations


class FoldlogError(Exception):
    """The base of all errors that foldlog raises on purpose."""


class InvalidDraft(FoldlogError):
    """A draft cannot become an event: it has no type, or its data is not a JSON object."""


class VersionConflict(FoldlogError):
    """The session is not at the version that the writer expected.

    Attributes:
        session: The session that was appended to.
        expected: The version the writer believed to be last.
        actual: The version that is last.
    """

    def __init__(self, session: str, expected: int, actual: int) -> None:
        self.session, self.expected, self.actual = session, expected, actual
        super().__init__(
            f"session {session!r} is at version {actual}, not {expected}: somebody else appended."
            f" Read what came after {min(expected, actual)}, then decide again."
        )


class SessionHeld(FoldlogError):
    """Another program has the lease of the session.

    Attributes:
        session: The session.
        pid, host, program: Its process, its machine, and the name that it gave itself.
        since: When it took the lease, ISO 8601 in UTC. All four are None while they are not known.
    """

    def __init__(
        self,
        session: str,
        *,
        pid: int | None = None,
        host: str | None = None,
        program: str | None = None,
        since: str | None = None,
    ) -> None:
        self.session, self.pid, self.host = session, pid, host
        self.program, self.since = program, since
        who = "another program"
        if pid is not None:
            who = f"{program} (process {pid} on {host}, since {since})"
        super().__init__(
            f"session {session!r} is in use by {who}. End that program, or go on in a copy:"
            f" `foldlog fork {session}`."
        )


class DuplicateKey(FoldlogError):
    """A key was used before in this session, for other content."""

    def __init__(self, session: str, key: str, version: int) -> None:
        self.session, self.key, self.version = session, key, version
        super().__init__(
            f"key {key!r} of session {session!r} already names version {version}, which holds"
            " other content. Use a new key for a new event."
        )


class SessionNotFound(FoldlogError):
    """No session has that name."""


class VersionNotFound(FoldlogError):
    """The session has no such version, or it cannot be named that way."""


class AmbiguousName(FoldlogError):
    """More than one session or version has that name."""


class CorruptEvent(FoldlogError):
    """A stored event cannot be read, or is not what was recorded.

    Attributes:
        session: Its session.
        version: Its version.
    """

    def __init__(self, session: str, version: int, problem: str) -> None:
        self.session, self.version, self.problem = session, version, problem
        super().__init__(
            f"version {version} of session {session!r} cannot be read: {problem}."
            f" Run `foldlog verify {session}` to see how far the log is sound; restore a backup."
        )


class StoreError(FoldlogError):
    """The store's file or database cannot be used."""


class StoreNotFound(StoreError):
    """There is no store at that place."""


class NotAStore(StoreError):
    """The file is there, but it is not a foldlog store. It was not touched."""


class CorruptStore(StoreError):
    """The file is a damaged store. It was not touched."""


class NewerStore(StoreError):
    """The store was written by a newer foldlog. It was not touched."""


class StoreBusy(StoreError):
    """Other writers held the store for longer than the timeout."""


class StoreFull(StoreError):
    """The disk is full. What was acknowledged is safe, the last append was not recorded."""


class ReadOnlyStore(StoreError):
    """The store may only be read."""


class InvalidView(FoldlogError):
    """An edit cannot be folded, or a view breaks a rule of the Messages API.

    Attributes:
        version: The event in the log that is the cause; None where nothing was recorded.
    """

    def __init__(self, message: str, version: int | None = None) -> None:
        super().__init__(message)
        self.version = version


class ContextError(FoldlogError):
    """The context cannot be brought under its budget."""


class BrokenExtension(FoldlogError):
    """Something that another package adds to foldlog cannot be loaded."""


class SourceError(FoldlogError):
    """A source (a transcript of another program) cannot be imported at all."""
