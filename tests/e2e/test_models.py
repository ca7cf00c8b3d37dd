"""Several models in one session, each at its own server with its own key: the real binary against real servers."""

from __future__ import annotations

import json
import threading

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Fault, Turn, bash, finish
from tests.sandbox import Sandbox, wait_for
from tests.terminal.terminal import Terminal
from workbench.engine.model_test import KEY_REJECTED
from workbench.protocol.events import SettingsChanged
from workbench.session.session_names import session_path
from workbench.session.storage.session_list import list_sessions
from workbench.session.storage.store import Store

KEYS = {"ONE_KEY": "sk-first-secret", "TWO_KEY": "sk-second-secret"}


def write_profiles(sandbox: Sandbox, one: ModelServer, two: ModelServer) -> None:
    file = sandbox.locations.settings_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        'mode = "never"\n'
        f'[models.one]\nmodel = "openai/first"\napi_base = "{one.base_url}"\napi_key_env = "ONE_KEY"\n'
        f'[models.two]\nmodel = "openai/second"\napi_base = "{two.base_url}"\napi_key_env = "TWO_KEY"\n'
        'calls = "text"\ntemperature = 0.25\n'
    )


def files_with(sandbox: Sandbox, secret: str) -> list[str]:
    return [str(path) for path in sandbox.home.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


def test_profile_is_selected_by_name_and_its_key_stays_with_it(sandbox: Sandbox):
    turns = [bash("echo key=$TWO_KEY="), finish("Done by one.")]
    with ModelServer(turns) as one, ModelServer([Turn("unasked")]) as two:
        write_profiles(sandbox, one, two)
        done = sandbox.agent("run", "go", "--model", "one", "--json", **KEYS)
    assert done.returncode == 0, done.stderr
    assert [request.body["model"] for request in one.requests] == ["first", "first"]
    assert {request.headers["Authorization"] for request in one.requests} == {"Bearer sk-first-secret"}
    assert two.requests == []
    assert "key==" in done.stdout
    assert json.loads(done.stdout.splitlines()[0])["model"] == "one"
    for secret in KEYS.values():
        assert secret not in done.stdout + done.stderr
        assert files_with(sandbox, secret) == []


def test_missing_key_of_a_profile_prevents_the_start_and_names_the_setting(sandbox: Sandbox):
    with ModelServer() as one, ModelServer() as two:
        write_profiles(sandbox, one, two)
        done = sandbox.agent("run", "go", "--model", "two", ONE_KEY="sk-first-secret")
    assert done.returncode == 1
    assert done.stderr == ("ohw: no key for two: set the variable TWO_KEY (models.two.api_key_env in settings.toml)\n")
    assert two.requests == []


def test_model_change_during_a_run_sends_each_server_its_own_key(sandbox: Sandbox):
    go = sandbox.project / "go"
    wait = f"touch begun; while [ ! -e {go} ]; do sleep 0.05; done; echo waited"
    last = "<function=finish>\n<parameter=message>Done by two.</parameter>\n</function>"
    with ModelServer([bash(wait)]) as one, ModelServer([Turn(last)]) as two:
        write_profiles(sandbox, one, two)
        where = ("--workspace", str(sandbox.project))
        with Terminal(["work", "--model", "one", *where], 110, 34, {**sandbox.env, **KEYS}) as terminal:
            terminal.never_ask()
            wait_for((sandbox.project / "begun").exists, "the command to run")
            terminal.type("/model two")
            terminal.press("enter")
            terminal.wait_for("Model changed to: two")
            go.touch()
            terminal.wait_for("Done by two.")
            terminal.press("ctrl+q")
            assert terminal.wait_exit() == 0
    (first,), (second,) = one.requests, two.requests
    assert (first.body["model"], first.headers["Authorization"]) == ("first", "Bearer sk-first-secret")
    assert (second.body["model"], second.headers["Authorization"]) == ("second", "Bearer sk-second-secret")
    assert "tools" in first.body
    assert "tools" not in second.body  # this one takes calls as plain text
    assert second.body["temperature"] == 0.25
    assert "waited" in json.dumps(second.messages)
    (session,) = list_sessions(sandbox.locations)
    with Store.open(session_path(sandbox.locations, session.id), readonly=True) as store:
        events = list(store.events())
    assert [event.model for event in events if isinstance(event, SettingsChanged)] == ["two"]
    assert "run_ended" in [event.kind for event in events]
    for secret in KEYS.values():
        assert files_with(sandbox, secret) == []


def test_model_change_during_a_call_applies_to_the_next_call(sandbox: Sandbox):
    chosen = threading.Event()

    def late(_: object) -> Turn:
        assert chosen.wait(60)
        return bash("echo asked-before")

    last = "<function=finish>\n<parameter=message>Done by two.</parameter>\n</function>"
    with ModelServer([late]) as one, ModelServer([Turn(last)]) as two:
        write_profiles(sandbox, one, two)
        where = ("--workspace", str(sandbox.project))
        with Terminal(["work", "--model", "one", *where], 110, 34, {**sandbox.env, **KEYS}) as terminal:
            terminal.never_ask()
            assert one.arrived.wait(60)
            terminal.type("/model two")
            terminal.press("enter")
            terminal.wait_for("Model changed to: two")
            assert two.requests == []
            chosen.set()
            terminal.wait_for("Done by two.")
            terminal.press("ctrl+q")
            assert terminal.wait_exit() == 0
    (first,), (second,) = one.requests, two.requests
    assert (first.body["model"], second.body["model"]) == ("first", "second")
    assert "asked-before" in json.dumps(second.messages)
    (session,) = list_sessions(sandbox.locations)
    with Store.open(session_path(sandbox.locations, session.id), readonly=True) as store:
        events = [event for event in store.events() if event.kind in ("settings_changed", "model_responded")]
    assert [event.model for event in events] == ["two", "fake", "fake"]  # sent before the first call had ended


def test_models_command_lists_profiles_and_keys_by_name_only(sandbox: Sandbox):
    with ModelServer() as one, ModelServer() as two:
        write_profiles(sandbox, one, two)
        done = sandbox.ohw("models", "--model", "one", ONE_KEY="sk-first-secret", ANTHROPIC_API_KEY="sk-third-secret")
        assert done.returncode == 0, done.stderr
        assert f"● one  openai/first at {one.base_url}  (key: ONE_KEY is set)" in done.stdout
        assert f"  two  openai/second at {two.base_url}  (key: TWO_KEY is not set)" in done.stdout
        assert "ANTHROPIC_API_KEY found: ohw --model anthropic/" in done.stdout
        assert "secret" not in done.stdout + done.stderr
        assert one.requests == two.requests == []


def test_models_test_makes_one_real_call(sandbox: Sandbox):
    with ModelServer([Turn("Ready.")]) as one, ModelServer([Fault(401, "bad key sk-second-secret")]) as two:
        write_profiles(sandbox, one, two)
        good = sandbox.command("models", "test", "one", **KEYS)
        bad = sandbox.command("models", "test", "two", **KEYS)
        none = sandbox.command("models", "test")
    assert good.returncode == 0, good.stderr
    assert good.stdout.startswith('one OK ("Ready.") in ')
    assert "100 in / 20 out · price unknown" in good.stdout
    assert (len(one.requests), one.requests[0].headers["Authorization"]) == (1, "Bearer sk-first-secret")
    assert (bad.returncode, bad.stdout) == (KEY_REJECTED, "")
    assert "rejected the API key" in bad.stderr
    assert "secret" not in bad.stderr
    assert none.returncode == 2
    assert "no model is set" in none.stderr
    assert list_sessions(sandbox.locations) == []


def test_compact_condenses_the_history_at_once_and_shortens_the_next_request(sandbox: Sandbox):
    steps = [bash(f"echo step-{number}") for number in range(9)]
    summary = Turn("GOAL\nlook around\nDONE\nsome steps")
    with ModelServer([*steps, finish("First done."), summary, finish("Second done.")]) as one, ModelServer() as two:
        write_profiles(sandbox, one, two)
        where = ("--workspace", str(sandbox.project))
        with Terminal(["work", "--model", "one", *where], 110, 34, {**sandbox.env, **KEYS}) as terminal:
            terminal.never_ask()
            terminal.wait_for("First done.")
            terminal.type("/compact")
            terminal.press("enter")
            terminal.wait_for("Compacted events")
            terminal.type("go on")
            terminal.press("enter")
            terminal.wait_for("Second done.")
            terminal.press("ctrl+q")
            assert terminal.wait_exit() == 0
    *_, before, asked, after = (request.body for request in one.requests)
    assert "tools" not in asked
    assert len(after["messages"]) < len(before["messages"])
    assert summary.text in json.dumps(after["messages"]).replace("\\n", "\n")


def test_model_without_a_provider_is_refused_and_the_old_one_stays(sandbox: Sandbox):
    with ModelServer([finish("Done by one."), finish("Still one.")]) as one, ModelServer() as two:
        write_profiles(sandbox, one, two)
        where = ("--workspace", str(sandbox.project))
        with Terminal(["work", "--model", "one", *where], 110, 34, {**sandbox.env, **KEYS}) as terminal:
            terminal.never_ask()
            terminal.wait_for("Done by one.")
            for name, meant in (("nope/x", ""), ("foo-small", ""), ("opnai/first", "openai/first"), ("tow", "two")):
                terminal.type(f"/model {name}")
                terminal.press("enter")
                terminal.wait_for(f"no provider is known for the model '{name}'")
                terminal.wait_for(f"'{meant}'?" if meant else "PROVIDER/NAME")
            terminal.type("again")
            terminal.press("enter")
            terminal.wait_for("Still one.")
            terminal.press("ctrl+q")
            assert terminal.wait_exit() == 0
    assert [request.body["model"] for request in one.requests] == ["first", "first"]
    (session,) = list_sessions(sandbox.locations)
    with Store.open(session_path(sandbox.locations, session.id)) as store:
        changed = [event for event in store.events() if isinstance(event, SettingsChanged)]
    assert [event.model for event in changed if event.model] == []


def test_model_flag_without_a_provider_starts_nothing(sandbox: Sandbox):
    (sandbox.project / "tasks.jsonl").write_text('{"id": "a", "prompt": "go"}\n')
    for words in (["run", "go"], ["batch", "tasks.jsonl", "-o", "out", "--models", "scripted/demo,nope/x"], ["acp"]):
        chosen = [] if "--models" in words else ["--model", "nope/x"]
        done = sandbox.command(*words, *chosen)
        assert (done.returncode, done.stdout) == (1, ""), words
        assert "no provider is known for the model 'nope/x': write it as PROVIDER/NAME" in done.stderr
    terminal = Terminal(["work", "--model", "nope/x", "--workspace", str(sandbox.project)], 110, 34, sandbox.env)
    with terminal:
        terminal.wait_for("no provider is known for the model 'nope/x'")
        assert terminal.wait_exit() == 1
    assert list_sessions(sandbox.locations) == []
    assert not (sandbox.project / "out").exists()


@pytest.mark.parametrize("origin", ["OHW_MODEL", "settings.toml"])
def test_model_of_the_settings_without_a_provider_starts_no_run(sandbox: Sandbox, origin: str):
    if origin == "OHW_MODEL":
        sandbox.env[origin] = "deepseek-chat"
    else:
        sandbox.locations.settings_file.parent.mkdir(parents=True, exist_ok=True)
        sandbox.locations.settings_file.write_text('model = "deepseek-chat"\n')
    (sandbox.project / "tasks.jsonl").write_text('{"id": "a", "prompt": "go"}\n')
    for words in (["run", "go"], ["batch", "tasks.jsonl", "-o", "out"]):
        done = sandbox.command(*words)
        assert (done.returncode, done.stdout) == (1, ""), words
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"ohw: {origin}: no provider is known for the model 'deepseek-chat'")
        assert "did you mean 'deepseek/deepseek-chat'?" in line
    assert list_sessions(sandbox.locations) == []
    assert not (sandbox.project / "out").exists()


def test_screen_names_a_model_of_the_settings_that_has_no_provider(sandbox: Sandbox):
    with ModelServer([finish("Done by one.")]) as one, ModelServer() as two:
        write_profiles(sandbox, one, two)
        env = {**sandbox.env, **KEYS, "OHW_MODEL": "deepseek-chat"}
        with Terminal(["--workspace", str(sandbox.project)], 110, 34, env) as terminal:
            terminal.never_ask()
            terminal.wait_for("no provider is known for the model 'deepseek-chat'")
            terminal.wait_for("'deepseek/deepseek-chat'?")
            terminal.type("/model one")
            terminal.press("enter")
            terminal.type("work")
            terminal.press("enter")
            terminal.wait_for("Done by one.")
            terminal.press("ctrl+q")
            assert terminal.wait_exit() == 0
