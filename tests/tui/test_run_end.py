"""The line below the agent's last message: how the run ended, its changes, its time and its cost."""

from __future__ import annotations

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import text_on
from tests.tui.sample_session import WORKSPACE, Script
from workbench.protocol import events as ev
from workbench.view.state import NoticeItem


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


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
async def test_line_names_the_users_key_for_the_review(size):
    app = workbench_app(FakeClient(finished("true").events), set={"keys": {"diff": "f7"}})
    async with app.run_test(size=size) as pilot:
        line = "✓ Finished · 1 file +2 −1 · 12s · $0.25   F7 Review"
        assert await wait_until(pilot, lambda: line in text_on(app))
