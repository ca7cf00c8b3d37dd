"""The line below the agent's last message: how the run ended, its changes, its time and its cost."""

from __future__ import annotations

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import text_on
from tests.tui.sample_session import WORKSPACE, Script
from workbench.protocol import events as ev
from workbench.view.follower import put_before
from workbench.view.reducer import apply
from workbench.view.state import NoticeItem, SessionState
from workbench.view.transcript.markdown import markdown_of


def finished(completed: str | None, *, edits: bool = True) -> Script:
    script = Script().start().user("Fix it.")
    script.answer("", cost=0.25)
    if edits:
        delta = ev.FileDelta(path=f"{WORKSPACE}/a.py", before="1\n2\n", after="1\n3\n4\n")
        script.run("str_replace_editor", command="str_replace", path=delta.path, _files=(delta,))
    extra = {"task_completed": completed} if completed is not None else {}
    script.run("finish", message="That is it.", **extra)
    script.add(ev.RunEnded, reason="finished")
    return script


@pytest.mark.parametrize(
    ("completed", "text", "kind"),
    [
        (None, "Finished", "finished"),
        ("true", "Finished", "finished"),
        ("partial", "Finished in part", "warning"),
        ("false", "Not finished", "warning"),
    ],
    ids=str,
)
def test_notice_says_whether_the_task_is_done(completed, text, kind):
    notice = finished(completed).state().items[-1]
    assert isinstance(notice, NoticeItem)
    assert (notice.text, notice.kind) == (text, kind)
    assert notice.facts == "1 file +2 −1 · 12s · $0.25"
    assert notice.has_changes


def test_run_without_changes_offers_no_review():
    notice = finished("true", edits=False).state().items[-1]
    assert isinstance(notice, NoticeItem)
    assert not notice.has_changes
    assert "file" not in notice.facts


def made(before: str | None = None, after: str = "1\n2\n") -> ev.FileDelta:
    return ev.FileDelta(path=f"{WORKSPACE}/made.txt", before=before, after=after)


def ended_early(reason: str) -> tuple[Script, str]:
    """Return a run whose command has written a file that the log does not have yet, and the id of the command."""
    script = Script().start().user("Make it.")
    script.answer("", cost=0.25)
    action = script.run("execute_bash", command="printf '1\\n2\\n' > made.txt; sleep 60")
    script.add(ev.RunEnded, reason=reason)
    return script, action


@pytest.mark.parametrize("reason", ["finished", "interrupted", "limit", "stuck", "error"])
def test_changes_in_a_snapshot_after_the_end_are_counted(reason):
    script, action = ended_early(reason)
    end = script.state().items[-1]
    assert isinstance(end, NoticeItem)
    assert "file" not in end.facts
    script.add(ev.FilesChanged, files=(ev.FileDelta(path=f"{WORKSPACE}/others.txt", before=None, after="x\n"),))
    script.add(ev.VersionTaken, version="v", action_id=action, files=(made(),))
    state = script.state()
    (end,) = [item for item in state.items if isinstance(item, NoticeItem)]
    assert end.facts == "1 file +2 · 7s · $0.25"
    assert end.has_changes
    assert sorted(state.turn_changes) == [f"{WORKSPACE}/made.txt", f"{WORKSPACE}/others.txt"]
    assert " · 1 file " in "".join(markdown_of(state))


def test_changes_of_a_sub_agent_in_a_late_snapshot_are_those_of_the_run():
    script = Script().start().user("Make it.")
    script.answer("", cost=0.25)
    call = script.begin("delegate", task="write")
    for event in (
        ev.ActionProposed(action_id="c:a", response_id="d", call_id="c", tool="execute_bash", arguments={}),
        ev.ActionStarted(action_id="c:a"),
    ):
        script.add(ev.DelegateStep, action_id=call, agent="writer", session="c", event=event)
    script.add(ev.ActionAbandoned, action_id=call, reason="it did not stop in time")
    script.add(ev.RunEnded, reason="interrupted")
    script.add(ev.VersionTaken, version="v", action_id="c:a", files=(made(),))
    end = script.state().items[-1]
    assert isinstance(end, NoticeItem)
    assert end.facts.startswith("1 file +2 · ")


def test_late_snapshot_belongs_to_the_run_of_its_action():
    script, action = ended_early("interrupted")
    script.user("Go on.").answer("", cost=0.5)
    script.add(ev.VersionTaken, version="v", action_id=action, files=(made(),))
    assert script.state().turn_changes == {}
    script.add(ev.RunEnded, reason="finished")
    first, second = [item.facts for item in script.state().items if isinstance(item, NoticeItem)]
    assert first.startswith("1 file +2 · ")
    assert "file" not in second


def test_late_snapshot_may_undo_a_change():
    script = Script().start().user("Make it.")
    script.answer("", cost=0.25)
    written = ev.FileDelta(path=f"{WORKSPACE}/made.txt", before="0\n", after="1\n2\n")
    script.run("str_replace_editor", command="create", path=written.path, _files=(written,))
    action = script.run("execute_bash", command="git checkout made.txt")
    script.add(ev.RunEnded, reason="interrupted")
    assert "1 file" in script.state().items[-1].facts
    script.add(ev.VersionTaken, version="v", action_id=action, files=(made("1\n2\n", "0\n"),))
    end = script.state().items[-1]
    assert isinstance(end, NoticeItem)
    assert "file" not in end.facts
    assert not end.has_changes


@pytest.mark.parametrize("parts", [1, 2])
def test_late_changes_are_counted_once_the_beginning_of_the_run_is_read(parts):
    script, action = ended_early("limit")
    script.add(ev.VersionTaken, version="v", action_id=action, files=(made(),))
    start = next(each.seq for each in script.events if isinstance(each, ev.ActionProposed))
    state, early = SessionState(), SessionState()
    for event in script.events:
        apply(early if parts == 2 and event.seq < start else state, event)
    if parts == 2:
        (end,) = [item for item in state.items if isinstance(item, NoticeItem)]
        assert end.facts == ""
        put_before(state, early)
    (end,) = [item for item in state.items if isinstance(item, NoticeItem)]
    assert end.facts == "1 file +2 · 7s · $0.25"


async def test_line_on_the_screen_gets_the_changes_of_a_late_snapshot():
    script, action = ended_early("interrupted")
    client = FakeClient(script.events)
    app = workbench_app(client)
    async with app.run_test(size=(120, 40)) as pilot:
        assert await wait_until(pilot, lambda: "Stopped by you · 7s · $0.25" in text_on(app))
        client.bring(script.add(ev.VersionTaken, version="v", action_id=action, files=(made(),)))
        line = "Stopped by you · 1 file +2 · 7s · $0.25   F5 Review"
        assert await wait_until(pilot, lambda: line in text_on(app))


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
async def test_line_names_the_users_key_for_the_review(size):
    app = workbench_app(FakeClient(finished("true").events), set={"keys": {"diff": "f7"}})
    async with app.run_test(size=size) as pilot:
        line = "✓ Finished · 1 file +2 −1 · 12s · $0.25   F7 Review"
        assert await wait_until(pilot, lambda: line in text_on(app))
