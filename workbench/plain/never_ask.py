"""Confirms, in plain mode, the mode that never asks: only the answer "yes" confirms it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from workbench.client.client import Client
from workbench.config.modes import NEVER_MEANS
from workbench.plain.line_input import Console, LineAsker
from workbench.protocol.commands import ChangeSettings

_PROMPT = "Don't ask in this session? Write yes or no: "


class NeverAsk:
    """Asks for the confirmation during a session; while the question is open, the user's lines go to `asker`."""

    def __init__(
        self, asker: LineAsker, client: Client, done: Callable[[], None], ended: Callable[[asyncio.Task[None]], None]
    ) -> None:
        """`done` is called after the answer; `ended` is called with the task that asked, once the task ends."""
        self._asker = asker
        self._client = client
        self._done = done
        self._ended = ended
        self._task: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether the question is open; no other question may be asked meanwhile."""
        return self._task is not None

    def open(self) -> None:
        """Start to ask whether to use the mode that never asks; a yes sets it."""
        self._task = asyncio.create_task(self._ask())
        self._task.add_done_callback(self._ended)

    async def _ask(self) -> None:
        self._asker.begin()
        confirmed = await confirm_never(self._asker)
        self._task = None
        if confirmed:
            self._client.send(ChangeSettings(mode="never", confirmed=True))
        self._done()


async def confirm_never(asker: LineAsker) -> bool:
    """Ask whether to use the mode that never asks, and return the answer; only "yes" means yes."""
    await asker.show(NEVER_MEANS)
    confirmed = (await asker.answer(_PROMPT)).strip().lower() == "yes"
    asker.print("The mode is Don't ask from now on." if confirmed else "The mode still asks.")
    return confirmed


def confirmed_at_start(console: Console) -> bool:
    """Ask, before a session starts, whether to use the mode that never asks, and return the answer."""
    return asyncio.run(_ask(console))


async def _ask(console: Console) -> bool:
    asker = LineAsker(console)
    asker.begin()
    console.listen(lambda line: asker.add_line("no" if line is None else line))
    try:
        return await confirm_never(asker)
    finally:
        console.deaf()
        console.ask("")
