"""The Sessions screen on real session files: list, filter, search, open, title, export, delete."""

from datetime import timedelta

import pytest

from tests.tui.app_driver import armed, type_while_it_stands_still, wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import START, Script
from tests.tui.session_files import answer, ended, keep, touched
from workbench.config.locations import Locations
from workbench.protocol import events as ev
from workbench.session.storage.lock import SessionLock
from workbench.session.storage.session_list import find_session
from workbench.tui.screens.sessions import SessionsScreen
from workbench.view.app_session import AppSession

HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _own_directories(tmp_path, monkeypatch):
    for name in ("CONFIG_HOME", "DATA_HOME", "STATE_HOME"):
        monkeypatch.setenv(f"XDG_{name}", str(tmp_path / name))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


def text_on(app) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


def three() -> None:
    keep("s1", "mend the parser", answer("the sign is lost", 0.04), ended(), at=START)
    keep("s2", "write a README", answer("done", None), at=START - timedelta(days=2), workspace="/home/ada/notes")
    damaged = keep("s3", "x", at=START - timedelta(days=3))
    damaged.write_bytes(b"torn" * 2_000)
    touched(damaged, START - timedelta(days=3))
    keep("s4", "look at tests", parent="s1", at=START - timedelta(days=4))


async def on_screen(pilot, *words: str) -> bool:
    return await wait_until(pilot, lambda: all(word in text_on(pilot.app) for word in words))


def app_on(current: str = "s1", **more):
    client = FakeClient(Script().start(id=current).user("mend the parser").events)
    return client, workbench_app(client, **more)


async def session(pilot, search: str = "") -> None:
    app = pilot.app
    await wait_until(pilot, lambda: app.state.session_id)
    app.action_sessions(search)
    await wait_until(pilot, lambda: isinstance(app.screen, SessionsScreen))


async def test_all_sessions_are_listed_except_of_sub_agents_and_damaged_ones_marked():
    three()
    _, app = app_on()
    async with app.run_test(size=(120, 30)) as pilot:
        await session(pilot)
        await on_screen(pilot, "Sessions · 3 · 1 damaged", "● mend the parser", "unknown", "notes", "Damaged")
        assert "look at tests" not in text_on(app)
        await pilot.press("down", "down", "enter")
        await on_screen(pilot, "Cannot be opened")
        await pilot.press("x")
        await on_screen(pilot, "can only be deleted")


async def test_letters_filter_and_enter_opens_in_the_same_window():
    three()
    asked = []
    other = FakeClient(Script().start(id="s2").user("write a README").events)

    def resume(name):
        asked.append(name)
        return AppSession(other, app.session.workspace)

    client, app = app_on(resume=resume)
    async with app.run_test(size=(100, 30)) as pilot:
        await session(pilot)
        await on_screen(pilot, "write a README")
        await pilot.press("slash", *"wreadme")
        await wait_until(pilot, lambda: "mend the parser" not in text_on(app).split("Sessions", 1)[1])
        await pilot.press("enter", "enter")
        await wait_until(pilot, lambda: app.state.session_id == "s2")
        assert asked == ["s2"]
        assert client.closed


@pytest.mark.parametrize("way", ["/new", "/clear", "sessions"])
async def test_new_session_replaces_the_current_one_which_continues(way):
    asked = []
    other = FakeClient(Script().start(id="s2").user("the other").events)

    def new(state):
        asked.append(state.session_id)
        return AppSession(other, app.session.workspace)

    client, app = app_on(new=new)
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id)
        if way == "sessions":
            await session(pilot)
            await pilot.press("n")
        else:
            await pilot.press(*way, "enter")
        await wait_until(pilot, lambda: app.state.session_id == "s2")
        assert asked == ["s1"]
        assert (client.closed, client.commands) == (True, [])


async def test_empty_session_is_not_replaced_by_a_new_one():
    client = FakeClient()
    app = workbench_app(client, new=lambda state: AppSession(FakeClient(), app.session.workspace))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press(*"/new", "enter")
        await wait_until(pilot, lambda: app._notifications)
        assert app.session.client is client
        assert not client.closed


async def test_words_are_searched_in_all_sessions_and_escape_goes_back_stepwise():
    three()
    _, app = app_on()
    async with app.run_test(size=(100, 30)) as pilot:
        await session(pilot, "sign")
        await on_screen(pilot, "1 found", "the sign is lost")
        assert "write a README" not in text_on(app)
        await pilot.press("enter", "s")
        assert await wait_until(pilot, lambda: app.screen.query_one("Input").value == "sign")
        await pilot.press(*" xyz")
        await on_screen(pilot, "No match")
        await pilot.press("escape")
        await on_screen(pilot, "Sessions · 3", "write a README")
        await pilot.press("escape")
        await wait_until(pilot, lambda: not isinstance(app.screen, SessionsScreen))


async def test_title_is_written_to_the_file_or_by_the_engine_of_the_open_session():
    three()
    client, app = app_on()
    async with app.run_test(size=(100, 30)) as pilot:
        await session(pilot)
        await on_screen(pilot, "write a README")
        await pilot.press("r", *" again", "enter")
        await on_screen(pilot, "Saved", "mend the parser again")
        assert client.commands == [("title", "mend the parser again")]
        await pilot.press("down", "r", *"!", "enter")
        await on_screen(pilot, "write a README!")
        assert find_session(Locations.from_environment(), "s2").title == "write a README!"


async def test_deleting_asks_and_refuses_open_sessions(monkeypatch):
    monkeypatch.setattr("workbench.view.approval.quiet_time.QUIET", 3_600.0)
    three()
    path = keep("s5", "somebody works here", at=START - timedelta(hours=1))
    lock = SessionLock.acquire(path)
    _, app = app_on()
    async with app.run_test(size=(100, 30)) as pilot:
        await session(pilot)
        await on_screen(pilot, "write a README", "running")
        await pilot.press("d")
        await on_screen(pilot, "This session is open")
        await pilot.press("down", "d")
        await on_screen(pilot, "Another process is working in this session")
        await pilot.press("down", "d")
        await on_screen(pilot, 'Delete "write a README" permanently?')
        await pilot.press("d")  # too quick: it may have been typed ahead
        assert len(list(path.parent.glob("*.session"))) == 5
        monkeypatch.setattr("workbench.view.approval.quiet_time.QUIET", 0.0)
        await pilot.press("d")
        await on_screen(pilot, "Sessions · 3", "Deleted")
        left = sorted(each.name for each in path.parent.glob("*.session"))
        assert left == ["s1.session", "s3.session", "s4.session", "s5.session"]
    lock.release()


async def test_keys_typed_during_a_stall_delete_nothing():
    three()
    _, app = app_on()
    async with app.run_test(size=(100, 30)) as pilot:
        await session(pilot)
        await on_screen(pilot, "write a README")
        await pilot.press("down", "d")
        await on_screen(pilot, "permanently? Press d again.")
        type_while_it_stands_still(app, "d", "d", "z")
        await on_screen(pilot, "permanently? Press d again.")
        await pilot.pause(0.1)
        assert len(app.screen._shelf.rows("")) == 3
        await armed(pilot)
        await pilot.press("d")
        await on_screen(pilot, "Deleted")


async def test_waiting_session_is_labeled_and_equal_titles_are_distinguished():
    proposed = ev.ActionProposed(action_id="a1", response_id="r", call_id="a1", tool="execute_bash")
    asked = ev.ActionAssessed(action_id="a1", risk="HIGH")
    keep("20260301-mend-the-parser-1111", "mend the parser", answer("so"), proposed, asked, at=START)
    inner = ev.ActionDecided(action_id="a1", verdict="approved", by="person")
    keep("20260301-mend-the-parser-2222", "mend the parser", answer("so"), proposed, asked, inner, at=START - HOUR)
    keep("20260301-other-3333", "other", at=START - 2 * HOUR)
    _, app = app_on("none")
    async with app.run_test(size=(120, 30)) as pilot:
        await session(pilot)
        await on_screen(pilot, "Sessions · 3")
        rows = [line for line in text_on(app).splitlines() if "action" in line]
        assert "mend the parser · 1111" in rows[0]
        assert "1 action " in rows[0]
        assert "needs you" in rows[0]
        assert "mend the parser · 2222" in rows[1]
        assert "idle" in rows[1]
        assert "0 actions" in rows[2]
        assert "3333" not in rows[2]
        await on_screen(pilot, "20260301-mend-the-parser-1111 · started 2026-03-01 12:00")
        await pilot.press("down", "down")
        await on_screen(pilot, "20260301-other-3333 · started 2026-03-01 10:00")
        await pilot.press("up", "r", *"!", "enter")
        await on_screen(pilot, "Saved", "mend the parser!")
        assert "· 1111" not in text_on(app)
        await pilot.press("up", "down")
        await on_screen(pilot, "first message: mend the parser")


async def test_session_is_exported_in_the_format_of_the_file_suffix(tmp_path):
    three()
    _, app = app_on()
    file = tmp_path / "out.html"
    async with app.run_test(size=(100, 30)) as pilot:
        await session(pilot)
        await on_screen(pilot, "write a README")
        await pilot.press("x")
        app.screen.query_one("Input").value = str(file)
        await pilot.press("enter")
        await on_screen(pilot, "Exported to")
        assert "mend the parser" in file.read_text()
        await pilot.press("x")
        app.screen.query_one("Input").value = str(tmp_path / "out.pdf")
        await pilot.press("enter")
        await on_screen(pilot, "no format has the extension .pdf")
        assert not (tmp_path / "out.pdf").exists()
        await pilot.press("x")
        app.screen.query_one("Input").value = str(tmp_path / "no" / "out.md")
        await pilot.press("enter")
        await on_screen(pilot, "cannot write")


async def test_title_never_becomes_markup_or_reaches_the_terminal_raw():
    evil = "[b]x[/b] \x1b[31m \u202e[@click=app.quit]go[/]"
    keep("s1", evil, answer(evil))
    _, app = app_on("other")
    async with app.run_test(size=(120, 30)) as pilot:
        await session(pilot, "click")
        await on_screen(pilot, "found", "[@click=app.quit]go[/]")
        assert "\x1b" not in text_on(app)
        assert "\u202e" not in text_on(app)
        await pilot.press("enter", "d")
        await on_screen(pilot, 'Delete "[b]x[/b] \\e[31m')


async def test_keys_respond_while_very_many_sessions_are_read(monkeypatch):
    three()
    entry = find_session(Locations.from_environment(), "s2")
    _, app = app_on()
    monkeypatch.setattr(
        "workbench.view.sessions.newest_first", lambda _: (entry_named(entry, n) for n in range(10_000))
    )
    async with app.run_test(size=(100, 30)) as pilot:
        await session(pilot)
        await on_screen(pilot, "session 0 of many")
        await pilot.press("slash", *"session 9876")
        await on_screen(pilot, "session 9876 of many")
        assert await on_screen(pilot, "Sessions · 10,000")


def entry_named(entry, number):
    return type(entry)(**{**vars(entry), "id": f"n{number}", "title": f"session {number} of many"})


@pytest.mark.parametrize("width", [60, 80, 100, 120])
async def test_narrow_screens_omit_neither_the_help_nor_the_key_that_closes(width):
    three()
    _, app = app_on()
    async with app.run_test(size=(width, 24)) as pilot:
        await session(pilot)
        await on_screen(pilot, "Enter Open", "Esc Close")
        assert ("d Delete" in text_on(app)) != ("F1 Help" in text_on(app))


async def test_the_hints_follow_the_focus_and_the_cursor_stays_visible():
    three()
    _, app = app_on()
    async with app.run_test(size=(120, 30)) as pilot:
        await session(pilot)
        await on_screen(pilot, "d Delete   Esc Close")
        await pilot.press("s", *"sign")
        await on_screen(pilot, "1 found", "Enter Go to the list   Esc Cancel", "›● mend the parser")
        assert "d Delete" not in text_on(app)
        await pilot.press("enter")
        await on_screen(pilot, "d Delete   Esc Clear")
        await pilot.press("escape")
        await on_screen(pilot, "d Delete   Esc Close")
        await pilot.press("x")
        await on_screen(pilot, "Enter Write the file   Esc Cancel")
