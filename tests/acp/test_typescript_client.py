"""An editor on the protocol's TypeScript library, whose package also has the protocol's own JSON schema."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.acp.editor import served
from tests.acp.test_bad_editors import Wire
from tests.acp.test_prompts import edit
from tests.sandbox import Sandbox, bash, finish
from tests.system_packages import found_or_installed

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]  # the library is installed first
LIBRARY = "@agentclientprotocol/sdk"


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the library once; it is kept for later runs of the tests."""
    # The home directory is gone after the run.
    place = Path(os.environ["npm_config_cache"]) / "ohw-tests-acp"  # noqa: SIM112 - npm's own name
    if not place.exists():
        fresh = tmp_path_factory.mktemp("npm")
        npm = found_or_installed(lambda: shutil.which("npm"), "nodejs", "npm")
        options = ("--silent", "--no-audit", "--no-fund", "--prefix", str(fresh))
        subprocess.run([npm, "install", *options, LIBRARY, "zod"], check=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            fresh.rename(place)
        except OSError:
            place = fresh
    return place / "node_modules" / LIBRARY


class Schema:
    """The protocol's schema, with what is in it but not yet stable, such as forks."""

    def __init__(self, library: Path) -> None:
        self._schema = json.loads((library / "schema" / "v1" / "schema.unstable.json").read_text())
        kinds = ("Request", "Response", "Notification")
        sides = {"Response": "agent", "Request": "client", "Notification": "client"}
        self._names = {
            (each["x-method"], kind): name
            for name, each in self._schema["$defs"].items()
            for kind in kinds
            if name.endswith(kind) and (each.get("x-side") == sides[kind])
        }

    @cache  # noqa: B019 - one for the whole run of the tests
    def _validator(self, method: str, kind: str) -> jsonschema.Draft202012Validator:
        name = self._names[method, kind]
        return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": self._schema["$defs"]})

    def check(self, messages: list[dict[str, Any]], methods: dict[Any, str]) -> int:
        """Validate the agent's messages; `methods` are those of the editor's requests by id. Return their number."""
        for message in messages:
            assert message["jsonrpc"] == "2.0"
            if "method" in message:
                self._validator(message["method"], "Request" if "id" in message else "Notification").validate(
                    message["params"]
                )
            elif "result" in message:
                self._validator(methods[message["id"]], "Response").validate(message["result"])
        return len(messages)


@pytest.fixture(scope="session")
def schema(library: Path) -> Schema:
    return Schema(library)


def test_editor_prompts_decides_cancels_loads_and_forks(sandbox: Sandbox, library: Path, schema: Schema):
    (sandbox.project / "a.txt").write_text("one\ntwo\n")
    tests = bash("python3 -m unittest")
    model = sandbox.script(
        *(edit("two", "three"), finish(), bash("mkdir made", "HIGH")),
        *(tests, tests, finish(), bash("rm -rf made", "HIGH"), finish("All of it.")),
    )
    agent = (sys.executable, "-m", "workbench", "acp", "--model", model, "--sandbox", "off")
    script = str(Path(__file__).with_name("editor.mjs"))
    done = subprocess.run(
        ["node", script, str(library), str(sandbox.project), *agent],
        env={**sandbox.env, "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=150,
    )
    assert (done.returncode, done.stderr) == (0, "")
    seen = json.loads(done.stdout)
    assert seen["protocol"] == 1
    assert seen["stops"] == ["end_turn", "end_turn", "end_turn", "cancelled", "end_turn"]
    titles = ["◆ MEDIUM: Edit a.txt", "▲ HIGH: mkdir made", "◆ MEDIUM: python3 -m unittest", "▲ HIGH: rm -rf made"]
    assert [each["title"] for each in seen["asked"]] == titles
    (diff,) = seen["asked"][0]["diffs"]
    assert (diff["oldText"], diff["newText"]) == ("one\ntwo\n", "one\nthree\n")
    assert (sandbox.project / "a.txt").read_text() == "one\nthree\n"
    assert not (sandbox.project / "made").exists()
    words = ["edit the file", "make a directory", "because it is not needed: run the tests, twice", "delete it all"]
    assert seen["replayed"] == words
    assert seen["isForked"]
    assert len(seen["listed"]) == 2
    questions = [json.loads(line) for line in seen["sent"].splitlines()]
    own = [each for each in questions if "method" in each]
    assert schema.check(own, {}) == len(own) > 20


def test_every_message_of_a_long_session_is_valid(sandbox: Sandbox, schema: Schema):
    """Two hours of work without the time that a model and a user take: 40 prompts with every kind of action."""
    (sandbox.project / "a.txt").write_text("one\ntwo\n")
    plan = {
        "tool": "task_tracker",
        "arguments": {"command": "plan", "task_list": [{"title": "Do it", "status": "todo"}]},
    }
    view = {"tool": "str_replace_editor", "arguments": {"command": "view", "path": "{workspace}/a.txt"}}
    turns = [
        [{"text": "I look.", "reasoning": "Hm.", **view}, plan, finish("Done.")],
        [edit("two", "three"), edit("three", "two"), finish()],
        [bash("echo one; seq 1000", "HIGH"), bash("false"), bash("printf '\\033[31mred'; printf '\\0\\377'"), finish()],
        [{"tool": "no_such_tool", "arguments": {}}, {"tool": "glob", "arguments": {"pattern": "*.txt"}}, finish()],
    ]
    prompts = 40
    model = sandbox.script(*(turn for number in range(prompts) for turn in turns[number % len(turns)]))
    options = ("--model", model, "--mode", "ask", "--sandbox", "off", "--max-steps", "1000")
    received: list[dict[str, Any]] = []
    methods: dict[Any, str] = {}
    with (
        served(sandbox, *options) as connection,
        connection.makefile("w") as to_agent,
        connection.makefile("r") as from_agent,
    ):
        line = Wire(to_agent, from_agent)

        def until(request: int, method: str) -> dict[str, Any]:
            """Answer each question until the request is answered."""
            methods[request] = method
            for text in from_agent:
                message = json.loads(text)
                received.append(message)
                if message.get("method") == "session/request_permission":
                    choices = message["params"]["options"]
                    option = choices[0 if len(received) % 3 else -2]["optionId"]  # now and then the user rejects
                    line.answer(message, {"outcome": "selected", "optionId": option})
                elif message.get("id") == request and "method" not in message:
                    return message["result"]
            raise AssertionError("the agent closed its output")

        until(line.request("initialize", {"protocolVersion": 1}), "initialize")
        new = line.request("session/new", {"cwd": str(sandbox.project), "mcpServers": []})
        session = until(new, "session/new")["sessionId"]
        for _ in range(prompts):
            assert until(line.prompt(session), "session/prompt") == {"stopReason": "end_turn"}
        until(line.request("session/list", {"cwd": str(sandbox.project)}), "session/list")
    assert schema.check(received, methods) > prompts * 8
    kinds = {each["params"]["update"]["sessionUpdate"] for each in received if each.get("method") == "session/update"}
    assert kinds >= {"agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"}
