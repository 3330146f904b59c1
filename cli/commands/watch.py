"""Recording that is always on: ``import --watch`` as a service of the user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from foldlog.cli import user_service
from foldlog.cli.output import print_bytes, print_lines
from foldlog.cli.safe import one_line
from foldlog.cli.stores import place_of
from foldlog.cli.user_service import Manager

ACTIONS = {
    "install": "Write the unit and start it, now and at each login.",
    "uninstall": "Stop it and remove the unit; the store stays.",
    "status": "Say whether it is installed and runs.",
    "print": "Print the unit, and change nothing.",
}


@click.command()
@click.option("--install", "action", flag_value="install", help=ACTIONS["install"])
@click.option("--uninstall", "action", flag_value="uninstall", help=ACTIONS["uninstall"])
@click.option("--status", "action", flag_value="status", help=ACTIONS["status"])
@click.option("--print", "action", flag_value="print", help=ACTIONS["print"])
@click.pass_obj
def watch_command(where: str | None, action: str | None) -> None:
    """Import what agents write, always: as a service of this user.

    It runs `foldlog import --watch` into the store, from login on: a systemd user unit on Linux, a
    launchd agent on macOS. Programs delete old sessions; what was recorded stays.
    """
    if action is None:
        raise click.UsageError("choose one of --install, --uninstall, --status, --print.")
    service = user_service.manager()
    if action == "print":
        print_bytes([service.text(user_service.watch(place_of(where))).encode()])
        return
    lines = {"install": _installed, "uninstall": _uninstalled, "status": _status}[action]
    print_lines(map(one_line, lines(service, where)))


def _installed(service: Manager, where: str | None) -> Iterator[str]:
    store = place_of(where)
    left = user_service.install(service, user_service.watch(store))
    yield f"{service.path} is written."
    yield from _left(service, left) if left else [f"It records into {store} from now on."]


def _uninstalled(service: Manager, where: str | None) -> Iterator[str]:
    if not service.path.exists():
        yield "No service is installed."
        return
    left = user_service.uninstall(service)
    yield f"{service.path} is removed."
    yield from _left(service, left)


def _status(service: Manager, where: str | None) -> Iterator[str]:
    if not service.path.exists():
        yield "Not installed. `foldlog watch --install` sets it up."
    elif user_service.is_running(service):
        yield f"Installed and running: {service.path}"
    else:
        yield f"Installed but not running: {service.path}"


def _left(service: Manager, commands: Sequence[str]) -> Iterator[str]:
    if commands:
        yield f"{service.program} is not here. Run where it is:"
        yield from (f"  {command}" for command in commands)
