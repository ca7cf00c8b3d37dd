"""Changes that the editor has not saved: before the agent uses such a file, the user chooses the version to use.

The editor's content is compared with the file on disk. A version that was on disk earlier is not a change by the user:
the editor has just not reloaded the file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from acp import Client as Editor
from acp import RequestError
from acp.helpers import text_block, tool_content, tool_diff_content
from acp.schema import (
    AllowedOutcome,
    PermissionOption,
    ToolCallLocation,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
)
from pydantic import ValidationError

from workbench.acp.updates import SessionUpdate, notice
from workbench.client.client import Client
from workbench.client.threads import in_daemon
from workbench.files.text_file import EditorError, decoded, digest, read_bytes
from workbench.protocol.commands import UnsavedChecked
from workbench.protocol.live import CheckUnsaved
from workbench.view.formatting.actions import short_path
from workbench.view.state import SessionState

_SAVE: Final = "save"
_OPTIONS: Final = [
    PermissionOption(option_id=_SAVE, name="Save the editor's version first", kind="allow_once"),
    PermissionOption(option_id="disk", name="Use the file on disk", kind="reject_once"),
]
_EXPLANATION: Final = (
    "The agent is about to use this file, which has changes in the editor that are not on the disk. The agent reads "
    "and edits the file on disk: save these changes so that it sees them, or let it use the file without them."
)
_NOT_SAVED: Final = "{path} was not saved by the editor, so the agent uses the file on disk"
_LONGEST_READ: Final = 5.0
"""Seconds in which the editor must return the content of a file."""


class UnsavedChanges:
    """Compares files in the editor with those on disk, and asks the user about those that differ."""

    def __init__(
        self,
        client: Client,
        state: SessionState,
        editor: Editor,
        send: Callable[[SessionUpdate], Awaitable[None]],
    ) -> None:
        """`send` sends an update to the editor."""
        self._client = client
        self._state = state
        self._editor = editor
        self._send = send
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._turn = asyncio.Lock()
        self._questions = 0
        self._skipped: dict[str, set[str]] = {}
        """By path: the hashes of the file's versions that were on disk, or that the user does not want to save."""

    def start(self, request: CheckUnsaved, *, asks: bool) -> None:
        """Start to check the files of a request, after those of earlier ones, such as of other sub-agents.

        Unless `asks`, which needs a running prompt, only report that it is done. A request without files withdraws the
        check with its number.
        """
        number = request.request
        if request.paths:
            task = self._tasks[number] = asyncio.create_task(self._check(request, asks=asks))
            task.add_done_callback(lambda done: self._tasks.pop(number, None))
        elif number in self._tasks:
            self._tasks[number].cancel()

    def withdraw(self) -> None:
        """Cancel all checks; answers that arrive later change nothing."""
        for task in self._tasks.values():
            task.cancel()

    async def _check(self, request: CheckUnsaved, *, asks: bool) -> None:
        try:
            async with self._turn:
                for path in request.paths if asks else ():
                    await self._compare(path)
        except ConnectionError:
            return  # the editor is gone
        finally:
            self._client.send(UnsavedChecked(request=request.request))

    async def _compare(self, path: str) -> None:
        """Ask about a file whose versions differ; ask again if one of them changed before the user answered."""
        while (versions := await self._versions(path)) is not None:
            on_disk, in_editor = versions
            skipped = self._skipped.setdefault(path, self._recorded(path))
            skipped.add(_hash(on_disk or ""))
            if _hash(in_editor) in skipped:
                return
            if not await self._ask(path, on_disk, in_editor):
                skipped.add(_hash(in_editor))
                return
            if await self._versions(path) == versions:
                await self._save(path, in_editor)
                return

    async def _versions(self, path: str) -> tuple[str | None, str] | None:
        """Return the texts of a file on disk (None if it does not exist) and in the editor; None if they cannot be
        compared.
        """
        try:
            on_disk = await in_daemon(lambda: _text_on_disk(path))
            async with asyncio.timeout(_LONGEST_READ):
                response = await self._editor.read_text_file(session_id=self._state.session_id, path=path)
        except (EditorError, OSError, RequestError, TimeoutError, ValidationError):
            return None
        return on_disk, response.content

    def _recorded(self, path: str) -> set[str]:
        """Return the hashes of the versions of a file that the session has recorded."""
        file = self._state.changes.get(path)
        return {_hash(text) for text in (file.before, file.after) if text} if file is not None else set()

    def _name(self, path: str) -> str:
        return short_path(path, self._state.workspace)

    async def _ask(self, path: str, on_disk: str | None, in_editor: str) -> bool:
        """Ask whether to save a file; any unclear answer means no."""
        self._questions += 1
        name = f"unsaved-{self._questions}"
        call = ToolCallUpdate(
            tool_call_id=name,
            title=f"{self._name(path)} has unsaved changes",
            kind="edit",
            status="pending",
            content=[tool_content(text_block(_EXPLANATION)), tool_diff_content(path, in_editor, on_disk)],
            locations=[ToolCallLocation(path=path)],
        )
        fields = call.model_dump(exclude={"field_meta"}, exclude_none=True)
        await self._send(ToolCallStart(session_update="tool_call", **fields))
        is_saved = False
        try:
            response = await self._editor.request_permission(
                session_id=self._state.session_id, tool_call=call, options=_OPTIONS
            )
            outcome = response.outcome
            is_saved = isinstance(outcome, AllowedOutcome) and outcome.option_id == _SAVE
        except (RequestError, ValidationError):
            is_saved = False
        finally:
            status = "completed" if is_saved else "failed"
            await self._send(
                ToolCallProgress(session_update="tool_call_update", tool_call_id=name, status=status)  # type: ignore[arg-type]
            )
        return is_saved

    async def _save(self, path: str, text: str) -> None:
        """Have the editor save a file, and show a notice if it did not."""
        try:
            await self._editor.write_text_file(session_id=self._state.session_id, path=path, content=text)
            saved = await in_daemon(lambda: _text_on_disk(path))
        except (EditorError, OSError, RequestError, ValidationError):
            saved = None
        if saved is None or _hash(saved) != _hash(text):
            await self._send(notice(_NOT_SAVED.format(path=self._name(path))))


def _text_on_disk(path: str) -> str | None:
    """Return the text of a file, or None if it does not exist. Raises EditorError or OSError if it cannot be read."""
    try:
        return decoded(Path(path), read_bytes(Path(path)))[1]
    except FileNotFoundError:
        return None


def _hash(text: str) -> str:
    """Return the hash of a text, independent of its line endings and of a newline at its end, which
    editors may omit.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")
    return digest(lines.encode(errors="surrogatepass"))
