"""``import --watch`` as a service of the user: it starts at login and goes on in the background.

On Linux it is a systemd user unit, on macOS a launchd agent. Nothing here needs root.
"""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from foldlog.cli.files import write
from foldlog.eventstore.errors import FoldlogError

UNIT = "foldlog-import.service"
LABEL = "foldlog.import"

PASSED_ON = (
    *("CLAUDE_CONFIG_DIR", "CLINE_DATA_DIR", "CLINE_SESSION_DATA_DIR", "CODEX_HOME"),
    *("COPILOT_HOME", "GEMINI_CLI_HOME", "GOOSE_PATH_ROOT", "KIMI_CODE_HOME"),
    *("LLM_USER_PATH", "OPENHANDS_CONVERSATIONS_DIR", "OPENHANDS_PERSISTENCE_DIR"),
    *("PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR", "QWEN_HOME"),
    *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"),
)
"""Variables that say where programs keep sessions: a service does not have those of a shell."""

RETRY = 60
"""Seconds until it is started again after it failed."""


class ServiceError(FoldlogError):
    """The service cannot be set up, or its manager refused."""


@dataclass(frozen=True, slots=True)
class Watch:
    """What the service runs.

    Attributes:
        command: The program and its arguments.
        environment: Variables that it needs.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]


def watch(store: str, environment: Mapping[str, str] = os.environ) -> Watch:
    """Return the command that imports into a store (an absolute path, or a URL) for ever."""
    command = (sys.executable, "-m", "foldlog", "--db", store, "import", "--watch")
    known = {name: environment[name] for name in PASSED_ON if environment.get(name)}
    if any("\n" in text or "\0" in text for text in (*command, *known.values())):
        raise ServiceError("a path holds a line break: no service can be made of it. Rename it.")
    return Watch(command, known)


class Manager(Protocol):
    """What runs services for a user.

    Attributes:
        program: The command that it is steered with.
        starting, stopping, asking: Arguments of that command, one run after the other.
    """

    program: str

    @property
    def path(self) -> Path:
        """The file that describes the service."""

    @property
    def starting(self) -> Sequence[Sequence[str]]: ...

    @property
    def stopping(self) -> Sequence[Sequence[str]]: ...

    @property
    def asking(self) -> Sequence[str]: ...

    def text(self, watch: Watch) -> str:
        """Return what that file holds."""


class Systemd:
    """A systemd user unit."""

    program = "systemctl"
    starting = (
        ("--user", "daemon-reload"),
        ("--user", "enable", UNIT),
        ("--user", "restart", UNIT),
    )
    stopping = (("--user", "disable", "--now", UNIT),)
    asking = ("--user", "is-active", UNIT)

    @property
    def path(self) -> Path:
        """The unit's file, in the user's own folder."""
        config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
        return Path(config, "systemd", "user", UNIT)

    def text(self, watch: Watch) -> str:
        """Return the unit. It starts again each day, to find programs that are new by then."""
        command = " ".join(map(_quoted_argument, watch.command))
        variables = [
            f"Environment={_quoted(f'{name}={value}')}" for name, value in watch.environment.items()
        ]
        lines = (
            "[Unit]",
            "Description=Record the sessions of agents in foldlog",
            "",
            "[Service]",
            f"ExecStart={command}",
            *variables,
            "Restart=always",
            f"RestartSec={RETRY}",
            "RuntimeMaxSec=86400",
            "UMask=0077",
            "Nice=10",
            "",
            "[Install]",
            "WantedBy=default.target",
        )
        return "".join(f"{line}\n" for line in lines)


class Launchd:
    """A launchd agent."""

    program = "launchctl"

    @property
    def path(self) -> Path:
        """The agent's property list, in the user's own folder."""
        return Path.home() / "Library" / "LaunchAgents" / f"{LABEL}.plist"

    @property
    def starting(self) -> Sequence[Sequence[str]]:
        """Load the agent now and at each login."""
        return (("load", "-w", str(self.path)),)

    @property
    def stopping(self) -> Sequence[Sequence[str]]:
        """Stop it, and load it no more."""
        return (("unload", "-w", str(self.path)),)

    @property
    def asking(self) -> Sequence[str]:
        """Ask whether it is loaded."""
        return ("list", LABEL)

    def text(self, watch: Watch) -> str:
        """Return the property list."""
        agent = {
            "Label": LABEL,
            "ProgramArguments": list(watch.command),
            "EnvironmentVariables": dict(watch.environment),
            "RunAtLoad": True,
            "KeepAlive": True,
            "ThrottleInterval": RETRY,
            "ProcessType": "Background",
            "Umask": 0o077,
        }
        return plistlib.dumps(agent, sort_keys=False).decode()


def manager(platform: str = sys.platform) -> Manager:
    """Return what runs services for a user on this system.

    Raises:
        ServiceError: foldlog knows of none here.
    """
    if platform == "darwin":
        return Launchd()
    if platform.startswith("linux"):
        return Systemd()
    raise ServiceError(
        f"foldlog sets up no service on {platform}. Run `foldlog import --watch` at login."
    )


def install(service: Manager, watch: Watch) -> list[str]:
    """Write the file and start the service; return the commands that are left to be run by hand.

    Raises:
        ServiceError: The manager refused; the file is written.
    """
    service.path.parent.mkdir(parents=True, exist_ok=True)
    write(service.path, [service.text(watch).encode()], force=True)
    return _run(service, service.starting)


def uninstall(service: Manager) -> list[str]:
    """Stop the service and remove its file; return the commands that are left to be run by hand."""
    left = []
    try:
        left = _run(service, service.stopping)
    finally:
        service.path.unlink(missing_ok=True)
    return left


def is_running(service: Manager) -> bool:
    """Return whether the service runs now, as far as its manager can be asked."""
    if shutil.which(service.program) is None:
        return False
    asked = subprocess.run([service.program, *service.asking], capture_output=True, check=False)
    return asked.returncode == 0


def _run(service: Manager, steps: Sequence[Sequence[str]]) -> list[str]:
    commands = [[service.program, *step] for step in steps]
    if shutil.which(service.program) is None:
        return [" ".join(command) for command in commands]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ServiceError(
                f"`{' '.join(command)}` failed: {done.stderr.strip() or done.stdout.strip()}"
                f" The service is described in {service.path}; run the command again in a session"
                " of this user."
            )
    return []


def _quoted(text: str) -> str:
    """Return a text in quotes, as systemd reads it; ``%`` would begin a specifier."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _quoted_argument(text: str) -> str:
    """Return an argument of a command, in which ``$`` would begin a variable."""
    return _quoted(text.replace("$", "$$"))
