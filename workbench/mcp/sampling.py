"""A server's wish for an answer of the model: what is asked, checked, and what it gets back; used by `requests`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.secrets.masker import KNOWN
from workbench.text import well_formed

if TYPE_CHECKING:
    from mcp import types as t

    from workbench.mcp.requests import Asker

SAMPLING = "mcp_sampling"
"""Stands in the place of a tool where a server wants an answer of the model."""
_MOST_MESSAGES, _MOST_TEXT = 100, 200_000
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_REASONS = {"stop": "endTurn", "length": "maxTokens"}


class NotPossible(WorkbenchError):
    """The wish cannot be carried out as it is; one line that says why."""


@dataclass(frozen=True)
class Part:
    """One message: `text` is shown to the person, `images` (data URLs) go with it."""

    role: str
    text: str
    images: tuple[str, ...] = ()


@dataclass(frozen=True)
class SampleRequest:
    """What is to be sent to the model."""

    parts: tuple[Part, ...]
    system: str = ""
    max_tokens: int = 0
    stop: tuple[str, ...] = ()
    temperature: float | None = None

    @property
    def told(self) -> dict[str, Any]:
        """All of it, as the person sees it before it is sent: each message by itself, under who says it."""
        is_one = len(self.parts) == 1
        said = {part.role if is_one else f"{n}. {part.role}": part.text for n, part in enumerate(self.parts, 1)}
        more = {"stop": list(self.stop), "temperature": self.temperature}
        return {
            **({"system": self.system} if self.system else {}),
            **said,
            "max_tokens": self.max_tokens,
            **{name: value for name, value in more.items() if value not in ([], None)},
        }


@dataclass(frozen=True)
class Sample:
    """What the model said."""

    text: str
    model: str
    finish_reason: str = "stop"


def sample(server: str, params: Any, asker: Asker, seconds: float) -> t.CreateMessageResult:
    """The answer for the server; raises WorkbenchError."""
    from mcp import types as t

    said = asker.sample(_read(server, params), seconds)
    return t.CreateMessageResult(
        role="assistant",
        content=t.TextContent(type="text", text=KNOWN.masked(said.text)),
        model=said.model,
        stop_reason=_REASONS.get(said.finish_reason, said.finish_reason),
    )


def _read(server: str, params: t.CreateMessageRequestParams) -> SampleRequest:
    if params.tools:
        raise NotPossible(f"the MCP server {server} wanted the model to call tools of its own: refused")
    parts = tuple(_part(server, message) for message in params.messages)
    system = _shown(params.system_prompt or "")
    size = sum(len(part.text) for part in parts) + len(system) + sum(map(len, params.stop_sequences or ()))
    if not parts or len(parts) > _MOST_MESSAGES or size > _MOST_TEXT:
        raise NotPossible(
            f"the MCP server {server} wanted {size:,} characters in {len(parts)} messages sent to the model: refused"
        )
    stop = tuple(map(_shown, params.stop_sequences or ()))
    return SampleRequest(parts, system, max(params.max_tokens, 1), stop, params.temperature)


def _part(server: str, message: Any) -> Part:
    texts, images = [], []
    for block in message.content_as_list:
        if block.type == "text":
            texts.append(_shown(block.text))
        elif block.type == "image" and block.mime_type in _IMAGES:
            texts.append(f"[an image, {block.mime_type}, {len(block.data) * 3 // 4:,} bytes]")
            images.append(f"data:{block.mime_type};base64,{block.data}")
        else:
            raise NotPossible(f"the MCP server {server} wanted something sent that is no text and no image: refused")
    return Part(message.role, "\n".join(texts), tuple(images))


def _shown(text: str) -> str:
    """What is sent is what is shown: without secrets."""
    return KNOWN.masked(well_formed(text))
