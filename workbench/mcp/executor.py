"""Runs the calls of MCP tools, and converts results, prompts and resources to the workbench's own types."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from workbench.errors import WorkbenchError
from workbench.mcp.client import MCPClient
from workbench.mcp.definitions import Definition
from workbench.mcp.errors import CallTimedOut, ProgramMissing, ServerFailed, ServerGone, SessionLost, SignInNeeded
from workbench.mcp.requests import RequestHandler
from workbench.mcp.tool import MCPToolAction, MCPToolObservation, annotations_of
from workbench.secrets.masker import MASKER
from workbench.text import cut_middle, first_line, well_formed
from workbench.tools.alternatives import need_of_server
from workbench.tools.executor import ToolExecutor
from workbench.tools.sandbox_notes import refused_hosts
from workbench.tools.schema import Content, ImageContent, TextContent

if TYPE_CHECKING:
    from mcp import types as t

_MOST_TEXT = 400_000
_MOST_IMAGE, _MOST_IMAGES = 8_000_000, 8
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def content_of(blocks: Sequence[Any], structured: Any = None) -> list[Content]:
    """Return the content of a result, within the size limits; structured content is added unless a text repeats it."""
    content = [_block(block) for block in blocks]
    if structured is not None and not _says(content, structured):
        content.append(TextContent(text=json.dumps(structured, ensure_ascii=False, indent=1)))
    return _cut(_few_images(content))


def _few_images(content: Sequence[Content]) -> list[Content]:
    """Return the content with only the first images, and a line that counts the omitted ones."""
    images = [block for block in content if isinstance(block, ImageContent)]
    if len(images) <= _MOST_IMAGES:
        return list(content)
    omitted = {id(block) for block in images[_MOST_IMAGES:]}
    notice = TextContent(text=f"[{len(omitted)} more images omitted: at most {_MOST_IMAGES} are sent at once]")
    return [*(block for block in content if id(block) not in omitted), notice]


def _cut(content: Sequence[Content]) -> list[Content]:
    rest = _MOST_TEXT
    short: list[Content] = []
    for block in content:
        if isinstance(block, TextContent):
            text = cut_middle(block.text, rest) if rest > 0 else "[… omitted: too much text …]"
            rest -= len(text)
            short.append(TextContent(text=well_formed(text)))
        else:
            short.append(block)
    return short


def _says(content: Sequence[Content], structured: Any) -> bool:
    """Return whether a text repeats the structured content, as the protocol recommends to servers."""
    strings = [block.text for block in content if isinstance(block, TextContent)]
    for text in strings:
        if text.lstrip()[:1] in ("{", "["):
            try:
                if json.loads(text) == structured:
                    return True
            except ValueError:
                continue
    result = structured.get("result", ...) if isinstance(structured, dict) and len(structured) == 1 else ...
    return bool(strings) and result is not ... and (str(result) in strings or result == strings)


def _block(block: Any) -> Content:
    kind = block.type
    if kind == "text":
        return TextContent(text=block.text)
    if kind == "image":
        return _image(block.data, block.mime_type, "an image")
    if kind == "audio":
        return TextContent(text=f"[audio, {block.mime_type}, {_size(block.data)}: audio is not supported]")
    if kind == "resource_link":
        about = f": {block.description}" if block.description else ""
        return TextContent(text=f"[a link to the resource {block.name}, {block.uri}{about}]")
    return resource_content(block.resource)


def contents_of(contents: Sequence[Any]) -> list[Content]:
    """Return the parts of a resource; unless it is a single text, each part names its URI."""
    if len(contents) == 1 and getattr(contents[0], "text", None) is not None:
        return [TextContent(text=contents[0].text)]
    return [resource_content(each) for each in contents]


def resource_content(resource: Any) -> Content:
    """Return the resource's text below its URI, or its image.

    Anything else, including an image that is damaged or too large, becomes a one-line description.
    """
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
        return TextContent(text=f"[{what}, {mime}, {_size(data)}: not supported]")
    return ImageContent(data=data, mime_type=mime)


def _size(data: str) -> str:
    return f"{len(data) * 3 // 4:,} bytes"


LONGEST_PROMPT = 60_000
"""The maximum length of one prompt, in characters; the middle of a longer one is omitted."""
_IMAGE = "[an image, omitted]"


def prompt_text(clients: Sequence[MCPClient], server: str, name: str, arguments: Mapping[str, str]) -> str:
    """Return the text of a prompt, starting its server if necessary. Raises WorkbenchError if that fails."""
    client = next((each for each in clients if each.server.name == server), None)
    if client is None:
        raise ServerFailed(f"there is no enabled MCP server {server}")
    future = client.get_prompt(name, dict(arguments))
    try:
        result = future.result(client.server.start_seconds + client.server.call_seconds)
    except TimeoutError as error:
        future.cancel()
        raise CallTimedOut(f"the MCP server {server} did not send its prompt in time") from error
    except WorkbenchError as error:
        raise type(error)(MASKER.masked(str(error))) from error
    return cut_middle(MASKER.masked(well_formed(_prompt_of(result))), LONGEST_PROMPT)


def _prompt_of(result: t.GetPromptResult) -> str:
    """Return the text of a single message unchanged, or of several messages with a heading that names each role."""
    messages = [(message.role, _text(message)) for message in result.messages]
    if len(messages) == 1:
        return messages[0][1]
    who = {"user": "The user", "assistant": "The agent"}
    return "\n\n".join(f"[{who.get(role, role)}:]\n{text}" for role, text in messages)


def _text(message: t.PromptMessage) -> str:
    blocks = content_of([message.content])
    return "\n".join(block.text if isinstance(block, TextContent) else _IMAGE for block in blocks)


T = TypeVar("T")
LONGEST_RESOURCE = 60_000
"""The maximum length of one resource, in characters; the middle of a longer one is omitted."""
_MOST_RESOURCE_IMAGES = 4
_TURN = 0.05


@dataclass(frozen=True)
class Resource:
    """The content of a resource, with images as data URLs; if there is no content, `error` says why."""

    name: str
    text: str = ""
    images: tuple[str, ...] = ()
    error: str = ""


def read_resource(clients: Sequence[MCPClient], name: str, is_cancelled: Callable[[], bool]) -> Resource:
    """Return the resource `server:uri` or `server:name`, starting its server if necessary; errors are in `error`."""
    server, _, rest = name.partition(":")
    client = next((each for each in clients if each.server.name == server), None)
    if client is None:
        return Resource(name, error=f"there is no enabled MCP server {server}")
    try:
        # The server's list maps names to URIs.
        _waited(client.connect(), is_cancelled)
        result = _waited(client.read_resource(_uri_of(client, rest)), is_cancelled)
    except WorkbenchError as error:
        return Resource(name, error=MASKER.masked(first_line(str(error), 300)))
    return _resource_of(name, result) if result is not None else Resource(name, error="it was interrupted")


def _uri_of(client: MCPClient, written: str) -> str:
    """Return the URI of the resource with this URI or name; an unlisted one is returned as written."""
    listed = client.pins.entry(client.server).resources
    uris = {str(each.get("uri")) for each in listed}
    by_name = {str(each.get("name")): str(each.get("uri")) for each in listed}
    return written if written in uris else by_name.get(written, written)


def _waited(future: Future[T], is_cancelled: Callable[[], bool]) -> T | None:
    while not future.done() and not is_cancelled():
        wait([future], _TURN)
    if not future.done():
        future.cancel()
        return None
    return future.result()


def _resource_of(name: str, result: t.ReadResourceResult) -> Resource:
    blocks = contents_of(result.contents)
    lines = [block.text for block in blocks if isinstance(block, TextContent)]
    pictures = [f"data:{block.mime_type};base64,{block.data}" for block in blocks if isinstance(block, ImageContent)]
    text = cut_middle(MASKER.masked(well_formed("\n".join(lines))), LONGEST_RESOURCE)
    if not text.strip() and not pictures:
        return Resource(name, error="it is empty")
    return Resource(name, text, tuple(pictures[:_MOST_RESOURCE_IMAGES]))


_UNKNOWN = "Whether the call did anything is unknown: check before you repeat it."
_SLACK = 30.0


def _nobody(server: str) -> RequestHandler | None:
    """Return None: outside a session, there is no user to answer the server's requests."""
    return None


class MCPToolExecutor(ToolExecutor[MCPToolAction, MCPToolObservation]):
    """Runs the calls of one MCP tool."""

    def __init__(
        self,
        client: MCPClient,
        definition: Definition,
        notice: Callable[[str], None] = lambda text: None,
        asker_of: Callable[[str], RequestHandler | None] = _nobody,
        *,
        is_approved: bool = False,
    ) -> None:
        """Set up the calls of the tool in `definition`.

        `notice` receives lines about problems that only the user can fix, from any thread. `asker_of` is called with
        the server's name, in the thread that runs a call, and returns the handler of the server's requests during that
        call. If `is_approved` is true, the tool's hints are trusted.
        """
        hints = annotations_of(definition.get("annotations") or {}, is_approved=is_approved)
        self._client = client
        self._asker_of = asker_of
        self._definition = definition
        self._notice = notice
        self._may_repeat = hints.readOnlyHint or hints.idempotentHint
        self.side_by_side = hints.readOnlyHint
        self.program = client.server.program
        self._lock = threading.Lock()
        self._running: set[Future[Any]] = set()

    def __call__(self, action: MCPToolAction) -> MCPToolObservation:
        """Call the tool and return its observation; a failure is an observation with `is_error`.

        If the connection breaks, the call is repeated once, but only if the tool's hints say that repeating it is
        harmless, or if the server lost the session before it read the call.
        """
        arguments, began = action.to_mcp_arguments(), time.monotonic()
        try:
            try:
                return self._observation(self._answer(arguments), began)
            except ServerGone as error:
                if not (self._may_repeat or isinstance(error, SessionLost)):
                    raise
            return self._observation(self._answer(arguments), began)
        except CancelledError:
            return self._failed(f"the call was interrupted and the server was asked to cancel it. {_UNKNOWN}")
        except (ServerGone, CallTimedOut) as error:
            return self._failed(f"{error}. {_UNKNOWN}")
        except SignInNeeded as error:
            self._notice(MASKER.masked(str(error)))
            return self._failed(str(error))
        except WorkbenchError as error:
            server, failed = self._client.server, self._failed(str(error))
            is_missing = isinstance(error, ProgramMissing)
            return failed.lacking(need_of_server((server.command, *server.args))) if is_missing else failed

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
                    raise CallTimedOut(f"the MCP server {server.name} did not respond in time")
            return future.result()
        finally:
            with self._lock:
                self._running.discard(future)

    def _observation(self, result: t.CallToolResult, began: float) -> MCPToolObservation:
        content = content_of(result.content, result.structured_content)
        content += [TextContent(text=line) for line in refused_hosts(self._client.sandbox.refused_since(began))]
        return MCPToolObservation(content=tuple(content), is_error=bool(result.is_error), **self._source())

    def _failed(self, why: str) -> MCPToolObservation:
        return MCPToolObservation.from_text(MASKER.masked(why), is_error=True, **self._source())

    def _source(self) -> dict[str, str]:
        return {"server": self._client.server.name, "tool": self._definition["name"]}

    def interrupt(self) -> None:
        """Cancel all running calls and notify the server."""
        with self._lock:
            running = list(self._running)
        for future in running:
            future.cancel()
