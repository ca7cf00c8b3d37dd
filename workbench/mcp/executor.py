"""Runs the calls of one MCP tool: through the client, with a timeout, ended by an interrupt; used by `offered`."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from workbench.errors import WorkbenchError
from workbench.mcp.client import MCPClient
from workbench.mcp.definitions import Definition
from workbench.mcp.errors import CallTimedOut, ServerFailed, ServerGone, SessionLost, SignInNeeded
from workbench.mcp.requests import RequestHandler
from workbench.mcp.tool import MCPToolAction, MCPToolObservation, annotations_of
from workbench.secrets.masker import KNOWN
from workbench.text import cut_middle, first_line, well_formed
from workbench.tools.executor import ToolExecutor
from workbench.tools.schema import Content, ImageContent, TextContent

if TYPE_CHECKING:
    from mcp import types as t

_MOST_TEXT = 400_000
_MOST_IMAGE, _MOST_IMAGES = 8_000_000, 8
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def content_of(blocks: Sequence[Any], structured: Any = None) -> list[Content]:
    """The blocks of an answer; structured content is added where no text says the same."""
    made = [_block(block) for block in blocks]
    if structured is not None and not _says(made, structured):
        made.append(TextContent(text=json.dumps(structured, ensure_ascii=False, indent=1)))
    return _cut(_few_images(made))


def _few_images(made: Sequence[Content]) -> list[Content]:
    """The first images, and a line for those that are too many."""
    images = [block for block in made if isinstance(block, ImageContent)]
    if len(images) <= _MOST_IMAGES:
        return list(made)
    left_out = {id(block) for block in images[_MOST_IMAGES:]}
    told = TextContent(text=f"[{len(left_out)} more images are left out: {_MOST_IMAGES} are given to you at once]")
    return [*(block for block in made if id(block) not in left_out), told]


def _cut(made: Sequence[Content]) -> list[Content]:
    room = _MOST_TEXT
    kept: list[Content] = []
    for block in made:
        if isinstance(block, TextContent):
            text = cut_middle(block.text, room) if room > 0 else "[… left out: too much text …]"
            room -= len(text)
            kept.append(TextContent(text=well_formed(text)))
        else:
            kept.append(block)
    return kept


def _says(made: Sequence[Content], structured: Any) -> bool:
    """Whether the texts hold the structured content already, as the protocol asks servers to have it."""
    texts = [block.text for block in made if isinstance(block, TextContent)]
    for text in texts:
        if text.lstrip()[:1] in ("{", "["):
            try:
                if json.loads(text) == structured:
                    return True
            except ValueError:
                continue
    result = structured.get("result", ...) if isinstance(structured, dict) and len(structured) == 1 else ...
    return bool(texts) and result is not ... and (str(result) in texts or result == texts)


def _block(block: Any) -> Content:
    kind = block.type
    if kind == "text":
        return TextContent(text=block.text)
    if kind == "image":
        return _image(block.data, block.mime_type, "an image")
    if kind == "audio":
        return TextContent(text=f"[a sound, {block.mime_type}, {_size(block.data)}: it cannot be given to you]")
    if kind == "resource_link":
        about = f": {block.description}" if block.description else ""
        return TextContent(text=f"[a link to the resource {block.name}, {block.uri}{about}]")
    return resource_content(block.resource)


def contents_of(contents: Sequence[Any]) -> list[Content]:
    """What a resource holds, each part with its address where there are several."""
    if len(contents) == 1 and getattr(contents[0], "text", None) is not None:
        return [TextContent(text=contents[0].text)]
    return [resource_content(each) for each in contents]


def resource_content(resource: Any) -> Content:
    """The contents of a resource: its text, its image, or what it is."""
    text = getattr(resource, "text", None)
    if text is not None:
        return TextContent(text=f"[the resource {resource.uri}]\n{text}")
    mime = resource.mime_type or "unknown type"
    if mime in _IMAGES:
        return _image(resource.blob, mime, f"the resource {resource.uri}")
    return TextContent(text=f"[the resource {resource.uri}, {mime}, {_size(resource.blob)}: no text]")


def _image(data: str, mime: str, what: str) -> Content:
    try:
        base64.b64decode(data, validate=True)
    except ValueError:
        return TextContent(text=f"[{what}, {mime}: its data is damaged]")
    if mime not in _IMAGES or len(data) > _MOST_IMAGE:
        return TextContent(text=f"[{what}, {mime}, {_size(data)}: it cannot be given to you]")
    return ImageContent(data=data, mime_type=mime)


def _size(data: str) -> str:
    return f"{len(data) * 3 // 4:,} bytes"


LONGEST_PROMPT = 60_000
"""Characters of one prompt; of a longer one the middle is left out."""
_IMAGE = "[an image, which is left out]"


def prompt_text(clients: Sequence[MCPClient], server: str, name: str, arguments: Mapping[str, str]) -> str:
    """What the prompt says with these arguments; its server is started if it has to be. Raises WorkbenchError."""
    client = next((each for each in clients if each.server.name == server), None)
    if client is None:
        raise ServerFailed(f"there is no MCP server {server} that is on")
    future = client.get_prompt(name, dict(arguments))
    try:
        result = future.result(client.server.start_seconds + client.server.call_seconds)
    except TimeoutError as error:
        future.cancel()
        raise CallTimedOut(f"the MCP server {server} did not give its prompt in time") from error
    except WorkbenchError as error:
        raise type(error)(KNOWN.masked(str(error))) from error
    return cut_middle(KNOWN.masked(well_formed(_said(result))), LONGEST_PROMPT)


def _said(result: t.GetPromptResult) -> str:
    """One message as it is; of several each with who is to have said it."""
    texts = [(message.role, _text(message)) for message in result.messages]
    if len(texts) == 1:
        return texts[0][1]
    who = {"user": "The person", "assistant": "The agent"}
    return "\n\n".join(f"[{who.get(role, role)}:]\n{text}" for role, text in texts)


def _text(message: t.PromptMessage) -> str:
    blocks = content_of([message.content])
    return "\n".join(block.text if isinstance(block, TextContent) else _IMAGE for block in blocks)


T = TypeVar("T")
LONGEST_RESOURCE = 60_000
"""Characters of one resource; of a longer one the middle is left out."""
_MOST_RESOURCE_IMAGES = 4
_TURN = 0.05


@dataclass(frozen=True)
class Resource:
    """What a resource held when it was read; `error` says why it holds nothing. Images are data URLs."""

    name: str
    text: str = ""
    images: tuple[str, ...] = ()
    error: str = ""


def read_resource(clients: Sequence[MCPClient], name: str, is_cancelled: Callable[[], bool]) -> Resource:
    """The resource of that name, `server:address` or `server:name`; its server is started if it has to be."""
    server, _, rest = name.partition(":")
    client = next((each for each in clients if each.server.name == server), None)
    if client is None:
        return Resource(name, error=f"there is no MCP server {server} that is on")
    try:
        _waited(client.connect(), is_cancelled)  # its list tells which address a name stands for
        result = _waited(client.read_resource(_address(client, rest)), is_cancelled)
    except WorkbenchError as error:
        return Resource(name, error=KNOWN.masked(first_line(str(error), 300)))
    return _made(name, result) if result is not None else Resource(name, error="it was interrupted")


def _address(client: MCPClient, written: str) -> str:
    """The address of a resource that is written by its name."""
    listed = client.catalog.entry(client.server).resources
    addresses = {str(each.get("uri")) for each in listed}
    by_name = {str(each.get("name")): str(each.get("uri")) for each in listed}
    return written if written in addresses else by_name.get(written, written)


def _waited(future: Future[T], is_cancelled: Callable[[], bool]) -> T | None:
    while not future.done() and not is_cancelled():
        wait([future], _TURN)
    if not future.done():
        future.cancel()
        return None
    return future.result()


def _made(name: str, result: t.ReadResourceResult) -> Resource:
    blocks = contents_of(result.contents)
    texts = [block.text for block in blocks if isinstance(block, TextContent)]
    pictures = [f"data:{block.mime_type};base64,{block.data}" for block in blocks if isinstance(block, ImageContent)]
    text = cut_middle(KNOWN.masked(well_formed("\n".join(texts))), LONGEST_RESOURCE)
    if not text.strip() and not pictures:
        return Resource(name, error="it is empty")
    return Resource(name, text, tuple(pictures[:_MOST_RESOURCE_IMAGES]))


_UNKNOWN = "Whether the call did anything is unknown: look before you repeat it."
_SLACK = 30.0


def _nobody(server: str) -> RequestHandler | None:
    """Where a tool is used by itself, its server's questions are refused."""
    return None


class MCPToolExecutor(ToolExecutor[MCPToolAction, MCPToolObservation]):
    """One tool of one server."""

    def __init__(
        self,
        client: MCPClient,
        definition: Definition,
        notice: Callable[[str], None] = lambda text: None,
        asker_of: Callable[[str], RequestHandler | None] = _nobody,
        *,
        is_approved: bool = False,
    ) -> None:
        """`notice` takes a line for the person, from any thread: what only they can mend.

        `asker_of` gives, in the thread of a call, who answers the server's questions in it; `is_approved` says that
        the tool's hints count.
        """
        hints = annotations_of(definition.get("annotations") or {}, is_approved=is_approved)
        self._client = client
        self._asker_of = asker_of
        self._definition = definition
        self._notice = notice
        self._may_repeat = hints.readOnlyHint or hints.idempotentHint
        self.side_by_side = hints.readOnlyHint
        self._lock = threading.Lock()
        self._running: set[Future[Any]] = set()

    def __call__(self, action: MCPToolAction) -> MCPToolObservation:
        """The server's answer; what goes wrong is an observation with `is_error`."""
        arguments = action.to_mcp_arguments()
        try:
            try:
                return self._told(self._answer(arguments))
            except ServerGone as error:
                if not (self._may_repeat or isinstance(error, SessionLost)):
                    raise
            return self._told(self._answer(arguments))
        except CancelledError:
            return self._failed(f"the call was interrupted and the server told to stop. {_UNKNOWN}")
        except (ServerGone, CallTimedOut) as error:
            return self._failed(f"{error}. {_UNKNOWN}")
        except SignInNeeded as error:
            self._notice(KNOWN.masked(str(error)))
            return self._failed(str(error))
        except WorkbenchError as error:
            return self._failed(str(error))

    def _answer(self, arguments: dict[str, Any]) -> t.CallToolResult:
        server = self._client.server
        asker = self._asker_of(server.name)
        with self._lock:
            future = self._client.call_tool(self._definition, arguments, self.on_output, asker)
            self._running.add(future)
        try:
            while not wait([future], server.call_seconds + server.start_seconds + _SLACK).done:
                if not self._client.is_asking:
                    future.cancel()
                    raise CallTimedOut(f"the MCP server {server.name} did not answer in time")
            return future.result()
        finally:
            with self._lock:
                self._running.discard(future)

    def _told(self, result: t.CallToolResult) -> MCPToolObservation:
        content = content_of(result.content, result.structured_content)
        return MCPToolObservation(content=tuple(content), is_error=bool(result.is_error), **self._whose())

    def _failed(self, why: str) -> MCPToolObservation:
        return MCPToolObservation.from_text(KNOWN.masked(why), is_error=True, **self._whose())

    def _whose(self) -> dict[str, str]:
        return {"server": self._client.server.name, "tool": self._definition["name"]}

    def interrupt(self) -> None:
        """End all running calls; the server is told."""
        with self._lock:
            running = list(self._running)
        for future in running:
            future.cancel()
