"""Prompts of servers: offered like commands, fetched by the engine, shown before they are sent."""

import os

import pytest

from tests.mcp.conftest import approve_all, fake_server
from tests.mcp.test_resources import listed
from tests.sandbox import wait_for
from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from workbench.client.engine_connection import EngineConnection
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.engine.launch import Launch
from workbench.mcp.mentions import PromptArgument, ServerPrompt
from workbench.protocol.commands import AnswerQuestion, GetPrompt, SendMessage
from workbench.protocol.live import PromptReady
from workbench.tui.palette_entries import entries_of
from workbench.tui.screens.main import MainScreen
from workbench.tui.widgets.prompt import Prompt as PromptBox
from workbench.view.prompt.mcp_prompt_line import arguments_of, written

REVIEW = ServerPrompt("fake", "review", "", (PromptArgument("file", "Which one.", True), PromptArgument("how")))


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ("file=a.py", {"file": "a.py"}),
        ('a.py how="with care"', {"file": "a.py", "how": "with care"}),
        ("how=fast a.py", {"how": "fast", "file": "a.py"}),
        ("how=fast what is in it", {"how": "fast", "file": "what is in it"}),
        ("it's", {"file": "it's"}),
        ("url=x", {"file": "url=x"}),
    ],
)
def test_prompt_arguments_are_named_or_positional(words, arguments):
    assert arguments_of(REVIEW, words) == arguments


def test_missing_or_extra_arguments_are_reported_with_the_usage():
    with pytest.raises(ValueError, match=r"file is required: Which one\.; write /fake:review file=… \[how=…\]"):
        arguments_of(REVIEW, "how=fast")
    with pytest.raises(ValueError, match="unexpected argument c"):
        arguments_of(REVIEW, "a b c")
    with pytest.raises(ValueError, match="unexpected argument x; write /fake:hello"):
        arguments_of(ServerPrompt("fake", "hello"), "x")
    assert written("/fake:review a b") == ("fake:review", "a b")
    assert written("/review fake:x") is None
    assert written("see /fake:review") is None


async def test_server_prompt_is_requested_like_a_command_and_inserted(tmp_path, monkeypatch):
    for name in ("CONFIG_HOME", "DATA_HOME", "STATE_HOME", "RUNTIME_DIR"):
        monkeypatch.setenv(f"XDG_{name}", str(tmp_path / name))
    table = {"fake": fake_server(tmp_path)}
    listed(Locations.from_environment(), Settings(mcpServers=table), tmp_path)
    client = FakeClient()
    app = workbench_app(client, directory=tmp_path, set={"mcpServers": table})
    async with app.run_test(size=(120, 40)) as pilot:
        box = app.screen.query_one(PromptBox)
        main = app.screen
        assert isinstance(main, MainScreen)
        await wait_until(pilot, lambda: main.submitter.server_prompts.available)
        await pilot.press(*"/fake:rev", "tab")
        assert await wait_until(pilot, lambda: box.text == "/fake:review file=")
        await pilot.press("enter")
        await wait_until(pilot, lambda: box.text == "/fake:review file=")
        assert client.commands == []
        await pilot.press(*"a.py", "enter")
        await wait_until(pilot, lambda: client.commands)
        assert client.commands == [("ask_prompt", "fake", "review", {"file": "a.py"})]
        client.bring(PromptReady(server="fake", text="Review a.py.\x1b[31m\nWith care."))
        await wait_until(pilot, lambda: box.text)
        assert box.text == "Review a.py.\\e[31m\nWith care."
        await pilot.press("enter")
        await wait_until(pilot, lambda: len(client.commands) == 2)
        assert client.commands[1] == ("send", "Review a.py.\\e[31m\nWith care.")
        choices = {
            entry.label: entry.action
            for entry in entries_of(app, main, app.settings, main.submitter.server_prompts.available)
        }
        await app.screen.run_action(choices["/fake:hello"])
        await wait_until(pilot, lambda: len(client.commands) == 3)
        assert client.commands[2] == ("ask_prompt", "fake", "hello", {})
        await app.screen.run_action(choices["/fake:review"])
        await wait_until(pilot, lambda: box.text == "/fake:review file=")


async def test_text_from_a_server_is_sent_as_a_message_and_never_run(tmp_path):
    (tmp_path / "notes.md").write_text("mine")
    client = FakeClient()
    app = workbench_app(client, directory=tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        box = app.screen.query_one(PromptBox)
        for number, text in enumerate(("!touch x", "/mode never", "/quit", "see @notes.md"), 1):
            client.bring(PromptReady(server="fake", text=text))
            await wait_until(pilot, lambda text=text: box.text == text)
            assert (box.is_foreign, box.cursor_location) == (True, (0, 0))
            await wait_until(pilot, lambda: "a server's words" in str(box.border_subtitle))
            await pilot.press("enter")
            await wait_until(pilot, lambda number=number: len(client.commands) == number)
            assert client.commands[-1] == ("send", text)
        assert not (tmp_path / "x").exists()
        await pilot.press("up", "up", "up", "up")
        await wait_until(pilot, lambda: box.text == "!touch x")
        box.restore_text("see this:")
        assert box.is_foreign
        await pilot.press("ctrl+end", *" and more", "enter")
        await wait_until(pilot, lambda: len(client.commands) == 5)
        assert client.commands[-1] == ("send", "see this:\n!touch x and more")
        client.bring(PromptReady(server="fake", text="!touch x\n" + "line\n" * 50))
        await wait_until(pilot, lambda: box.is_foreign)
        assert box.scroll_offset.y == 0
        box.select_all()
        await pilot.press("delete", "ctrl+underscore")
        assert await wait_until(pilot, lambda: (box.text, box.is_foreign) == ("", False))
        await pilot.press(*"!ls", "enter")
        await wait_until(pilot, lambda: len(client.commands) == 6)
        assert client.commands[-1] == ("run", "ls")


def test_engine_fetches_prompts_and_shows_a_servers_questions(sandbox, monkeypatch):
    for name in set(os.environ) - set(sandbox.env):
        monkeypatch.delenv(name)
    for name, value in sandbox.env.items():
        monkeypatch.setenv(name, value)
    model = sandbox.script(
        {"tool": "peek", "arguments": {"text": "address"}}, {"tool": "finish", "arguments": {"message": "Done."}}
    )
    settings = Settings(model=model, sandbox="off", mcpServers={"fake": fake_server(sandbox.home)})
    approve_all(sandbox.locations, dict(settings.mcpServers), sandbox.project)
    launch = Launch(sandbox.locations, settings, "20260101-a-test-0001", str(sandbox.project), True)
    connection = EngineConnection.open(launch, last_seq=0)
    heard = Heard(connection)
    try:
        connection.send_command(GetPrompt(server="fake", name="review", arguments={"file": "a.py"}))
        assert heard.first("prompt_ready").text == "Review a.py."
        connection.send_command(GetPrompt(server="none", name="review", arguments={}))
        assert "there is no enabled MCP server none" in heard.first("refused").reason
        connection.send_command(SendMessage(text="go"))
        asked = heard.step("action_assessed")
        assert asked.agent == "MCP server fake"
        connection.send_command(AnswerQuestion(action_id=asked.event.action_id, text="Answer nothing"))
        assert heard.step("action_observed").event.ran
        observed = heard.first("action_observed")
        assert '"action": "decline"' in observed.observation["content"][0]["text"]
        heard.first("run_ended")
    finally:
        connection.close()
    wait_for(lambda: not sandbox.processes(), "everything to end")


class Heard:
    """The messages of the engine, in order."""

    def __init__(self, connection):
        self._connection = connection
        self._left = []

    def first(self, kind):
        """Return the next message of that kind and drop those before it."""
        while True:
            while self._left:
                message = self._left.pop(0)
                if message.kind == kind:
                    return message
            self._left.extend(self._connection.receive())

    def step(self, kind):
        while (step := self.first("delegate_step")).event.kind != kind:
            pass
        return step
