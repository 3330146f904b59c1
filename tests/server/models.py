"""The models that the server knows, and the facts that its refusals depend on.

Facts of the public documentation, November 2026 (platform.claude.com/docs: models overview, prompt
caching, preserved thinking). The server shares no table with the project: a wrong fact there must
show here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Model:
    """What is known of a model.

    Attributes:
        id: Its name.
        window: The most input tokens.
        output: The most output tokens.
        least_cached: The shortest prefix that is cached, in tokens.
        prefills: Whether it takes a final assistant message.
        binds: Whether its thinking is valid only behind an unchanged prefix.
        hears_system: Whether it takes system messages in mid-conversation.
        counts_output: Whether input and ``max_tokens`` together must fit into the window, as with
            models before 4.5; later ones stop with ``model_context_window_exceeded``.
        compacts: Whether it takes the ``compaction`` parameter.
        samples: Whether it takes ``temperature``, ``top_p`` and ``top_k``, as models before 4.7 do.
    """

    id: str
    window: int = 1_000_000
    output: int = 128_000
    least_cached: int = 1_024
    prefills: bool = False
    binds: bool = False
    hears_system: bool = True
    counts_output: bool = False
    compacts: bool = True
    samples: bool = False

    @property
    def images(self) -> int:
        """The most images and document pages together."""
        return 100 if self.window <= 200_000 else 600

    def info(self) -> dict[str, Any]:
        """What ``/v1/models`` tells of it."""
        yes, no = {"supported": True}, {"supported": False}
        edits = dict.fromkeys(
            ("clear_thinking_20251015", "clear_tool_uses_20250919", "compact_20260112"), yes
        )
        levels = dict.fromkeys(("low", "medium", "high", "max", "xhigh"), yes)
        tools = {"web_search": yes, "code_execution": yes, **yes}
        kinds = {"types": {"enabled": no if self.binds else yes, "adaptive": yes}, **yes}
        plain = ("batch", "citations", "code_execution", "image_input", "pdf_input")
        return {
            "type": "model",
            "id": self.id,
            "display_name": self.id.replace("-", " ").title(),
            "created_at": "2026-01-01T00:00:00Z",
            "lifecycle": "active",
            "max_input_tokens": self.window,
            "max_tokens": self.output,
            "capabilities": {
                **dict.fromkeys(plain, yes),
                "structured_outputs": yes,
                "compaction": {"supported": self.compacts},
                "context_management": {**edits, **yes},
                "effort": {**levels, **yes},
                "server_tools": tools,
                "thinking": kinds,
            },
        }


def _small(id: str, output: int, **more: Any) -> Model:
    """A model before 4.6: it has 200,000 tokens, is prefilled and hears no system message."""
    return Model(
        id, 200_000, output, prefills=True, hears_system=False, compacts=False, samples=True, **more
    )


MODELS: dict[str, Model] = {
    model.id: model
    for model in (
        Model("claude-fable-5-2", least_cached=512, binds=True),
        Model("claude-mythos-5-2", least_cached=512, binds=True),
        Model("claude-fable-5-1", least_cached=512, binds=True),
        Model("claude-mythos-5-1", least_cached=512, binds=True),
        Model("claude-opus-5-5", least_cached=512, binds=True),
        Model("claude-sonnet-5-5", binds=True),
        Model("claude-haiku-5-5", binds=True, compacts=False),
        Model("claude-fable-5", least_cached=512),
        Model("claude-opus-5", least_cached=512),
        Model("claude-sonnet-5", hears_system=False),
        Model("claude-opus-4-8"),
        Model("claude-opus-4-7", least_cached=2_048, hears_system=False),
        Model("claude-opus-4-6", least_cached=4_096, hears_system=False, samples=True),
        Model("claude-sonnet-4-6", output=64_000, hears_system=False, samples=True),
        _small("claude-haiku-4-5", 64_000, least_cached=4_096),
        _small("claude-opus-4-5", 64_000, least_cached=4_096),
        _small("claude-sonnet-4-5", 64_000),
        _small("claude-opus-4-1", 32_000, counts_output=True),
    )
}
