"""What front ends show of hooks: a notice where one did something, a line for each run, the list of all hooks."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.protocol.events import ActionProposed
from workbench.protocol.hook_run import HookRan
from workbench.view.formatting.detail import detail_text
from workbench.view.hook_list import hooks_of, hooks_text
from workbench.view.hooks import hook_line, hook_notice
from workbench.view.reducer import apply
from workbench.view.state import SessionState


def ran(**fields: object) -> HookRan:
    return HookRan(**{"name": "h", "source": "/s.toml", "event": "before_action", "exit": 0, **fields})


@pytest.mark.parametrize(
    ("fields", "text", "kind"),
    [
        ({"failure": "it was ended by signal 9"}, 'Hook "h" failed: it was ended by signal 9', "warning"),
        ({"event": "user_message", "decision": "deny", "explanation": "no"}, "blocked your message: no", "warning"),
        ({"message": "3 files formatted"}, 'Hook "h": 3 files formatted', "info"),
        ({"context": "Use tabs."}, 'Hook "h" added a note for the agent', "info"),
        ({"name": "a\x1b[31m", "failure": "x\ny"}, 'Hook "a\\e[31m" failed: x', "warning"),
    ],
)
def test_run_that_did_something_is_a_notice(fields, text, kind):
    notice = hook_notice(ran(**fields))
    assert notice is not None
    assert text in notice.text
    assert notice.kind == kind


def test_run_without_effect_and_a_denied_action_need_no_notice():
    assert hook_notice(ran()) is None
    assert hook_notice(ran(action_id="a1", decision="deny", explanation="no")) is None


def test_page_of_an_action_lists_its_hooks():
    state = SessionState()
    call = ActionProposed(seq=1, action_id="a1", response_id="r", call_id="a1", tool="execute_bash", arguments={})
    apply(state, call)
    changed = apply(state, ran(seq=2, action_id="a1", decision="deny", explanation="no rm", exit=2, duration=0.0123))
    item = state.actions["a1"]
    assert changed.updated == [item]
    assert "HOOKS\n  h · before action · denied: no rm · exit 2 · 12 ms" in detail_text(item)


def test_line_of_a_failed_run_says_why():
    line = hook_line(ran(exit=None, failure="it was ended after its timeout of 60 s", duration=60.001))
    assert line == "h · before action · it was ended after its timeout of 60 s · 60001 ms"


def test_list_shows_each_hook_once_and_nothing_raw(tmp_path: Path):
    where = Locations.from_environment({"HOME": str(tmp_path)})
    entry = {"event": "run_end", "command": "printf '\x1b[2J' && notify", "name": "bell\x1b[2J", "sandbox": False}
    text = hooks_text(hooks_of(where, Settings(hooks=(entry,)), tmp_path), where)
    assert text.splitlines()[0] == "run_end: bell\\e[2J"
    assert "outside the sandbox · at most 60 s" in text
    assert "\x1b" not in text
    assert "No hooks." in hooks_text([], where)
