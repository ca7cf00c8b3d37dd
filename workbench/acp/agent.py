"""The agent as an editor sees it: one method for each request of the protocol. Each session is an `EditorSession`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from acp import (
    PROTOCOL_VERSION,
    AuthenticateResponse,
    Client,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptResponse,
    RequestError,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
)
from acp.schema import (
    AgentCapabilities,
    AuthMethodAgent,
    ClientCapabilities,
    CloseSessionResponse,
    ForkSessionResponse,
    Implementation,
    ListSessionsResponse,
    McpCapabilities,
    PromptCapabilities,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionForkCapabilities,
    SessionListCapabilities,
    SessionResumeCapabilities,
)

from workbench import __version__
from workbench.acp.errors import ModelNotReady
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.errors import UsageError, WorkbenchError

if TYPE_CHECKING:
    from workbench.acp.session import EditorSession
    from workbench.acp.sessions import EditorSessions

_INVALID_PARAMS: Final = -32602
_INTERNAL_ERROR: Final = -32603
_AUTH_REQUIRED: Final = -32000
_CAPABILITIES: Final = AgentCapabilities(
    load_session=True,
    prompt_capabilities=PromptCapabilities(image=True, embedded_context=True),
    mcp_capabilities=McpCapabilities(http=True, sse=True),
    session_capabilities=SessionCapabilities(
        list=SessionListCapabilities(),
        fork=SessionForkCapabilities(),
        resume=SessionResumeCapabilities(),
        close=SessionCloseCapabilities(),
    ),
)
_SETUP: Final = AuthMethodAgent(
    id="ohw-settings",
    name="Set up a model for ohw",
    description="Run `ohw` in a terminal once: it finds API keys and local servers, and saves the model that works. "
    "Or set OHW_MODEL and the provider's API key in the environment of the editor.",
)
_USED: Final = {"ohw": {"usesClientFiles": True, "usesClientTerminals": False}}
"""Metadata of the answer to `initialize`: the agent uses the editor's files, but runs commands in its own shell."""


@contextmanager
def _as_request_error() -> Iterator[None]:
    """Turn a WorkbenchError into the protocol's error response; editors show its message."""
    try:
        yield
    except WorkbenchError as error:
        code = _INVALID_PARAMS if isinstance(error, UsageError) else _INTERNAL_ERROR
        raise RequestError(_AUTH_REQUIRED if isinstance(error, ModelNotReady) else code, str(error)) from error


class EditorAgent:
    """Answers the requests of one editor."""

    def __init__(self, locations: Locations, read_settings: Callable[[], Settings]) -> None:
        """`read_settings` is called for each session, so that changed settings apply; it raises UsageError if one is
        invalid.
        """
        self._locations = locations
        self._read_settings = read_settings
        self._editor: Client | None = None
        self._has_files = False
        """Whether the editor can read and write files for the agent, including unsaved changes."""
        self._opened: EditorSessions | None = None
        self._offers: set[asyncio.Task[None]] = set()

    def on_connect(self, conn: Client) -> None:
        """Set the connection to the editor; called before the first request."""
        self._editor = conn

    @property
    def _sessions(self) -> EditorSessions:
        if self._opened is None:
            assert self._editor is not None
            from workbench.acp.sessions import EditorSessions

            self._opened = EditorSessions(self._locations, self._read_settings, self._editor, has_files=self._has_files)
        return self._opened

    async def initialize(self, client_capabilities: ClientCapabilities | None = None, **_: Any) -> InitializeResponse:
        """Return the capabilities of this agent, and the one version of the protocol that it speaks, whatever the
        editor asks for.
        """
        files = client_capabilities.fs if client_capabilities is not None else None
        self._has_files = bool(files and files.read_text_file and files.write_text_file)
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=_CAPABILITIES,
            auth_methods=[_SETUP],
            agent_info=Implementation(name="ohw", title="Workbench", version=__version__),
            field_meta=_USED,
        )

    async def authenticate(self, method_id: str, **_: Any) -> AuthenticateResponse:
        """Check whether a model is set up by now; API keys are never accepted from an editor.

        Raises RequestError if none is.
        """
        if method_id != _SETUP.id:
            raise RequestError(_INVALID_PARAMS, f"there is no method {method_id!r}")
        with _as_request_error():
            self._sessions.check_model()
        return AuthenticateResponse()

    async def new_session(self, cwd: str, **more: Any) -> NewSessionResponse:
        """Start a session in the directory `cwd`."""
        with _as_request_error():
            _refuse_directories(more)
            session = await self._sessions.start(cwd, more.get("mcp_servers"))
        self._offer_commands(session)
        return NewSessionResponse(session_id=session.id, modes=session.modes, config_options=session.options)

    async def load_session(self, cwd: str, session_id: str, **more: Any) -> LoadSessionResponse:
        """Open a session, and send its history to the editor."""
        with _as_request_error():
            _refuse_directories(more)
            session = await self._sessions.open(session_id, cwd, more.get("mcp_servers"), replay=True)
        self._offer_commands(session)
        return LoadSessionResponse(modes=session.modes, config_options=session.options)

    async def resume_session(self, session_id: str, cwd: str, **more: Any) -> ResumeSessionResponse:
        """Open a session without sending its history."""
        with _as_request_error():
            _refuse_directories(more)
            session = await self._sessions.open(session_id, cwd, more.get("mcp_servers"))
        self._offer_commands(session)
        return ResumeSessionResponse(modes=session.modes, config_options=session.options)

    async def fork_session(self, session_id: str, cwd: str, **more: Any) -> ForkSessionResponse:
        """Fork a session at its end, and open the fork."""
        with _as_request_error():
            _refuse_directories(more)
            session = await self._sessions.fork(session_id, cwd, more.get("mcp_servers"))
        self._offer_commands(session)
        return ForkSessionResponse(session_id=session.id, modes=session.modes, config_options=session.options)

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None, **_: Any) -> ListSessionsResponse:
        """Return a page of the user's sessions."""
        with _as_request_error():
            sessions, rest = await asyncio.to_thread(self._sessions.listed, cwd, cursor)
        return ListSessionsResponse(sessions=sessions, next_cursor=rest)

    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        """Close a session and end its run; it can be loaded again."""
        with _as_request_error():
            self._sessions.end(session_id)
        return CloseSessionResponse()

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> SetSessionModeResponse:
        """Set the mode of a session."""
        with _as_request_error():
            await self._sessions.get(session_id).change("mode", mode_id)
        return SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> SetSessionConfigOptionResponse:
        """Set the mode or the model of a session."""
        with _as_request_error():
            session = self._sessions.get(session_id)
            await session.change(config_id, str(value))
        return SetSessionConfigOptionResponse(config_options=list(session.options))

    async def prompt(self, session_id: str, prompt: Sequence[Any], **_: Any) -> PromptResponse:
        """Send a message and return why the agent stopped."""
        with _as_request_error():
            reason = await self._sessions.get(session_id).prompt(prompt)
        return PromptResponse(stop_reason=reason)

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Stop the run of a session; its prompt is answered with "cancelled"."""
        with _as_request_error():
            self._sessions.get(session_id).cancel()

    def close(self) -> None:
        """Detach from all sessions, because the editor is gone; a run continues until its end or its next question."""
        for task in self._offers:
            task.cancel()
        if self._opened is not None:
            self._opened.close()

    def _offer_commands(self, session: EditorSession) -> None:
        """Send the slash commands later, so that they arrive after the response that names the session."""
        task = asyncio.create_task(session.offer_commands())
        self._offers.add(task)
        task.add_done_callback(self._offers.discard)


def _refuse_directories(more: dict[str, Any]) -> None:
    if more.get("additional_directories"):
        raise UsageError("a session works in one directory; additional directories are not supported")
