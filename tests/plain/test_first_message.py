"""The first messages are sent once the history was read, so that each is recognized when it comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import Script
from workbench.agent.custom_commands import CustomCommands
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.plain.line_input import Console
from workbench.plain.session import PlainSession
from workbench.protocol.events import FileDelta, RunEnded, VersionTaken
from workbench.protocol.live import EngineState
from workbench.view.prompt.completion import ServerOffers
from workbench.view.state import SessionState


class Engine(FakeClient):
    """An engine that also notes when its history is read."""

    def history(self) -> Sequence[Any]:
        self.commands.append(("history",))
        return super().history()


class Page(Console):
    """A console without a terminal."""

    def __init__(self) -> None:
        super().__init__(is_ascii=False)
        self.lines: list[str] = []
        self.prompt = ""
        self.type: Callable[[str | None], None] = lambda line: None

    def listen(self, taken: Callable[[str | None], None]) -> None:
        self.type = taken

    def print(self, *lines: str) -> None:
        self.lines += lines

    def ask(self, prompt: str) -> None:
        self.prompt = prompt


async def _until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not is_so():
            await asyncio.sleep(0.01)


def plain_session(engine: Engine, page: Page, directory: Path) -> PlainSession:
    return PlainSession(
        engine,
        SessionState(),
        directory,
        page,
        offers=ServerOffers(Settings, directory),
        custom=CustomCommands(Settings, directory, Locations.from_environment()),
        model_of=str,
        mentions_of=lambda text: None,
        hooks_page=str,
        path=directory / "session.db",
    )


async def test_end_of_a_run_is_printed_once_though_a_snapshot_comes_later(tmp_path: Path):
    script = Script().start().user("one").answer()
    action = script.run("execute_bash", command="touch made; sleep 60")
    engine, page = Engine(list(script.events)), Page()
    running = asyncio.create_task(plain_session(engine, page, tmp_path).run(""))
    await _until(lambda: page.lines != [])
    made = FileDelta(path="made", before=None, after="")
    engine.bring(EngineState(state="idle"), script.add(RunEnded, reason="interrupted"))
    engine.bring(script.add(VersionTaken, version="v", action_id=action, files=(made,), notice="it was slow"))
    await _until(lambda: "It was slow." in page.lines)
    assert page.lines.count("Stopped by you.") == 1
    page.type(None)
    assert await running == 0


async def test_messages_before_the_history_was_read_come_back_once(tmp_path: Path):
    script = Script().start()
    engine, page = Engine(list(script.events)), Page()
    session = plain_session(engine, page, tmp_path)
    running = asyncio.create_task(session.run("one"))
    await _until(lambda: page.lines == ["You: one"])
    page.type("two")
    await _until(lambda: len(engine.commands) == 3)
    assert engine.commands == [("history",), ("send", "one"), ("send", "two")]
    assert page.prompt == ""
    script.user("one").user("two").add(RunEnded, reason="finished")
    engine.bring(EngineState(state="idle"), *script.events[1:])
    await _until(lambda: page.prompt == "> ")
    assert [line for line in page.lines if line.startswith("You:")] == ["You: one"]
    page.type(None)
    assert await running == 0
