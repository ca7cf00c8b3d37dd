"""Resources of servers mentioned in a message: read when it is sent, and offered while the user types."""

import json
from dataclasses import replace

from tests.mcp.conftest import fake_server
from tests.mcp.mcp_session import mcp_harness
from tests.sandbox import wait_for
from tests.session.fake_agent import says
from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.mcp.config import find_servers
from workbench.mcp.mentions import offers_of
from workbench.mcp.pins import PinStore
from workbench.plain.narration import item_lines as told_plainly
from workbench.secrets.masker import MASKER
from workbench.tools.trust import agree, fingerprint
from workbench.tui.widgets.composer import Composer
from workbench.tui.widgets.prompt import Prompt
from workbench.view.reducer import apply
from workbench.view.state import SessionState


def test_mentioned_resource_is_read_on_sending_and_reaches_the_model(tmp_path, monkeypatch):
    MASKER.add("A_TEST_KEY", "sk-note-123456")
    note = {"note": "the note, key sk-note-123456"}
    with mcp_harness(tmp_path, monkeypatch, says("one"), says("two"), says("three"), options=note) as harness:
        assert not (tmp_path / "reads").exists()
        harness.say("See @fake:note and @fake:zip://1", "fake:note", "fake:zip://1", "fake:dot://1", "fake:none://1")
        read = harness.of("resources_read")
        assert [each.message for each in read] == [event.seq for event in harness.of("user_message")]
        asked = harness.asked()
        assert "mentions fake:note, a resource of an MCP server. It contained this then:]\nthe note, key " in asked
        assert "sk-note" not in asked + str(harness.events)
        assert "application/zip" in asked
        assert "fake:none://1, a resource of an MCP server. It could not be read: no such resource]" in asked
        assert "data:image/png;base64," in asked
        harness.say("And @fake:big://1, @else:note://1", "fake:big://1", "else:note://1")
        assert len(harness.asked()) < 70_000 + len(asked)
        assert "else:note" not in harness.asked().partition("And @")[2].partition("]")[2]
        harness.say("no more")
        assert (tmp_path / "reads").stat().st_size == 5
        state = SessionState()
        for event in harness.events:
            apply(state, event)
        chips = state.items[0].resources
        assert chips[0] == "fake:note · 1 kB"
        assert chips[3] == "fake:none://1 · not read: no such resource"
        assert "[resource fake:note · 1 kB]" in next(told_plainly(state.items[0], ""))
        kinds = [event.kind for event in harness.opened.events()]
        assert kinds.count("resources_read") == 2


def test_headless_run_reads_resources_mentioned_in_its_message(sandbox):
    sandbox.locations.config.mkdir(parents=True)
    settings = fake_server(sandbox.home, {"note": "the note of the server"})
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    sandbox.locations.settings_file.write_text("\n".join(["[mcpServers.fake]", *lines]))
    (sandbox.project / "plan.txt").write_text("the plan of the folder")
    model = sandbox.script({"tool": "finish", "arguments": {"message": "Done."}})
    run = sandbox.agent("run", "See @fake:note, @plan.txt and @nothing.", "--json", "--model", model)
    assert run.returncode == 0, run.stderr
    events = [json.loads(line) for line in run.stdout.splitlines()]
    (message,) = [event for event in events if event["kind"] == "user_message"]
    assert message["mentions"] == ["fake:note", "plan.txt"]
    assert [file["text"] for file in message["attached"] if file["path"] == "plan.txt"] == ["the plan of the folder"]
    (read,) = [event for event in events if event["kind"] == "resources_read"]
    assert [(each["name"], each["text"]) for each in read["resources"]] == [("fake:note", "the note of the server")]
    assert not sandbox.processes()


def test_interrupt_ends_the_wait_for_a_resource(tmp_path, monkeypatch):
    with mcp_harness(tmp_path, monkeypatch, says("one")) as harness:
        harness.opened.session.send("See @fake:hang://1", ["fake:hang://1"])
        harness.step_beside()
        wait_for(lambda: (tmp_path / "reads").exists(), "the server to be asked")
        assert any(getattr(each, "detail", "") == "reading fake:hang://1" for each in harness.lives)
        harness.opened.session.interrupt()
        harness.join()
        assert harness.of("run_ended")[-1].reason == "interrupted"
        assert harness.of("resources_read") == []
        assert harness.model.requests == []


def listed(where, settings, directory):
    """Record the tools and resources of the servers, as if each had been started once."""
    pins = PinStore(where)
    for server in find_servers(settings.mcpServers, where.settings_file, directory, settings.trusted).servers:
        prompts = [
            {"name": "review", "description": "Review a file.", "arguments": [{"name": "file", "required": True}]},
            {"name": "hello", "description": "Say hello."},
        ]
        resources = [
            {"uri": "note://1", "name": "note", "description": "A note\x1b[31m of theirs."},
            {"uri": "file:///a b.txt", "name": "a b"},
        ]
        pins.listed(server, [], prompts, resources)


def test_only_enabled_servers_offer_resources(tmp_path):
    where = Locations(*(tmp_path / name for name in ("c", "d", "s", "r")))
    directory = tmp_path / "project"
    directory.mkdir()
    (directory / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": fake_server(tmp_path)}}))
    own = {"mine": fake_server(tmp_path), "off": fake_server(tmp_path, enabled=False)}
    settings = Settings(mcpServers=own)
    trusting = replace(settings, trusted=(fingerprint(directory),))
    listed(where, trusting, directory)
    assert set(offers_of(where, settings, directory).resources) == {"mine:note://1", "mine:file:///a b.txt"}
    agree(where, directory, fingerprint(directory))
    offers = offers_of(where, settings, directory)
    assert {name.partition(":")[0] for name in offers.resources} == {"mine", "theirs"}
    assert set(offers.prompts) == {"mine:review", "mine:hello", "theirs:review", "theirs:hello"}
    assert offers.is_resource("theirs:any://thing/else")
    assert not offers.is_resource("off:note://1")
    assert not offers.is_resource("mine:so")
    assert not (tmp_path / "starts").exists()


async def test_resources_are_offered_after_an_at_sign_and_sent_with_the_message(tmp_path, monkeypatch):
    for name in ("CONFIG", "DATA", "STATE", "RUNTIME"):
        monkeypatch.setenv(f"XDG_{name}_{'DIR' if name == 'RUNTIME' else 'HOME'}", str(tmp_path / name))
    table = {"fake": fake_server(tmp_path)}
    (tmp_path / "notes.md").write_text("x")
    listed(Locations.from_environment(), Settings(mcpServers=table), tmp_path)
    client = FakeClient()
    app = workbench_app(client, directory=tmp_path, set={"mcpServers": table})
    async with app.run_test(size=(120, 40)) as pilot:
        composer = app.screen.query_one(Composer)
        await pilot.press(*"@note")
        await wait_until(pilot, lambda: len(composer._completer.choices) == 2)
        choices = {choice.label: choice.words for choice in composer._completer.choices}
        assert choices == {"notes.md": "", "fake:note://1": "note · A note\\e[31m of theirs."}
        await pilot.press("backspace", "backspace", "backspace", "backspace", *"fake:")
        await wait_until(pilot, lambda: len(composer._completer.choices) == 2)
        await pilot.press("tab", *"and @notes.md, @fake:any://2.", "enter")
        await wait_until(pilot, lambda: client.commands)
        assert client.commands[0][2] == ("fake:note://1", "notes.md", "fake:any://2")
        assert app.screen.query_one(Prompt).text == ""
        await pilot.press(*"/fake")
        await wait_until(pilot, lambda: len(composer._completer.choices) == 2)
        assert [choice.label for choice in composer._completer.choices] == ["/fake:hello", "/fake:review file="]
