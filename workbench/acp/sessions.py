"""The sessions that an editor has open, by ID; starts, opens, forks and lists sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from acp import Client as Editor
from acp.schema import SessionInfo

from workbench.acp.errors import ModelNotReady
from workbench.acp.prompts import MessageReader
from workbench.acp.servers import server_table
from workbench.acp.session import EditorSession
from workbench.agent.custom_commands import CustomCommands
from workbench.client.engine_client import EngineClient
from workbench.client.threads import in_daemon
from workbench.config.devcontainer import files_of_project
from workbench.config.locations import Locations
from workbench.config.settings import Settings, read_container, wants_never, without_never
from workbench.engine.launch import Launch, log_path
from workbench.engine.logs import write_logs_to
from workbench.errors import UsageError, WorkbenchError
from workbench.llm.factory import NO_MODEL_MESSAGE
from workbench.processes.spawn import keep_out_of
from workbench.session.forks import fork_at
from workbench.session.session_names import new_id, session_path, state_directory
from workbench.session.storage.cleanup import (
    discard_empty,
    has_no_event,
    mark_for_editor,
    marked_directory,
    unmark_for_editor,
)
from workbench.session.storage.session_list import SessionSummary, find_session, newest_first
from workbench.session.storage.store import REPAIR, not_ours
from workbench.session.workspace_check import checked_workspace
from workbench.text import visible
from workbench.view.approval.trust import brings, trust_question
from workbench.view.prompt.completion import ServerOffers
from workbench.view.state import SessionState

_PAGE: Final = 50
"""The maximum number of sessions in one response."""
_NOT_NEVER: Final = (
    'The mode "Don\'t ask" has to be confirmed, which an editor cannot do, so this session is not in that mode'
)


class EditorSessions:
    """Opens sessions for one editor, and keeps those that are open."""

    def __init__(
        self, locations: Locations, read_settings: Callable[[], Settings], editor: Editor, *, has_files: bool
    ) -> None:
        """`read_settings` is called for each session, so that changed settings apply.

        `has_files`: whether the editor can read and write files for the agent.
        """
        self._has_files = has_files
        self._locations = locations
        self._read_settings = read_settings
        self._editor = editor
        write_logs_to(log_path(locations, "acp"))
        self._open: dict[str, EditorSession] = {}

    def get(self, session_id: str) -> EditorSession:
        """Return the open session with this ID. Raises UsageError if there is none."""
        if session_id not in self._open:
            raise UsageError(f"the session {session_id!r} is not open here; load it, or start a new one")
        return self._open[session_id]

    def check_model(self) -> None:
        """Raise ModelNotReady if no model is set up."""
        if not self._read_settings().model:
            raise ModelNotReady(NO_MODEL_MESSAGE)

    async def start(self, cwd: str, servers: Iterable[Any] | None) -> EditorSession:
        """Start a session in the directory `cwd`, with the MCP servers that the editor passes.

        Raises UsageError if the directory, a server or the model cannot be used.
        """
        self.check_model()
        directory, locations = _checked_directory(cwd), self._locations
        name = new_id(directory.name)
        with suppress(OSError):  # then the session is as good, but not kept while it is empty
            mark_for_editor(locations, name, directory)
        try:
            return await self._opened(name, directory, servers, is_new=True)
        except WorkbenchError:
            discard_empty(locations, name)
            raise

    async def open(
        self, session_id: str, cwd: str, servers: Iterable[Any] | None, *, replay: bool = False
    ) -> EditorSession:
        """Open an existing session; with `replay`, send its history to the editor.

        Raises WorkbenchError if it cannot be opened in the directory `cwd`, or a prompt of it is running.
        """
        directory = _checked_directory(cwd)
        is_new = await in_daemon(lambda: self._check(session_id, directory))
        if session_id in self._open:
            if self._open[session_id].is_busy:
                raise UsageError("a prompt of this session is still running; cancel it, or wait for its end")
            self._open.pop(session_id).close()
        return await self._opened(session_id, directory, servers, is_new=is_new, replay=replay)

    async def fork(self, session_id: str, cwd: str, servers: Iterable[Any] | None) -> EditorSession:
        """Fork a session at its end, and open the fork. Raises WorkbenchError if that is not possible."""
        directory = _checked_directory(cwd)
        await in_daemon(lambda: self._check(session_id, directory))
        forked = await in_daemon(lambda: fork_at(self._locations, session_id))
        return await self._opened(forked.id, directory, servers)

    def listed(self, cwd: str | None, cursor: str | None) -> tuple[list[SessionInfo], str | None]:
        """Return a page of the user's sessions, newest first, and the cursor of the next page, or None after the last.

        With a `cwd`, only the sessions of that directory are listed. This blocks, so call it in a thread. Raises
        UsageError for an invalid cursor.
        """
        skipped = int(cursor) if cursor and cursor.isascii() and cursor.isdecimal() else 0
        if cursor and not skipped:
            raise UsageError(f"{cursor!r} is no cursor of a list of sessions")
        directory = str(Path(cwd).resolve()) if cwd else ""
        usable = (
            each
            for each in newest_first(self._locations)
            if not (each.parent or each.damaged or each.origin) and directory in ("", each.workspace)
        )
        page = list(islice(usable, skipped, skipped + _PAGE + 1))
        rest = str(skipped + _PAGE) if len(page) > _PAGE else None
        return [_info(each) for each in page[:_PAGE]], rest

    def end(self, session_id: str) -> None:
        """Close the session and end its run; delete it if it is empty. Raises UsageError if it is not open."""
        session = self.get(session_id)
        unmark_for_editor(self._locations, session_id)
        session.close(stop=True)
        del self._open[session_id]
        discard_empty(self._locations, session_id)

    def close(self) -> None:
        """Detach from all sessions; their runs continue."""
        for session in self._open.values():
            session.close()

    def _check(self, session_id: str, directory: Path) -> bool:
        """Return whether the session is yet to be created: an editor has its id, but its engine was killed before that.

        Raises WorkbenchError if it cannot be opened in the directory. That includes a session that can be opened only
        after a question to the user: an editor cannot ask it.
        """
        path = session_path(self._locations, session_id)
        if not path.exists() or has_no_event(path):
            workspace = marked_directory(self._locations, session_id)
            if workspace is None:
                raise UsageError(f"there is no session {session_id!r}; one closed without a message is deleted")
            _check_directory(str(workspace), directory)
            return True
        summary = find_session(self._locations, session_id)
        if summary.damaged:
            raise UsageError(f"the session is damaged: {summary.damaged}; {REPAIR.format(session_id)}")
        if summary.origin:
            raise UsageError(f"the session is at {summary.origin}; `ohw resume {session_id}` opens it there")
        if why := not_ours(path):
            raise UsageError(f"the file of the session {why}; `ohw resume {session_id}` asks whether to open it")
        _check_directory(summary.workspace, directory)
        return False

    async def _opened(
        self,
        name: str,
        directory: Path,
        servers: Iterable[Any] | None,
        *,
        is_new: bool = False,
        replay: bool = False,
    ) -> EditorSession:
        settings = self._read_settings()
        table, notices = server_table(servers, settings.mcpServers)
        settings = replace(settings, mcpServers=table)
        notices += _without_trust(self._locations, settings, directory)
        if wants_never(settings, is_new=is_new):
            settings = without_never(settings)
            notices.append(_NOT_NEVER)
        has_files = self._has_files
        launch = Launch(self._locations, settings, name, str(directory), is_new=is_new, checks_unsaved=has_files)
        client = EngineClient(launch)
        offers = ServerOffers(lambda: settings, directory)
        images = state_directory(self._locations, name) / "images"
        session = EditorSession(
            client,
            SessionState(session_id=name, workspace=str(directory), model=settings.model or "", mode=settings.mode),
            self._editor,
            settings=settings,
            custom=CustomCommands(lambda: settings, directory, self._locations),
            reader=MessageReader(directory, images, offers.is_resource),
            has_files=has_files,
            notices=notices,
        )
        try:
            await session.open(replay=replay)
        except WorkbenchError:
            session.close()
            raise
        self._open[name] = session
        return session


def _check_directory(workspace: str, directory: Path) -> None:
    if directory != Path(workspace):
        raise UsageError(f"the session works in {workspace}; open that directory")


def _checked_directory(cwd: str) -> Path:
    """Return the resolved path of a session's directory. Raises UsageError if it is relative or cannot be used."""
    if not Path(cwd).is_absolute():
        raise UsageError(f"cwd has to be an absolute path, and is {cwd!r}")
    directory = checked_workspace(Path(cwd))
    keep_out_of(directory)
    return directory


def _without_trust(locations: Locations, settings: Settings, directory: Path) -> list[str]:
    """Return a notice if the directory has files that take effect only once the user trusts it."""
    of_container = files_of_project(read_container(settings.container), directory)
    question = trust_question(locations, directory, settings.trusted, set(), of_container)
    if question is None:
        return []
    return [
        f"This directory has {brings(question)}, which are ignored; `ohw` in a terminal there asks whether to trust it"
    ]


def _info(summary: SessionSummary) -> SessionInfo:
    return SessionInfo(
        session_id=summary.id,
        cwd=summary.workspace,
        title=visible(summary.title, lines=False) or None,
        updated_at=summary.updated.isoformat(),
    )
