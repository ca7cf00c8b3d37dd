import subprocess

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import Script, working_session
from workbench.client.client import CommandRefused, Disconnected, EngineNotice
from workbench.config.settings import Settings
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.protocol.usage import Usage
from workbench.tui.app import WorkbenchApp
from workbench.tui.screens.approval import ApprovalScreen
from workbench.tui.screens.confirmations import ApproveAllScreen
from workbench.tui.screens.diff_viewer import DiffViewerScreen
from workbench.tui.screens.pager import PagerScreen
from workbench.tui.widgets.activity import Activity
from workbench.tui.widgets.key_hints import KeyHints
from workbench.tui.widgets.message_queue import QueueList
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.side_panels import SidePanels
from workbench.tui.widgets.status_line import StatusLine
from workbench.tui.widgets.timeline import Timeline
from workbench.tui.widgets.welcome import Welcome
from workbench.view.app_session import AppSession
from workbench.view.git_branch import is_dirty


def text_of(app, kind):
    return app.screen_stack[0].query_one(kind).render().plain


def asked() -> Script:
    script = Script().start().user("Clean up.")
    script.ask("execute_bash", command="rm -rf build")
    return script


async def arm(pilot):
    """Wait until the question accepts answers: its first hint names the key."""
    await wait_until(pilot, lambda: pilot.app.screen.quiet.is_armed)


async def test_status_line_shows_directory_mode_model_context_and_cost():
    script = Script().start(model="openai/gpt-5", mode="high").user("Hi.")
    script.answer("Hello.", usage=Usage(input=12_400, output=5))
    app = workbench_app(FakeClient(script.events))
    async with app.run_test(size=(120, 30)) as pilot:
        await wait_until(pilot, lambda: "gpt-5" in text_of(app, StatusLine))
        line = text_of(app, StatusLine)
        assert line.startswith("ohw  ~/code/calc ")
        assert "12k tokens │ gpt-5 │ $0.010 │ Ask (high only)" in line


async def test_context_is_a_percentage_if_the_window_is_known():
    script = Script().start().user("Hi.").answer("Hello.", usage=Usage(input=62_400, output=5, window=200_000))
    client = FakeClient(script.events)
    app = workbench_app(client)
    async with app.run_test(size=(120, 30)) as pilot:
        await wait_until(pilot, lambda: "31% of 200k" in text_of(app, StatusLine))
        client.bring(script.answer("More.", usage=Usage(input=190_000, window=200_000)).events[-1])
        await wait_until(pilot, lambda: "95% of 200k" in text_of(app, StatusLine))
        assert any("$warning" in str(span.style) for span in app.screen.query_one(StatusLine).render().spans)


async def test_changed_tree_has_a_star_at_its_branch(tmp_path):
    git_repository(tmp_path)
    script = Script().start(workspace=str(tmp_path)).user("Go.")
    client = FakeClient(script.events)
    app = workbench_app(client, directory=tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        client.bring(live.EngineState(state="idle"))
        await wait_until(pilot, lambda: "  main  " in text_of(app, StatusLine))
        (tmp_path / "new").write_text("x")
        seen = len(script.events)
        script.run("execute_bash", command="touch new", _exit_code=0)
        client.bring(*script.events[seen:])
        await wait_until(pilot, lambda: "  main*" in text_of(app, StatusLine))
        (tmp_path / "new").unlink()
        seen = len(script.events)
        script.run("execute_bash", command="rm new", _exit_code=0)
        client.bring(*script.events[seen:])
        await wait_until(pilot, lambda: "  main  " in text_of(app, StatusLine))
        assert "main*" not in text_of(app, StatusLine)


@pytest.mark.starts
def test_checking_a_tree_runs_no_program_of_the_repository(tmp_path):
    repository = tmp_path / "here"
    repository.mkdir()
    git_repository(repository, "*.txt filter=own\n")
    program = f"touch {tmp_path}/ran; cat"
    for name, value in {"filter.own.clean": program, "filter.own.required": "true", "core.fsmonitor": program}.items():
        git(repository, "config", name, value)
    (repository / "a.txt").write_text("b\n")
    assert is_dirty(repository)
    assert not is_dirty(tmp_path)
    assert not (tmp_path / "ran").exists()


def git(directory, *words):
    subprocess.run(["git", "-C", str(directory), *words], check=True, capture_output=True)


def git_repository(directory, attributes=""):
    """One commit on the branch `main`, nothing changed since."""
    git(directory, "init", "-q", "-b", "main")
    (directory / "a.txt").write_text("a\n")
    (directory / ".gitattributes").write_text(attributes)
    git(directory, "add", "-A")
    git(directory, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "x")


async def test_unknown_cost_is_never_shown_as_zero():
    script = Script().start(scripted=True).user("Hi.").answer("Hello.", cost=None)
    app = workbench_app(FakeClient(script.events))
    async with app.run_test(size=(120, 30)) as pilot:
        await wait_until(pilot, lambda: "price unknown" in text_of(app, StatusLine))
        assert "scripted model" in text_of(app, StatusLine)


async def test_demo_that_starts_does_not_show_the_model_of_the_settings(tmp_path):
    session = AppSession(FakeClient(), tmp_path, scripted="scripted/demo")
    app = WorkbenchApp(session, Settings(model="openai/mine"))
    async with app.run_test(size=(120, 30)) as pilot:
        await wait_until(pilot, lambda: "scripted model" in text_of(app, StatusLine))
        assert "mine" not in text_of(app, StatusLine)


@pytest.mark.parametrize("size", [(1, 1), (20, 5), (40, 10), (80, 24), (99, 24), (100, 24), (300, 90)])
async def test_prompt_is_visible_and_takes_keys_at_every_size(size):
    client = FakeClient(working_session().events[:38])
    app = workbench_app(client)
    async with app.run_test(size=size) as pilot:
        await wait_until(pilot, lambda: app.state.items)
        for key in ("f2", "f3", "f4", "f6", "f6", "escape"):
            await pilot.press(key)
        await pilot.press("o", "k", "enter")
        await wait_until(pilot, lambda: ("send", "ok") in client.commands)
        assert app.screen.query_one(Prompt).has_focus


async def test_panels_unfold_above_the_prompt_on_a_narrow_screen():
    app = workbench_app(FakeClient(working_session().events[:38]))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: app.state.items)
        timeline = app.screen.query_one("#timeline")
        assert not timeline.display
        await pilot.press("f2")
        await wait_until(pilot, lambda: timeline.has_focus and timeline.size.height > 3)
        await pilot.press("f2")
        await wait_until(pilot, lambda: app.screen.query_one(Prompt).has_focus)
        assert not timeline.display


async def test_click_on_a_tab_unfolds_its_panel():
    app = workbench_app(FakeClient(working_session().events[:38]))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: app.state.items)
        await pilot.click("#tabs", offset=(4, 0))
        await wait_until(pilot, lambda: app.screen.query_one(SidePanels).opened == "timeline")
        assert app.screen.query_one("#timeline").has_focus


async def test_panel_can_take_the_whole_width():
    app = workbench_app(FakeClient(working_session().events[:38]))
    async with app.run_test(size=(120, 30)) as pilot:
        await wait_until(pilot, lambda: app.state.items)
        await pilot.press("f2", "f6")
        await wait_until(pilot, lambda: app.screen.query_one("#timeline").size.width > 110)
        assert not app.screen.query_one("#conversation").is_on_screen
        await pilot.press("f6")
        await wait_until(pilot, lambda: app.screen.query_one("#timeline").size.width < 60)
        assert app.screen.query_one("#conversation").size.width > 50


async def test_hints_name_keys_that_are_active():
    client = FakeClient(Script().start().user("Go.").events)
    app = workbench_app(client, set={"keys": {"mode": "f7"}})
    async with app.run_test(size=(160, 30)) as pilot:
        await wait_until(pilot, lambda: "Enter Queue" in text_of(app, KeyHints))
        assert "F7 Mode" in text_of(app, KeyHints)
        assert "Esc to stop" not in text_of(app, Activity)
        client.bring(live.EngineState(state="thinking"))
        await wait_until(pilot, lambda: "Esc to stop" in text_of(app, Activity))
        await pilot.press("f2")
        await wait_until(pilot, lambda: "Esc Prompt" in text_of(app, KeyHints))
        assert "Enter Open" in text_of(app, KeyHints)
        await pilot.press("f7")
        await wait_until(pilot, lambda: client.commands == [("mode", "edits")])
        assert client.commands == [("mode", "edits")]


@pytest.mark.parametrize("width", [30, 50, 70, 80])
async def test_narrow_hints_keep_escape_and_the_help(width):
    app = workbench_app(FakeClient(Script().start().user("Go.").events))
    async with app.run_test(size=(width, 24)) as pilot:
        await wait_until(pilot, lambda: "F1 Help" in text_of(app, KeyHints))
        await pilot.press("f4")
        await wait_until(pilot, lambda: "Esc Prompt" in text_of(app, KeyHints))
        assert "F1 Help" in text_of(app, KeyHints)


async def test_escape_focuses_the_prompt_first_and_then_stops_the_agent():
    client = FakeClient(Script().start().user("Go.").events)
    app = workbench_app(client)
    async with app.run_test(size=(120, 30)) as pilot:
        client.bring(live.EngineState(state="thinking"))
        await wait_until(pilot, lambda: app.state.work == "thinking")
        await pilot.press("f2", "escape")
        await wait_until(pilot, lambda: app.screen.query_one(Prompt).has_focus)
        assert client.commands == []
        await pilot.press("escape")
        await wait_until(pilot, lambda: client.commands)
        assert client.commands == [("interrupt",)]


async def test_activity_line_shows_what_runs_and_is_empty_otherwise():
    script = Script().start().user("Go.")
    script.begin("execute_bash", command="pytest -q")
    client = FakeClient(script.events)
    app = workbench_app(client)
    async with app.run_test(size=(120, 30)) as pilot:
        client.bring(live.EngineState(state="acting"))
        await wait_until(pilot, lambda: "running $ pytest -q · " in text_of(app, Activity))
        assert app.screen.query_one(Activity)._timer._active.is_set()
        client.bring(live.EngineState(state="idle"))
        await wait_until(pilot, lambda: text_of(app, Activity) == "")
        assert not app.screen.query_one(Activity)._timer._active.is_set()


async def test_queued_messages_are_counted_at_the_prompt():
    script = Script().start().user("Go.").user("And this.").user("And that.")
    app = workbench_app(FakeClient(script.events))
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: len(app.state.queued) == 2)
        queue = app.screen.query_one(QueueList)
        assert await wait_until(pilot, lambda: str(queue.border_title) == "2 queued · sent at the next step")


async def test_message_sent_during_engine_startup_is_counted_until_logged():
    client = FakeClient()
    app = workbench_app(client, message="do it")
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: "1 being sent" in app.screen.query_one(Prompt).border_subtitle)
        client.bring(*Script().start().user("do it").events)
        assert await wait_until(pilot, lambda: app.screen.query_one(Prompt).border_subtitle == "")


async def test_question_opens_automatically_and_its_answer_is_sent():
    client = FakeClient(asked().events)
    app = workbench_app(client)
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: isinstance(app.screen, ApprovalScreen))
        await arm(pilot)
        await pilot.press("y")
        await wait_until(pilot, lambda: client.commands)
        assert client.commands == [("decide", "a1", "approved", "f", "")]
        assert not isinstance(app.screen, ApprovalScreen)


async def test_text_in_the_prompt_prevents_the_question_until_f8():
    client = FakeClient(Script().start().user("Go.").events)
    app = workbench_app(client)
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: app.state.items)
        await pilot.press("y")
        client.bring(*asked().events[2:])
        await wait_until(pilot, lambda: "1 action needs approval · F8" in text_of(app, Activity))
        await pilot.press(*"yyy", "enter")
        await wait_until(pilot, lambda: ("send", "yyyy") in client.commands)
        await wait_until(pilot, lambda: isinstance(app.screen, ApprovalScreen))
        assert client.commands == [("send", "yyyy")]


async def test_postponing_does_not_reject_and_f8_asks_again():
    client = FakeClient(asked().events)
    app = workbench_app(client)
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: isinstance(app.screen, ApprovalScreen))
        await pilot.press("escape")
        await wait_until(pilot, lambda: not isinstance(app.screen, ApprovalScreen))
        await pilot.press("escape")
        assert client.commands == []
        await pilot.press("f8")
        await wait_until(pilot, lambda: isinstance(app.screen, ApprovalScreen))
        assert client.commands == []


async def test_refused_answer_is_asked_for_again():
    client = FakeClient(asked().events)
    app = workbench_app(client)
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: isinstance(app.screen, ApprovalScreen))
        await arm(pilot)
        await pilot.press("y")
        await wait_until(pilot, lambda: client.commands)
        client.bring(CommandRefused("the file differs from what was shown"))
        await wait_until(pilot, lambda: isinstance(app.screen, ApprovalScreen))
        assert len(client.commands) == 1


async def test_question_answered_elsewhere_closes():
    script = asked()
    client = FakeClient(script.events)
    app = workbench_app(client)
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: isinstance(app.screen, ApprovalScreen))
        client.bring(script.add(ev.ActionDecided, action_id="a1", verdict="rejected", by="person"))
        await wait_until(pilot, lambda: not isinstance(app.screen, ApprovalScreen))
        assert client.commands == []


async def test_approved_action_that_is_asked_again_unchanged_opens_again():
    script = asked()
    script.ask("execute_bash", command="rm -rf dist")
    client = FakeClient(script.events)
    app = workbench_app(client)
    async with app.run_test() as pilot:
        for name in ("a1", "a2"):
            await wait_until(
                pilot,
                lambda name=name: isinstance(app.screen, ApprovalScreen) and app.screen.item is app.state.actions[name],
            )
            await arm(pilot)
            await pilot.press("y")
            await wait_until(pilot, lambda name=name: client.commands[-1:] == [("decide", name, "approved", "f", "")])
        approved = script.add(ev.ActionDecided, action_id="a2", verdict="approved", by="person", fingerprint="f")
        again = script.add(ev.ActionAssessed, action_id="a2", risk="HIGH", reasons=("refused before",), fingerprint="f")
        client.bring(approved, again)
        await wait_until(pilot, lambda: isinstance(app.screen, ApprovalScreen))
        assert isinstance(app.screen, ApprovalScreen)
        assert app.screen.item.reasons == ("refused before",)


async def test_approve_all_skips_questions_that_changed_meanwhile():
    script = asked()
    script.ask("execute_bash", command="rm -rf dist")
    client = FakeClient(script.events)
    app = workbench_app(client)
    async with app.run_test(size=(100, 40)) as pilot:
        await wait_until(pilot, lambda: isinstance(app.screen, ApprovalScreen))
        await arm(pilot)
        await pilot.press("Y")
        await wait_until(pilot, lambda: isinstance(app.screen, ApproveAllScreen))
        client.bring(script.add(ev.ActionAssessed, action_id="a2", risk="HIGH", reasons=("again",), fingerprint="f"))
        await wait_until(pilot, lambda: app.state.actions["a2"].reasons == ("again",))
        await arm(pilot)
        await pilot.press("Y")
        await wait_until(pilot, lambda: client.commands)
        await wait_until(pilot, lambda: isinstance(app.screen, ApprovalScreen))
        assert isinstance(app.screen, ApprovalScreen)
        assert app.screen.item is app.state.actions["a2"]
        assert client.commands == [("decide", "a1", "approved", "f", "")]


async def test_question_withdrawn_until_its_turn_closes_and_opens_again():
    script = asked()
    client = FakeClient(script.events)
    app = workbench_app(client)
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: isinstance(app.screen, ApprovalScreen))
        client.bring(script.add(ev.ActionAssessed, action_id="a1", risk="HIGH", needs_decision=False))
        await wait_until(pilot, lambda: not isinstance(app.screen, ApprovalScreen))
        assert (app.state.waiting, app.state.actions["a1"].phase) == ([], "proposed")
        client.bring(script.add(ev.ActionAssessed, action_id="a1", risk="HIGH", fingerprint="f"))
        await wait_until(pilot, lambda: isinstance(app.screen, ApprovalScreen))
        assert client.commands == []


async def test_enter_on_card_or_row_opens_the_output_and_f5_the_diff():
    app = workbench_app(FakeClient(working_session().events[:34]))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.items)
        await pilot.press("f2", "enter")
        await wait_until(pilot, lambda: isinstance(app.screen, PagerScreen))
        await pilot.press("escape", "f5")
        await wait_until(pilot, lambda: isinstance(app.screen, DiffViewerScreen))
        assert len(app.screen_stack) == 2


async def test_file_in_the_changes_list_opens_in_the_diff_viewer():
    app = workbench_app(FakeClient(working_session().events[:34]))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.changes)
        await pilot.press("f4", "enter")
        await wait_until(pilot, lambda: isinstance(app.screen, DiffViewerScreen))
        assert len(app.screen_stack) == 2


async def test_screen_without_a_model_says_how_to_set_one_and_keeps_the_text():
    app = workbench_app(None, set={"model": None}, message="do it")
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: "No model configured" in text_of(app, Welcome))
        assert "--model" in text_of(app, Welcome)
        assert "F9" in text_of(app, Welcome)
        assert text_of(app, Activity) == ""  # no session is being started
        await pilot.press("shift+tab")
        await wait_until(pilot, lambda: "/demo" in str([note.message for note in app._notifications]))
        app.clear_notifications()
        await pilot.press("enter")
        await wait_until(pilot, lambda: app._notifications)
        assert app.screen.query_one(Prompt).text == "do it"


async def test_engine_that_cannot_start_is_one_line_and_the_message_returns():
    client = FakeClient()
    app = workbench_app(client, message="do it")
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: client.commands == [("send", "do it")])
        client.bring(Disconnected("the model's name is wrong; give another with --model", for_good=True))
        await wait_until(pilot, lambda: text_of(app, Activity) == "✗ the session cannot continue")
        assert [item.text for item in app.state.items] == ["the model's name is wrong; give another with --model"]
        assert app.screen.query_one(Prompt).text == "do it"
        assert "Enter Run command" in text_of(app, KeyHints)


async def test_message_to_an_engine_that_stopped_is_sent_and_not_queued():
    client = FakeClient(Script().start().user("Go.").events)
    app = workbench_app(client)
    async with app.run_test(size=(120, 30)) as pilot:
        client.bring(live.EngineState(state="thinking"))
        await wait_until(pilot, lambda: "Enter Queue" in text_of(app, KeyHints))
        client.bring(Disconnected("The agent process stopped. Your next answer or message restarts it"))
        await wait_until(pilot, lambda: "Enter Send" in text_of(app, KeyHints))
        assert text_of(app, Activity) == "✗ no connection to the agent"
        assert app.screen.query_one(Timeline).count == 1


async def test_queued_messages_of_an_engine_that_stopped_wait_until_it_continues():
    script = Script().start().user("Go.").answer("I look.").user("And the README.")
    client = FakeClient(script.events)
    app = workbench_app(client)
    async with app.run_test(size=(120, 30)) as pilot:
        queue = app.screen.query_one(QueueList)
        await wait_until(pilot, lambda: queue.border_title == "1 queued · sent at the next step")
        client.bring(Disconnected("The agent process stopped. Your next answer or message restarts it"))
        await wait_until(pilot, lambda: "next step" not in str(queue.border_title))
        assert queue.border_title == "1 queued · sent when the agent continues"


async def test_unsaved_session_takes_no_seconds_of_the_command_that_runs():
    script = Script().start().user("Go.")
    script.begin("execute_bash", command="make")
    client = FakeClient(script.events)
    app = workbench_app(client)
    async with app.run_test(size=(120, 30)) as pilot:
        client.bring(live.EngineState(state="acting", detail="not saved: no space left on device"))
        await wait_until(pilot, lambda: "not saved" in text_of(app, Activity))
        assert text_of(app, Activity).split("  ")[0] == "✗ not saved: no space left on device"


async def test_read_only_prompt_says_how_to_take_control():
    client = FakeClient(Script().start().user("Go.").events)
    app = workbench_app(client)
    async with app.run_test(size=(120, 30)) as pilot:
        client.bring(live.EngineState(state="thinking"), live.ControlState(has_control=False, others=1))
        prompt = app.screen.query_one(Prompt)
        await wait_until(pilot, lambda: "/pen takes control" in str(prompt.placeholder))
        assert "Enter Run command" in text_of(app, KeyHints)
        client.bring(live.ControlState(has_control=True, others=1))
        await wait_until(pilot, lambda: "Ask anything" in str(prompt.placeholder))


async def test_text_from_the_engine_never_crashes_the_screen_or_becomes_markup():
    nasty = "[/foo] [b]x[/b] \x1b]52;c;AAAA\x07 \u202e\u200b \U000e0041 [@click=app.quit]x[/]"
    script = Script().start(workspace=f"/tmp/{nasty}", model=nasty).user(nasty).answer(nasty, reasoning=nasty)
    script.run("execute_bash", nasty, command=nasty)
    client = FakeClient(script.events)
    app = workbench_app(client, set={"model": nasty})
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.items)
        client.bring(live.EngineState(state="acting", detail=nasty), CommandRefused(nasty), Disconnected(nasty))
        await wait_until(pilot, lambda: app.state.work == "lost")
        lines = "".join(segment.text for line in app.screen._compositor.render_strips() for segment in line)
        assert not set("\x1b\x07\u202e\u200b\U000e0041") & set(lines)
        assert "[/foo]" in lines


async def test_notice_from_the_engine_returns_no_message():
    client = FakeClient()
    app = workbench_app(client, message="do it")
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: client.commands == [("send", "do it")])
        client.bring(EngineNotice("a rule names no tool"))
        await wait_until(pilot, lambda: app.state.items)
        assert app.screen.query_one(Prompt).text == ""
        client.bring(CommandRefused("another screen is in charge"))
        await wait_until(pilot, lambda: app.screen.query_one(Prompt).text == "do it")
