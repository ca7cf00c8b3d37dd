"""The draft that a closing screen leaves."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import Script
from workbench.tui.widgets.draft import Draft
from workbench.tui.widgets.prompt import Prompt


class BusyScreen:
    """A screen whose timers fire at once, and that closes before the threads it starts have begun."""

    def set_timer(self, delay: float, callback: Callable[[], None]) -> None:
        callback()

    def run_worker(self, work: Coroutine[Any, Any, Any], group: str) -> None:
        work.close()


async def test_text_is_saved_although_the_screen_closes_before_the_thread_has_written_it(tmp_path: Path):
    app = workbench_app(FakeClient(Script().start().events))
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: app.state.session_id)
        prompt = app.screen.query_one(Prompt)
        draft = Draft(BusyScreen(), app.state, lambda session: tmp_path, None)  # type: ignore[arg-type]
        prompt.load_text("a thought")
        draft.note(prompt)
        draft.flush()
        assert (tmp_path / "draft").read_text() == "a thought"
        (tmp_path / "draft").unlink()
        draft.flush()
        assert not (tmp_path / "draft").exists(), "it is written once"
