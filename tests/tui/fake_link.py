"""A link without a process: recorded events go in, the commands a screen gives are written down."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from workbench.tui.links.link import Incoming


class FakeLink:
    """`bring` puts messages on their way; `commands` are what the screen asked for, in order."""

    def __init__(self, history: Sequence[Any] = ()) -> None:
        self._history = list(history)
        self._messages: asyncio.Queue[Incoming] = asyncio.Queue()
        self.commands: list[tuple[Any, ...]] = []
        self.closed = False

    def history(self) -> Sequence[Any]:
        return self._history

    async def receive(self) -> Sequence[Incoming]:
        first = await self._messages.get()
        rest = [self._messages.get_nowait() for _ in range(self._messages.qsize())]
        return [first, *rest]

    def bring(self, *messages: Any) -> None:
        for message in messages:
            self._messages.put_nowait(message)

    def send(self, text: str, mentions: Sequence[str] = ()) -> None:
        self.commands.append(("send", text, *([tuple(mentions)] if mentions else [])))

    def withdraw(self, message: int) -> None:
        self.commands.append(("withdraw", message))

    def run_command(self, command: str) -> None:
        self.commands.append(("run", command))

    def decide(self, action_id: str, verdict: str, fingerprint: str, note: str = "", **more: Any) -> None:
        self.commands.append(("decide", action_id, verdict, fingerprint, note, *([more] if more else [])))

    def allow_always(self, action_id: str, fingerprint: str, rule: str, scope: str) -> None:
        self.commands.append(("allow_always", action_id, fingerprint, rule, scope))

    def set_rule(self, rule: str | None = None, dropped_rule: str | None = None) -> None:
        self.commands.append(("rule", rule, dropped_rule))

    def answer(self, action_id: str, text: str) -> None:
        self.commands.append(("answer", action_id, text))

    def interrupt(self) -> None:
        self.commands.append(("interrupt",))

    def set_mode(self, mode: str, *, confirmed: bool = False) -> None:
        self.commands.append(("mode", mode, *(["confirmed"] if confirmed else [])))

    def set_model(self, name: str) -> None:
        self.commands.append(("model", name))

    def set_title(self, title: str) -> None:
        self.commands.append(("title", title))

    def compact(self, *, undo: bool = False) -> None:
        self.commands.append(("compact", "undo") if undo else ("compact",))

    def take_back(self, files: Sequence[Any]) -> None:
        self.commands.append(("take_back", *files))

    def restore(self, copy_id: str) -> None:
        self.commands.append(("restore", copy_id))

    def ask_prompt(self, server: str, name: str, arguments: dict[str, str]) -> None:
        self.commands.append(("ask_prompt", server, name, arguments))

    def close(self, *, stop: bool = False) -> None:
        self.closed = True
