"""The Rules screen: what each rule matches, a trial before saving, and deleting."""

from pathlib import Path

import pytest

from tests.tui.app_driver import armed, type_while_it_stands_still, wait_until, workbench_app
from tests.tui.decision_files import keep_all_kinds
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import Script
from workbench.protocol import events as ev
from workbench.rules.rule_files import read_rules
from workbench.tui.screens.rules import RulesScreen


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = tmp_path / "ohw/rules.toml"
    path.parent.mkdir()
    path.write_text('[[deny]]\ncommand = "git push *"\n')
    return path


def session() -> FakeClient:
    script = Script().start()
    script.add(ev.UserMessage, text="go")
    for number, command in enumerate(("pytest -q", "make", "pytest -q"), 1):
        name = f"a{number}"
        arguments = {"command": command}
        script.add(
            ev.ActionProposed, action_id=name, response_id="r", call_id=name, tool="execute_bash", arguments=arguments
        )
    script.add(ev.SettingsChanged, rule="allow $ pytest -q")
    return FakeClient(script.events)


def text_on(app) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


async def opened(pilot) -> None:
    app = pilot.app
    await wait_until(pilot, lambda: app.state.rules)
    app.action_page("rules")
    await wait_until(pilot, lambda: isinstance(app.screen, RulesScreen) and "fits" in text_on(app))


async def type_in(pilot, text: str) -> None:
    pilot.app.screen.query_one("#rules-new").focus()
    pilot.app.screen.query_one("#rules-new").value = text
    await pilot.press("enter")


async def test_each_rule_shows_its_origin_and_its_matches(file):
    app = workbench_app(session())
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        text = text_on(app)
        assert "deny $ git push *" in text
        assert "no action" in text
        assert "your rules" in text
        await pilot.press("down")
        await wait_until(pilot, lambda: "allow $ pytest -q fits 2 actions" in text_on(app))
        assert "#3" in text_on(app)


async def test_rule_is_tried_on_the_log_before_it_is_saved(file):
    client = session()
    app = workbench_app(client)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await type_in(pilot, "deny $ make *")
        await wait_until(pilot, lambda: "deny $ make * would have decided 1 action" in text_on(app))
        assert len(read_rules(file, "person").rules) == 1, "nothing is saved by trying"
        await pilot.press("escape")
        await wait_until(pilot, lambda: not app.screen.query_one("#rules-scopes").display)
        await type_in(pilot, "deny $ make *")
        await wait_until(pilot, lambda: app.screen.query_one("#rules-scopes").display)
        await armed(pilot)
        await pilot.press("down", "down", "enter")
        await wait_until(pilot, lambda: len(read_rules(file, "person").rules) == 2)
        await wait_until(pilot, lambda: "1 action " in text_on(app))
    assert not [said for said in client.commands if said[0] == "rule"]


async def test_rule_is_tried_on_all_sessions_too_until_the_trial_ends(file, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    keep_all_kinds()
    app = workbench_app(session())
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        dry_run = app.screen.query_one("#rules-dry-run")
        assert not dry_run.display
        await type_in(pilot, "deny $ pytest *")
        await wait_until(pilot, lambda: "(2 sessions, 15 decisions): 2 would be denied (2 ran then)" in text_on(app))
        await wait_until(pilot, lambda: app.screen.query_one("#rules-scopes").has_focus)
        await pilot.press("escape")
        await wait_until(pilot, lambda: not dry_run.display)
        await type_in(pilot, "allow $ make check")
        await wait_until(pilot, lambda: "(2 sessions, 15 decisions): 1 would run" in text_on(app))
        assert "would be denied" not in text_on(app)


async def test_rule_that_allows_too_much_is_refused_with_the_reason(file):
    app = workbench_app(session())
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await type_in(pilot, "allow $ *")
        await wait_until(pilot, lambda: "any program" in text_on(app))
        assert not app.screen.query_one("#rules-scopes").display


async def test_deleting_a_rule_needs_a_second_press(file):
    client = session()
    app = workbench_app(client)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("d")
        await wait_until(pilot, lambda: "d again deletes: deny $ git push *" in text_on(app))
        assert len(read_rules(file, "person").rules) == 1
        await armed(pilot)
        await pilot.press("d")
        await wait_until(pilot, lambda: not read_rules(file, "person").rules)
        await wait_until(pilot, lambda: "allow $ pytest -q fits" in text_on(app))
        await pilot.press("d")
        await wait_until(pilot, lambda: "d again" in text_on(app))
        await armed(pilot)
        await pilot.press("d")
        await wait_until(pilot, lambda: ("rule", None, "allow $ pytest -q") in client.commands)
        await wait_until(pilot, lambda: "There are no rules yet" in text_on(app))


async def test_keys_typed_during_a_stall_neither_delete_nor_save_a_rule(file):
    client = session()
    app = workbench_app(client)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("d")
        await wait_until(pilot, lambda: "d again deletes: deny $ git push *" in text_on(app))
        type_while_it_stands_still(app, "d", "d")
        await pilot.pause(0.1)
        assert len(read_rules(file, "person").rules) == 1
        await type_in(pilot, "allow $ make check")
        await wait_until(pilot, lambda: app.screen.query_one("#rules-scopes").display)
        type_while_it_stands_still(app, "down", "enter", "enter")
        await pilot.pause(0.1)
        assert app.screen.query_one("#rules-scopes").display
        assert len(read_rules(file, "person").rules) == 1
    assert not [each for each in client.commands if each[0] == "rule"]


async def test_the_hints_follow_the_focus(file):
    app = workbench_app(session())
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await wait_until(pilot, lambda: "Tab Try a rule   d Delete   Esc Close" in text_on(app))
        await pilot.press("tab")
        await wait_until(pilot, lambda: "Enter Try   Tab Rules   Esc Close" in text_on(app))
        assert "d Delete" not in text_on(app)
        await type_in(pilot, "deny $ make *")
        await wait_until(pilot, lambda: "Enter Save   Esc Back" in text_on(app))


async def test_the_rules_stay_visible_but_cannot_be_deleted_while_another_is_tried(file):
    client = session()
    app = workbench_app(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await type_in(pilot, "deny $ make *")
        await wait_until(pilot, lambda: app.screen.query_one("#rules-scopes").has_focus)
        assert "deny $ git push *" in text_on(app)
        assert "allow $ pytest -q" in text_on(app)
        await armed(pilot)
        await pilot.press("tab")
        await wait_until(pilot, lambda: app.screen.query_one("#rules-list").has_focus)
        await pilot.press("d", "shift+tab", "enter")
        await wait_until(pilot, lambda: "deny $ make *" in app.state.rules)
        assert "deny $ git push *" in text_on(app)
