"""Rewinds in plain mode: lists the checkpoints, previews a rewind, and carries it out once the user confirms."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from pathlib import Path

from workbench.client.client import Client, Incoming
from workbench.client.threads import in_daemon
from workbench.errors import WorkbenchError
from workbench.protocol.commands import PreviewRewind, RewindSession
from workbench.protocol.events import Rewound
from workbench.protocol.live import RewindReady
from workbench.text import first_line, visible
from workbench.view.follower import start_over
from workbench.view.reducer import apply
from workbench.view.rewind import CheckpointRow, checkpoint_line, preview_lines, read_checkpoints, read_last_rewind
from workbench.view.state import Changed, SessionState

CONFIRMED = "yes"


def was_rewound(messages: Iterable[Incoming]) -> bool:
    """Return whether the messages contain a rewind that changes the events which the session consists of."""
    return any(isinstance(message, Rewound) and message.scope != "files" for message in messages)


async def reread(state: SessionState, client: Client) -> Changed:
    """Compute the state again from the events after a rewind, and return the items that are new in it."""
    before = state.last_seq
    events = await in_daemon(lambda: list(client.history()))
    start_over(state, SessionState())
    for event in events:
        apply(state, event)
    return Changed(added=[item for item in state.items if item.seq > before])


class PlainRewind:
    """Carries out `/rewind` and `/redo` for the session in the file `path`; nothing changes before `/rewind yes`."""

    def __init__(
        self,
        path: Path,
        workspace: str,
        client: Client,
        print_lines: Callable[..., None],
        ended: Callable[[asyncio.Task[None]], None],
    ) -> None:
        """`ended` is called with the task that reads the checkpoints, once it ends."""
        self._path = path
        self._workspace = workspace
        self._client = client
        self._print = print_lines
        self._ended = ended
        self._task: asyncio.Task[None] | None = None
        self._chosen: CheckpointRow | None = None
        self._preview: RewindReady | None = None

    def list(self) -> None:
        """List the checkpoints."""
        self._start(self._list())

    def run(self, argument: str) -> None:
        """Preview a rewind to the checkpoint with this event number, or, after "yes", carry out the rewind previewed
        last.
        """
        if argument == CONFIRMED:
            self._confirm()
        else:
            self._start(self._choose(argument))

    def redo(self) -> None:
        """Preview undoing the last rewind."""
        self._start(self._choose_last())

    def _start(self, choice: Coroutine[None, None, CheckpointRow | None]) -> None:
        self._chosen = self._preview = None
        self._task = asyncio.create_task(self._ask(choice))
        self._task.add_done_callback(self._ended)

    async def _ask(self, choice: Coroutine[None, None, CheckpointRow | None]) -> None:
        try:
            self._chosen = await choice
        except WorkbenchError as error:
            self._print(f"The checkpoints cannot be read: {visible(str(error), lines=False)}.")
        if self._chosen is not None:
            self._client.send(PreviewRewind(target=self._chosen.target, scope=self._chosen.scope))

    async def _list(self) -> None:
        rows = await in_daemon(partial(read_checkpoints, self._path))
        self._print(*map(checkpoint_line, rows), "/rewind EVENT shows what going back there would change.")

    async def _choose(self, event: str) -> CheckpointRow | None:
        rows = await in_daemon(partial(read_checkpoints, self._path))
        chosen = next((row for row in rows if str(row.seq) == event), None)
        if chosen is None:
            self._print(f"{first_line(event, 60)} is no checkpoint; /rewind lists them.")
        return chosen

    async def _choose_last(self) -> CheckpointRow | None:
        last = await in_daemon(partial(read_last_rewind, self._path))
        if last is None:
            self._print("There is no rewind to undo.")
            return None
        if last.has_gone_on:
            self._print("You have continued since that rewind; undoing it undoes that too.")
        return last.row

    def receive(self, ready: RewindReady | None) -> None:
        """Print a preview that has arrived, unless it is None or belongs to an earlier choice."""
        if ready is None or self._chosen is None or ready.rewound.target != self._chosen.target:
            return
        self._preview = ready
        message = self._chosen.message
        self._print(
            f"Rewind to {self._chosen.title}:",
            *preview_lines(ready.rewound, self._workspace),
            *([f"Your message was: {message}"] if message else []),
            f"Nothing has changed yet. /rewind {CONFIRMED} rewinds.",
        )

    def _confirm(self) -> None:
        if self._chosen is None or self._preview is None:
            self._print("/rewind EVENT comes first: it shows what would change.")
            return
        row, previewed = self._chosen, self._preview.rewound.seq
        self._chosen = self._preview = None
        self._client.send(RewindSession(target=row.target, scope=row.scope, previewed=previewed))
