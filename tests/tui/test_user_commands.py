"""`!` in the prompt, the display of the user's own commands, and mentions in messages."""

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import START, WORKSPACE, Script
from workbench.plain.narration import begun
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.view.formatting.cards import card
from workbench.view.formatting.detail import detail_text
from workbench.view.formatting.timeline_rows import has_row, row
from workbench.view.reducer import apply
from workbench.view.state import SessionState
from workbench.view.wrapping import line_width


def text_of(line):
    return "".join(piece.text for piece in line)


async def test_exclamation_mark_runs_the_users_command():
    client = FakeClient()
    app = workbench_app(client)
    async with app.run_test() as pilot:
        await pilot.press("!", *"ls", "space", *"-la", "enter", *"hi!", "enter")
        await wait_until(pilot, lambda: len(client.commands) == 2)
        assert client.commands == [("run", "ls -la"), ("send", "hi!")]


async def test_mentioned_existing_file_is_sent_with_the_message(tmp_path):
    (tmp_path / "notes.md").touch()
    client = FakeClient()
    app = workbench_app(client, directory=tmp_path)
    async with app.run_test() as pilot:
        await pilot.press(*"see", "space", "@", *"notes.md", "space", "@", *"nothing", "space", "enter")
        await wait_until(pilot, lambda: client.commands)
        assert client.commands == [("send", "see @notes.md @nothing ", ("notes.md",))]


def test_card_of_a_users_command_says_so():
    state = SessionState()
    for event in Script().start().events:
        apply(state, event)
    seq = state.last_seq
    apply(state, ev.UserCommand(seq=seq + 1, action_id="own_1", command="ls"))
    apply(state, ev.ActionStarted(seq=seq + 2, action_id="own_1"))
    apply(state, live.ToolOutput(action_id="own_1", text="a.py\n"))
    (item,) = state.actions.values()
    assert item.phase == "running"
    head, body = card(item, 60)
    assert text_of(head).startswith("● you · $ ls")
    assert "a.py" in text_of(body)
    assert line_width(head) <= 60
    observation = {"content": [{"type": "text", "text": "a.py"}], "exit_code": 2}
    apply(state, ev.ActionObserved(seq=seq + 3, action_id="own_1", observation=observation, duration=0.2))
    assert item.phase == "failed"
    assert not state.waiting
    assert not state.is_running


def test_users_revert_is_shown_as_their_action_everywhere():
    script = Script().start().user("go")
    path = f"{WORKSPACE}/src/a.py"
    script.add(ev.FilesChanged, by="person", files=(ev.FileDelta(path=path, before="new\n", after="old\n"),))
    script.add(ev.FilesChanged, by="other", files=(ev.FileDelta(path=path, before="old\n", after="x\n"),))
    state = script.state()
    (item,) = state.actions.values()
    head, *body = card(item, 60, WORKSPACE)
    assert text_of(head).split() == ["✓", "you", "·", "Reverted", "src/a.py", "+1", "−1"]
    assert [text_of(line).split() for line in body] == [["│", "−", "new"], ["│", "+", "old"]]
    assert has_row(item)
    assert "you · Reverted src/a.py" in text_of(row(item, 60, START, WORKSPACE))
    assert "RISK" not in detail_text(item, WORKSPACE)
    assert begun(item, WORKSPACE) == "Step 1 of your own: reverted src/a.py"
    assert not state.waiting
    assert not state.running
