"""Real programs that resume what foldlog handed over, each with a folder of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.clients import installed
from tests.clients.loops import MODEL, Desk
from tests.formats.exports.resumes import PROMPT

Words = tuple[str, ...]


@dataclass(frozen=True)
class Resumer:
    """How a program is run.

    Attributes:
        variables: The environment variables that name its folders, by a folder of the desk.
        configure: Writes its configuration, so that it asks a server at an address.
        commands: What resumes a session, by the path and the id that foldlog gave it.
    """

    variables: dict[str, str]
    configure: Callable[[Path, str], None]
    commands: Callable[[str, str], list[Words]]

    def environment(self, desk: Desk) -> dict[str, str]:
        """The variables that name its folders."""
        return {name: str(desk.root / place) for name, place in self.variables.items()}

    def resume(self, desk: Desk, path: str, id: str) -> None:
        """Go on with a session that was handed over."""
        self.configure(desk.root, desk.url)
        path_of_node = f"{Path(installed.node()).parent}{os.pathsep}{os.environ['PATH']}"
        more = {**self.environment(desk), "PATH": path_of_node, "OPENAI_API_KEY": "test"}
        for command in self.commands(path, id):
            desk.run(*command, **more)


def _codex(root: Path, url: str) -> None:
    (root / "codex").mkdir(exist_ok=True)
    (root / "codex" / "config.toml").write_text(
        f'model = "gpt-5"\nmodel_provider = "local"\n[model_providers.local]\nname = "local"\n'
        f'base_url = "{url}"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n'
    )


def _pi(root: Path, url: str) -> None:
    (root / "pi").mkdir(exist_ok=True)
    providers = {"providers": {"anthropic": {"baseUrl": url}}}
    (root / "pi" / "models.json").write_text(json.dumps(providers))


def _opencode(root: Path, url: str) -> None:
    model = f"anthropic/{MODEL}"
    options = {"options": {"baseURL": f"{url}/v1", "apiKey": "test"}, "models": {MODEL: {}}}
    settings = {"autoupdate": False, "share": "disabled", "model": model, "small_model": model}
    (root / "work" / "opencode.json").write_text(
        json.dumps({**settings, "provider": {"anthropic": options}})
    )


def _script(package: str, name: str, *words: str) -> Words:
    return (installed.node(), str(installed.script(package, name)), *words)


def _opencode_commands(path: str, id: str) -> list[Words]:
    program = str(installed.opencode())
    return [(program, "import", path), (program, "run", "--session", id, PROMPT)]


def _no_file(root: Path, url: str) -> None:
    """Do nothing: variables are enough."""


RESUMERS = {
    "claude-code": Resumer(
        {"CLAUDE_CONFIG_DIR": "config"},
        _no_file,
        lambda _, id: [(str(installed.claude("2.1.332")), "-p", PROMPT, "--resume", id)],
    ),
    "codex": Resumer(
        {"CODEX_HOME": "codex"},
        _codex,
        lambda _, id: [
            _script(
                *("@openai/codex", "codex", "exec", "resume", "--skip-git-repo-check"), id, PROMPT
            )
        ],
    ),
    "opencode": Resumer(
        {name: f"xdg/{name}" for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
        | {"XDG_CACHE_HOME": "xdg/cache"},
        _opencode,
        _opencode_commands,
    ),
    "pi": Resumer(
        {"PI_CODING_AGENT_DIR": "pi"},
        _pi,
        lambda _, id: [
            _script("@earendil-works/pi-coding-agent", "pi", "-p", "--session", id, PROMPT)
        ],
    ),
}
"""The programs by the names of their formats."""
