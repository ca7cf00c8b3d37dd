"""The trust screen: "yes" counts only if it is pressed after the text has been visible for a while."""

from types import SimpleNamespace

import pytest
from textual import events

from tests.tui.app_driver import type_while_it_stands_still, wait_until, workbench_app
from tests.tui.diff_app import Clock
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import Script
from workbench.config.locations import Locations
from workbench.tools.trust import fingerprint
from workbench.tui.screens.trust import TrustScreen
from workbench.tui.widgets.prompt import Prompt
from workbench.view.approval.trust import TrustQuestion


@pytest.fixture
def question(tmp_path):
    (tmp_path / ".ohw").mkdir()
    rules = tmp_path / ".ohw/rules.toml"
    rules.write_text('[[deny]]\ncommand = "git push *"\n')
    where = Locations.from_environment({"HOME": str(tmp_path / "home")})
    return TrustQuestion(where, tmp_path, (rules,), fingerprint(tmp_path))


async def asked(pilot, question, answers, typed, **more):
    await wait_until(pilot, lambda: pilot.app.state.session_id)
    pilot.app.push_screen(TrustScreen(question, typed.append, **more), answers.append)
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, TrustScreen) and pilot.app.screen.quiet.has_begun)
    # On a busy machine the quiet time may be over by now: the question becomes visible once more.
    pilot.app.screen.quiet.begin()


@pytest.mark.parametrize("keys", [("up", "enter"), ("down", "down", "enter", "left"), ("up", "x", "enter", "enter")])
async def test_keys_typed_during_a_stall_trust_nothing(question, keys):
    answers, typed = [], []
    app = workbench_app(FakeClient(Script().start().events))
    async with app.run_test(size=(100, 30)) as pilot:
        await asked(pilot, question, answers, typed)
        type_while_it_stands_still(app, *keys, "z")
        await wait_until(pilot, lambda: typed[-1:] == ["z"])
        await pilot.pause()
        assert answers == []
        assert typed == [key for key in (*keys, "z") if len(key) == 1]


async def test_keys_of_one_burst_trust_nothing_and_later_ones_do(question):
    answers, typed, clock = [], [], Clock()
    app = workbench_app(FakeClient(Script().start().events))
    async with app.run_test(size=(100, 30)) as pilot:
        await asked(pilot, question, answers, typed, clock=clock)
        await pilot.press("up", "enter")
        assert answers == []
        clock.now += 60
        await pilot.press("enter")
        await wait_until(pilot, lambda: answers == [True])


async def test_enter_answers_no_after_the_quiet_time_only(question):
    answers, typed, clock = [], [], Clock()
    app = workbench_app(FakeClient(Script().start().events))
    async with app.run_test(size=(100, 30)) as pilot:
        await asked(pilot, question, answers, typed, clock=clock)
        await pilot.press("enter", "enter")
        assert answers == []
        assert "Enter (ready in 0.5s)" in hints(app)
        clock.now += 60
        await pilot.press("enter")
        await wait_until(pilot, lambda: answers == [False])


@pytest.mark.parametrize("is_pasted", [False, True])
async def test_enter_after_text_answers_nothing_until_a_row_is_chosen(question, is_pasted):
    answers, typed, clock = [], [], Clock()
    app = workbench_app(FakeClient(Script().start().events))
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id)
        prompt = app.screen.query_one(Prompt)
        to_prompt = SimpleNamespace(append=lambda text: (typed.append(text), prompt.type_in(text)))
        await asked(pilot, question, answers, to_prompt, clock=clock)
        if is_pasted:
            app.post_message(events.Paste("fix the bug"))
        else:
            await pilot.press(*"fix", "space", *"the", "space", *"bug")
        await wait_until(pilot, lambda: "".join(typed) == "fix the bug")
        for _ in range(2):
            await pilot.press("enter")
            assert answers == []
            clock.now += 60
        assert "Your text is in the prompt" in hints(app)
        await pilot.press("down", "up", "enter")
        await wait_until(pilot, lambda: answers == [False])
        assert prompt.text == "fix the bug"
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.session.client.commands == [("send", "fix the bug")])


def hints(app):
    return app.screen.query_one("#keys").render().plain


async def test_click_on_yes_is_accepted_after_the_quiet_time(question, monkeypatch):
    monkeypatch.setattr("workbench.view.approval.quiet_time.QUIET", 3_600.0)
    answers, typed = [], []
    app = workbench_app(FakeClient(Script().start().events))
    async with app.run_test(size=(100, 30)) as pilot:
        await asked(pilot, question, answers, typed)
        await pilot.click("#trust-choices", offset=(8, 2))
        assert answers == []
        monkeypatch.setattr("workbench.view.approval.quiet_time.QUIET", 0.0)
        await pilot.click("#trust-choices", offset=(8, 2))
        await wait_until(pilot, lambda: answers == [True])
