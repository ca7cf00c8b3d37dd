"""Rows M01 to M07 of the fault cases, each with a server that shows the fault."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import psutil
import pytest

from tests.mcp.conftest import ask
from tests.sandbox import wait_for
from workbench.mcp.config import ServerConfigs, read_server
from workbench.mcp.errors import ServerFailed
from workbench.mcp.executor import read_resource
from workbench.mcp.stdio import LineReader, TooLong
from workbench.mcp.toolsets import SessionServers


def test_m01_missing_or_exiting_server_gives_the_reason(place):
    missing = place.client(read_server("gone", {"command": "/no/such/server"}, "here", str(place.directory)))
    ends = place.client(place.server({"exit": 2}))
    with pytest.raises(ServerFailed, match=r"gone cannot be used: it ended before it responded.*No such file"):
        missing.connect().result(60)
    with pytest.raises(ServerFailed, match=r"ended before it responded.*hello / no config file"):
        ends.connect().result(60)
    assert "no config file" in place.pins.log(ends.server).read_text()


def test_missing_npx_or_uvx_is_reported_with_how_to_install_it(place, monkeypatch):
    monkeypatch.setenv("PATH", str(place.directory))
    for command, words in (("npx", "there is no program npx, which comes with Node.js"), ("uvx", "pip install uv")):
        client = place.client(read_server(command, {"command": command, "args": ["-y", "it"]}, "here", "."))
        with pytest.raises(ServerFailed, match=words):
            client.connect().result(60)


def test_m01_garbage_on_stdout_is_ignored(place):
    assert ask(place.tool(server=place.server({"garbage": True})), "hello").text == "echo: hello"


def test_m02_server_that_never_answers_initialize_times_out(place):
    began = time.monotonic()
    with pytest.raises(ServerFailed, match=r"did not respond within 0\.8 s"):
        place.client(place.server({"mute": True}, startTimeout=0.8)).connect().result(60)
    assert time.monotonic() - began < 30


def test_m02_silent_server_delays_neither_the_start_nor_other_tools(place):
    place.tool()
    mute = place.server({"mute": True}, name="mute", firstWait=0.5, startTimeout=600)
    failed = replace(place.server(name="failed"), command="/no/such")
    place.pins.failed(failed, "the MCP server failed cannot be used: it ended")
    servers = ServerConfigs((place.clients[0].server, mute, failed))
    offered = SessionServers(servers, place.pins, {}, {}, lambda line: None)
    try:
        assert "the MCP server failed cannot be used: it ended" in offered.notices
        began = time.monotonic()
        offered.before_call(lambda: False, lambda line: None)
        assert offered.names == {"echo", "peek", "wipe"}
        assert time.monotonic() - began < 60
    finally:
        offered.close()


def test_m03_resource_that_never_arrives_times_out(place):
    server = place.server(timeout=1)
    place.client(server)
    contents = read_resource(place.clients, "fake:hang://1", lambda: False)
    assert "did not respond in time" in contents.error


def test_m05_lists_that_do_not_arrive_in_time_leave_the_record_unchanged(place):
    tool = place.tool(server=place.server(timeout=3))
    (place.directory / "mute list").touch()
    ask(tool, "grow")
    server = place.clients[0].server
    wait_for(lambda: "did not send its lists within 3 s" in place.pins.log(server).read_text(), "the end of its time")
    assert set(place.pins.entry(server).usable) == {"echo", "peek", "wipe"}


def test_m03_hung_call_times_out_and_the_server_continues(place):
    tool = place.tool(server=place.server(timeout=4))
    observation = ask(tool, "hang")
    assert observation.is_error
    assert "did not respond in time" in observation.text
    assert "is unknown" in observation.text
    assert ask(tool, "hello").text == "echo: hello"
    assert (place.directory / "starts").stat().st_size == 1


def test_m03_interrupt_ends_a_hung_call(place):
    tool = place.tool()
    observations = []
    thread = threading.Thread(target=lambda: observations.append(ask(tool, "hang")))
    thread.start()
    calls = place.directory / "calls"
    wait_for(calls.exists, "the call to arrive")
    tool.interrupt()
    thread.join(20)
    assert "was interrupted" in observations[0].text
    assert observations[0].is_error


@pytest.mark.parametrize("way", ["die", "close"])
def test_m03_server_that_dies_during_a_call_is_reported_and_restarted(place, way):
    tool = place.tool()
    observation = ask(tool, way)
    assert observation.is_error
    assert "is gone: it ended" in observation.text
    assert "is unknown: check before you repeat it" in observation.text
    assert ask(tool, "hello").text == "echo: hello"


def test_m03_server_killed_twice_is_restarted_and_no_call_is_lost(place):
    tool = place.tool()
    for number in (1, 2):
        psutil.Process(int(ask(tool, "pid").text)).kill()
        wait_for(lambda: not next(iter(place.clients)).is_running, "the death to be noticed")
        assert ask(tool, f"call {number}").text == f"echo: call {number}"
    assert (place.directory / "starts").stat().st_size == 3
    assert (place.directory / "calls").stat().st_size == 4


def test_m03_only_a_read_only_call_is_repeated_and_only_once(place):
    peek, echo = place.tool("peek"), place.tool("echo")
    assert ask(peek, "die 1").text == "peek: die 1"
    assert (place.directory / "calls").stat().st_size == 2
    assert ask(echo, "die 9").is_error
    assert (place.directory / "calls").stat().st_size == 3


def test_m03_death_during_parallel_calls_counts_once_and_each_is_repeated_once(place):
    tool = place.tool("peek")
    pid = int(ask(tool, "pid").text)
    with ThreadPoolExecutor(4) as threads:
        pending = [threads.submit(ask, tool, "first") for _ in range(4)]
        wait_for(lambda: (place.directory / "calls").stat().st_size == 5, "the calls to arrive")
        psutil.Process(pid).kill()
        assert [each.result(60).text for each in pending] == ["peek: first"] * 4
    assert (place.directory / "starts").stat().st_size == 2
    assert (place.directory / "calls").stat().st_size == 9


def test_m03_server_that_always_dies_is_given_up_after_three_times(place):
    tool = place.tool()
    for _ in range(3):
        assert "is gone" in ask(tool, "die").text
    ask(tool, "hello")
    observation = ask(tool, "hello")  # a refusal is not a failure
    assert "failed 3 times and is not started again for a minute" in observation.text
    assert (place.directory / "calls").stat().st_size == 3


def test_m04_invalid_responses_are_errors(place):
    tool = place.tool(server=place.server(timeout=30))
    assert ask(tool, "garbage").text == "echo: garbage"
    assert ask(tool, "wrong id").text == "echo: wrong id"
    assert ask(tool, "twice").text == "first"
    assert ask(tool, "after").text == "echo: after"
    nonsense = ask(tool, "nonsense")
    assert (nonsense.is_error, "sent an invalid message" in nonsense.text) == (True, True)
    error = ask(tool, "error")
    assert (error.is_error, error.text) == (True, "that is not possible\\e[31m")
    assert (place.directory / "starts").stat().st_size == 1


def test_m04_hundred_megabytes_end_the_call_within_the_memory_limit(place):
    tool = place.tool()
    before = psutil.Process().memory_info().rss
    observation = ask(tool, "huge")
    assert "sent a message of more than 16 MB" in observation.text
    assert psutil.Process().memory_info().rss - before < 120_000_000
    assert ask(tool, "hello").text == "echo: hello"


def test_m04_lines_are_split_however_they_arrive():
    lines = LineReader(10)
    assert lines.feed(b"one\ntw") == [b"one"]
    assert lines.feed(b"o\n\nthree") == [b"two", b""]
    assert lines.feed(b"\n") == [b"three"]
    with pytest.raises(TooLong):
        lines.feed(b"x" * 11)


def test_m05_tool_added_during_a_session_is_disabled_until_approved(place):
    tool = place.tool()
    assert ask(tool, "grow").text == "echo: grow"
    server = place.clients[0].server
    wait_for(lambda: place.pins.entry(server).waiting, "the new list")
    assert set(place.pins.entry(server).usable) == {"echo", "peek", "wipe"}
    place.pins.approve(server, place.pins.entry(server))
    assert set(place.pins.entry(server).usable) == {"echo", "peek", "wipe", "shell"}


def test_m05_definition_changed_between_sessions_is_refused_before_a_call(place):
    server = place.server()
    tool = place.tool(server=server)
    place.clients.pop().close()
    changed = [{"name": "echo", "description": "Now it deletes.", "inputSchema": tool.definition["inputSchema"]}]
    (place.directory / "tools.json").write_text(json.dumps(changed))
    again = place.tool(server=server)
    observation = ask(again, "hello")
    assert observation.is_error
    assert "its definition has changed" in observation.text
    assert not (place.directory / "calls").exists()
    assert place.pins.entry(server).waiting["peek"] is None


def many(count):
    return [{"name": f"t{number}", "inputSchema": {"type": "object"}} for number in range(count)]


def test_m06_thousand_tools_and_two_megabytes_of_text_are_cut_and_reported(place):
    server = place.server({"page": 100})
    tools = [{**many(1)[0], "name": "wordy", "description": "x" * 2_000_000}, *many(1000)]
    (place.directory / "tools.json").write_text(json.dumps(tools))
    client = place.client(server)
    client.connect().result(60)
    entry = place.pins.entry(server)
    assert len(entry.tools) == 256
    assert len(entry.tools["wordy"]["description"]) < 5_000
    assert any("2,000,000 characters is cut" in line for line in entry.faults)
    assert any("only the first 256" in line for line in entry.faults)


def test_m07_tool_with_an_unusable_schema_is_disabled_alone(place):
    tools = [
        {"name": "wrong", "inputSchema": {"type": "object", "properties": {"a": {"type": "banana"}}}},
        {"name": "huge", "inputSchema": {"type": "object", "properties": {"a": {"enum": ["x" * 90] * 2000}}}},
        {
            "name": "round",
            "inputSchema": {
                "type": "object",
                "properties": {"node": {"$ref": "#/$defs/node"}},
                "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
            },
        },
        {"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}},
    ]
    server = place.server()
    (place.directory / "tools.json").write_text(json.dumps(tools))
    assert ask(place.tool(server=server), "hello").text == "echo: hello"
    entry = place.pins.entry(server)
    assert set(entry.tools) == {"round", "echo"}
    assert any(line.startswith("the tool wrong: it is ignored: its schema is wrong") for line in entry.faults)
    assert any(line.startswith("the tool huge: it is ignored: its schema has") for line in entry.faults)
