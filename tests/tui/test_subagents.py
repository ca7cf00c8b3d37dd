"""Steps of sub-agents on the screen: rows under their name, one question at a time, and a total cost."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.tui.panel_app import PanelApp
from tests.tui.sample_session import START, Script
from tests.tui.waiting import until
from workbench.protocol import events as ev
from workbench.protocol.codec import encode
from workbench.protocol.event_base import EventBase
from workbench.session.sub_agents import delegate_step
from workbench.tui.widgets.card import ActionCard
from workbench.tui.widgets.conversation_messages import FinalText
from workbench.tui.widgets.timeline import TimelineRows
from workbench.view.formatting.approval import why_asked
from workbench.view.formatting.cards import card
from workbench.view.formatting.detail import detail_text
from workbench.view.formatting.timeline_rows import row
from workbench.view.state import ActionItem, SessionState


def begun(name: str = "reviewer") -> Script:
    script = Script().start().user("share it").answer("", cost=0.5)
    script.begin("delegate", agent=name, inputs="Look at all of it.")
    return script


def step(script: Script, event: EventBase, name: str = "reviewer") -> None:
    made = delegate_step("a1", name, "child", event)
    assert made is not None
    script.add(ev.DelegateStep, **{field: getattr(made, field) for field in ("action_id", "agent", "session", "event")})


def asking(name: str = "reviewer") -> Script:
    script = begun(name)
    proposed = ev.ActionProposed(
        action_id="a1", response_id="r", call_id="a1", tool="execute_bash", arguments={"command": "make"}, risk="HIGH"
    )
    step(script, proposed, name)
    step(script, ev.ActionAssessed(action_id="a1", risk="HIGH", fingerprint="f"), name)
    return script


def row_text(item: ActionItem, width: int = 60) -> str:
    return " ".join("".join(piece.text for piece in row(item, width, START)).split())


def its_action(state: SessionState) -> ActionItem:
    return state.actions["child:a1"]


def test_sub_agents_action_is_a_row_under_its_name():
    state = asking().state()
    assert list(state.actions) == ["a1", "child:a1"]
    assert row_text(state.actions["a1"]) == "● reviewer: Look at all of it. 0s"
    assert row_text(its_action(state)) == "? $ make ▲ HIGH"
    assert "↳ reviewer · $ make" in "".join(piece.text for piece in card(its_action(state), 60)[0])
    assert state.waiting == ["child:a1"]
    assert why_asked(its_action(state), "medium")[0].text == "Asked for the sub-agent reviewer."
    assert "make" in detail_text(its_action(state))


def test_control_characters_in_a_name_are_shown_as_escapes():
    state = asking("\x1b]0;x\x07[/b]").state()
    words = row_text(its_action(state)) + why_asked(its_action(state), "medium")[0].text
    assert "\x1b" not in words
    assert "\\e]0;x" in words


def test_decision_and_result_close_a_sub_agents_action():
    script = asking()
    step(script, ev.ActionDecided(action_id="a1", verdict="approved", by="person"))
    step(script, ev.ActionStarted(action_id="a1"))
    assert list(script.state().running) == ["a1", "child:a1"]
    result = {"content": [{"type": "text", "text": "x" * 9_000}], "is_error": False, "exit_code": 2, "output": "x"}
    step(script, ev.ActionObserved(action_id="a1", observation=result))
    state = script.state()
    assert state.waiting == []
    assert list(state.running) == ["a1"]
    assert its_action(state).phase == "failed"
    assert len(its_action(state).output) < 5_000


@pytest.mark.parametrize("is_known", [True, False])
def test_open_actions_of_a_sub_agent_end_with_its_call(is_known):
    script = asking()
    if is_known:
        script.end("a1", "stopped at a question", is_error=True)
    else:
        script.add(ev.ActionAbandoned, action_id="a1", reason="killed")
    state = script.state()
    assert state.waiting == []
    assert its_action(state).phase == "skipped"


def test_sub_agents_cost_counts_and_its_text_is_not_shown():
    script = begun()
    step(script, ev.ModelResponded(response_id="c", model="m", text="so many words", cost=0.25))
    step(script, ev.HistoryCondensed(first=1, last=2, summary="s", cost=0.25))
    step(script, ev.ModelAsked(action_id="a1", model="m", cost=0.125))
    state = script.state()
    assert state.cost == pytest.approx(1.125)
    assert "so many words" not in str(state.items)
    assert "so many words" not in encode(script.events[-3]).decode()


def test_sub_agents_plan_does_not_replace_the_agents_own():
    script = begun()
    plan = {"command": "plan", "task_list": [{"id": "1", "title": "its own", "status": "todo"}]}
    step(script, ev.ActionProposed(action_id="p", response_id="r", call_id="p", tool="task_tracker", arguments=plan))
    step(script, ev.ActionStarted(action_id="p"))
    step(script, ev.ActionObserved(action_id="p", observation={"content": [], "is_error": False}))
    assert script.state().tasks == []


async def test_sub_agents_final_message_is_a_card_not_the_agents_text():
    script = begun()
    result = {"message": "Its own last words."}
    step(script, ev.ActionProposed(action_id="e", response_id="r", call_id="e", tool="finish", arguments=result))
    step(script, ev.ActionStarted(action_id="e"))
    step(script, ev.ActionObserved(action_id="e", observation={"content": [], "is_error": False}))
    async with PanelApp(script.state()).run_test() as pilot:
        await until(pilot, lambda: len(pilot.app.query(ActionCard)) == 2)
        assert not pilot.app.query(FinalText)


def test_rows_of_parallel_sub_agents_are_below_their_calls():
    script = Script().start().user("Go.").answer()
    calls = [script.begin("delegate", agent=name, inputs="Look.") for name in ("one", "two")]
    proposed = ev.ActionProposed(
        action_id="x", response_id="r", call_id="x", tool="execute_bash", arguments={"command": "make"}
    )
    for number in range(2):
        for call, name in zip(calls, ("one", "two"), strict=True):
            inner = replace(proposed, action_id=f"{name}{number}")
            script.add(ev.DelegateStep, action_id=call, agent=name, session=f"s-{name}", event=inner)
    state = script.state()
    rows = TimelineRows()
    rows.apply(state, None)
    names = [item.action_id for item in rows.items if isinstance(item, ActionItem)]
    assert names == [calls[0], "one0", "one1", calls[1], "two0", "two1"]
    assert [rows.position(item) for item in rows.items] == list(range(len(rows.items)))
    assert "".join(piece.text for piece in rows.line(2, 40, "")).startswith("  ○ $ make")
