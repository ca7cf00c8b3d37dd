import asyncio
import re
import signal
import subprocess
import sys
import threading

import pytest
from rich.segment import Segment
from textual.color import Color
from textual.widgets import Markdown

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import text_on
from tests.tui.sample_session import Script
from workbench.client.client import Disconnected
from workbench.client.deferred_client import DeferredClient
from workbench.errors import WorkbenchError
from workbench.tui.screens.help import topics
from workbench.tui.screens.pager import PagerScreen
from workbench.tui.terminal.filters import ControlFilter
from workbench.view.app_session import AppSession
from workbench.view.git_branch import current_branch


@pytest.mark.starts
def test_importing_the_app_imports_nothing_heavy():
    heavy = ("litellm", "openai", "mcp", "playwright", "pydantic")
    code = f"import sys, workbench.tui.app; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_no_control_or_invisible_character_passes_the_filter():
    hidden = [*range(0x20), *range(0x7F, 0xA0), 0xAD, 0x61C, 0x200B, 0x200E, 0x202E, 0x2028, 0x2066, 0xFEFF, 0xE0041]
    text = "a" + "".join(map(chr, hidden)) + "b"
    assert ControlFilter().apply([Segment(text)], Color.parse("black")) == [Segment("ab")]


def test_visible_text_passes_the_filter_unchanged():
    segments = [Segment("naïve ✓ 日本 👨‍👩‍👧 e\u0301 ±")]
    assert ControlFilter().apply(segments, Color.parse("black")) is segments


async def test_unknown_key_names_are_reported():
    app = workbench_app(FakeClient(), set={"keys": {"nosuch": "f7", "mode": "f7"}})
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: app._notifications)
        messages = [notice.message for notice in app._notifications]
        assert len(messages) == 1
        assert "nosuch" in messages[0]


async def test_second_ctrl_c_quits_and_the_first_does_not():
    now = [0.0]
    app = workbench_app(FakeClient(), clock=lambda: now[0])
    async with app.run_test() as pilot:
        await pilot.press("ctrl+c")
        now[0] = 60.0
        await pilot.press("ctrl+c")
        assert app.is_running
        assert app.return_value is None
        now[0] = 60.5
        await pilot.press("ctrl+c")
    assert app.return_code == 0


async def test_f9_starts_the_demo_from_the_welcome_text(tmp_path):
    client = FakeClient()
    app = workbench_app(None, set={"model": None}, demo=lambda: AppSession(client, tmp_path, "find the fault"))
    async with app.run_test() as pilot:
        await pilot.press("f9")
        await wait_until(pilot, lambda: client.commands)
        assert client.commands == [("send", "find the fault")]


async def test_help_says_what_f9_does_without_a_session():
    app = workbench_app(None, set={"model": None})
    async with app.run_test(size=(120, 60)) as pilot:
        await pilot.press("f1")
        await wait_until(pilot, lambda: app.screen.id == "help-screen")
        await wait_until(pilot, lambda: re.search(r"F9 +Start the demo", text_on(app)))
        assert "Look back in time" not in text_on(app)


async def test_help_lists_the_keys_of_the_focus_and_the_guides():
    app = workbench_app(FakeClient())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f1")
        await wait_until(pilot, lambda: app.screen.id == "help-screen")
        source = lambda: app.screen.query_one(Markdown).source
        await wait_until(pilot, lambda: re.search(r"In the prompt\s.*Enter +Send", text_on(app), re.DOTALL))
        first, second, *_ = (f"# {topic}" for topic in topics().values())
        for heading in (first, second):  # tests/tui/test_help.py opens them all
            await pilot.press("down")
            await wait_until(pilot, lambda heading=heading: source().startswith(heading))
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.screen.id != "help-screen")
        assert len(app.screen_stack) == 1


async def test_deferred_client_delivers_queued_commands_in_order():
    may_go = threading.Event()
    real = FakeClient(Script().start().events)

    def make():
        assert may_go.wait(10)
        return real

    app = workbench_app(DeferredClient(make))
    async with app.run_test() as pilot:
        await pilot.press("a", "enter", "b", "enter", "shift+tab")
        assert real.commands == []
        may_go.set()
        await wait_until(pilot, lambda: len(real.commands) == 3 and app.state.session_id)
        assert real.commands == [("send", "a"), ("send", "b"), ("mode", "edits")]


async def test_deferred_client_that_cannot_be_created_reports_the_reason():
    def make():
        raise WorkbenchError("the session file is damaged")

    client = DeferredClient(make)
    assert await asyncio.to_thread(lambda: list(client.history())) == []
    assert await client.receive() == [Disconnected("the session file is damaged", for_good=True)]


def test_deferred_client_closed_early_closes_the_real_one():
    real = FakeClient()
    client = DeferredClient(lambda: real)
    client.close()
    list(client.history())
    assert real.closed


@pytest.mark.parametrize(
    ("head", "branch"),
    [
        ("ref: refs/heads/feature/x\n", "feature/x"),
        ("0123456789abcdef\n", "0123456"),
        ("ref: refs/heads/a\x1b", "a\\e"),
    ],
)
def test_branch_is_read_without_git(tmp_path, head, branch):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(head)
    (tmp_path / "deep" / "er").mkdir(parents=True)
    assert current_branch(tmp_path / "deep" / "er") == branch


def test_worktree_has_its_own_branch_and_no_repository_has_none(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "HEAD").write_text("ref: refs/heads/other\n")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".git").write_text("gitdir: ../real\n")
    assert current_branch(tmp_path / "tree") == "other"
    assert current_branch(tmp_path / "real") == ""


SCREEN = """
import sys
from pathlib import Path
from tests.tui.fake_client import FakeClient
from workbench.config.settings import Settings
from workbench.tui.app import WorkbenchApp
from workbench.view.app_session import AppSession
app = WorkbenchApp(AppSession(FakeClient(), Path("/")), Settings(model="scripted/demo"))
app.call_later(lambda: app.call_after_refresh(lambda: app.set_timer(0.01, lambda: None)))
code = app.run()
sys.exit(code if code is not None else app.return_code)
"""


@pytest.mark.parametrize(
    ("signals", "code"),
    [
        ([signal.SIGTERM], 143),
        ([signal.SIGHUP], 129),
        ([signal.SIGQUIT], 131),
        ([signal.SIGINT, signal.SIGINT], 130),
    ],
)
@pytest.mark.starts
def test_signals_restore_the_terminal_and_set_the_exit_code(signals, code):
    import termios

    import pexpect

    child = pexpect.spawn(sys.executable, ["-c", SCREEN], dimensions=(24, 80), timeout=30)
    try:
        before = termios.tcgetattr(child.child_fd)
        child.expect_exact("Ask anything")
        child.kill(signals[0])
        if len(signals) > 1:
            child.expect_exact("again")
            child.kill(signals[1])
        child.expect(pexpect.EOF)
        assert b"\x1b[?1049l" in child.before
        assert b"\x1b[?25h" in child.before
        assert b"Traceback" not in child.before
        child.close()
        assert child.exitstatus == code
        del before
    finally:
        child.close(force=True)


PROBLEMS = ("/s.toml:2: there is no setting 'modee'", "/s.toml:3: max_steps [/must]")


async def test_settings_problems_are_one_short_notice_and_a_page_on_a_key():
    app = workbench_app(FakeClient(), set={"problems": PROBLEMS})
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_until(pilot, lambda: app._notifications)
        (notice,) = app._notifications
        assert notice.message == "2 problems in settings and themes   F10 Details"
        await pilot.press("f10")
        await wait_until(pilot, lambda: isinstance(app.screen, PagerScreen) and "there is no setting" in text_on(app))
        assert "line    3  max_steps [/must]" in text_on(app)
