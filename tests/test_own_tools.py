"""Tools of the user, as the guide shows them: in a package, in a trusted directory, used by `ohw` and its engine."""

import base64
import contextlib
import hashlib
import json
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import types as mcp_types
from pydantic import TypeAdapter

from tests.sandbox import Sandbox, bash, finish
from workbench.client.engine_connection import EngineConnection
from workbench.config.settings import Settings
from workbench.engine.launch import Launch
from workbench.errors import UsageError
from workbench.protocol.commands import Leave
from workbench.protocol.events import ActionProposed
from workbench.session.session_factory import open_session, start_session
from workbench.tools import list_registered_tools, user_tools
from workbench.tools.selection import choose
from workbench.tools.trust import fingerprint
from workbench.tools.user_tools import announced

GUIDE = (Path(__file__).parent.parent / "workbench/guide/tools.md").read_text()


def examples(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


def settings(sandbox: Sandbox, text: str) -> None:
    sandbox.locations.config.mkdir(parents=True, exist_ok=True)
    sandbox.locations.settings_file.write_text(text)


def keep_in_directory(sandbox: Sandbox) -> None:
    directory = sandbox.project / ".ohw/tools"
    directory.mkdir(parents=True)
    (directory / "count_words.py").write_text(examples("python")[0])
    (sandbox.project / "book.txt").write_text("one two three")


def counting(sandbox: Sandbox) -> dict[str, Any]:
    return {"tool": "count_words", "arguments": {"path": str(sandbox.project / "book.txt")}}


def observed(done: subprocess.CompletedProcess[str]) -> list[str]:
    events = [json.loads(line) for line in done.stdout.splitlines()]
    texts = [event["observation"]["content"] for event in events if event["kind"] == "action_observed"]
    return [part["text"] for content in texts for part in content]


def wheel(directory: Path, project: dict[str, Any], code: str) -> dict[str, str]:
    """Return the files of a wheel with one module, as an installer unpacks them."""
    name, version = project["project"]["name"].replace("-", "_"), project["project"]["version"]
    info = f"{name}-{version}.dist-info"
    groups = project["project"]["entry-points"].items()
    points = "".join(f"[{group}]\n" + "".join(f"{a} = {b}\n" for a, b in rows.items()) for group, rows in groups)
    files = {
        f"{name}.py": code,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {project['project']['name']}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": points,
    }
    rows = [f"{path},sha256={_digest(text)},{len(text.encode())}\n" for path, text in files.items()]
    return {**files, f"{info}/RECORD": "".join(rows) + f"{info}/RECORD,,\n"}


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A temporary environment with the package of the guide; its Python."""
    return environment_with(tmp_path / "environment", tomllib.loads(examples("toml")[0]), examples("python")[0])


def environment_with(directory: Path, project: dict[str, Any], code: str) -> Path:
    """An environment in the directory that sees this one's packages, and has a package of one module; its Python."""
    venv.create(directory, symlinks=True, with_pip=False)
    paths = sysconfig.get_paths(vars={"base": str(directory), "platbase": str(directory)})
    site = Path(paths["purelib"])
    here = sysconfig.get_paths()["purelib"]
    (site / "below.pth").write_text(f"import site; site.addsitedir({here!r})\n")
    for path, text in wheel(site, project, code).items():
        (site / path).parent.mkdir(exist_ok=True)
        (site / path).write_text(text)
    return Path(paths["scripts"]) / "python"


def test_package_provides_the_tool_of_the_guide(sandbox: Sandbox, environment: Path):
    settings(sandbox, "[tools.count_words]\nmost = 2\n")
    (sandbox.project / "book.txt").write_text("one two three")

    def ohw(*args: str) -> subprocess.CompletedProcess[str]:
        command = [str(environment), "-m", "workbench", *args]
        return subprocess.run(command, capture_output=True, text=True, cwd=sandbox.project, env=sandbox.env, timeout=90)

    page = ohw("tools")
    assert page.stderr == ""
    assert re.search(
        r"count_words +on: your settings\n  from package count-words 1.0\n  Count words: read", page.stdout
    )
    done = ohw("run", "count", "--json", "--model", sandbox.script(counting(sandbox), finish()))
    assert done.returncode == 0, done.stderr
    assert observed(done)[0] == "2 words"


def test_package_that_is_installed_meanwhile_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    names = {own.name for own in announced()}
    project = tomllib.loads(examples("toml")[0])
    for path, text in wheel(tmp_path, project, examples("python")[0]).items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    assert {own.name for own in announced()} - names == {"count_words"}
    monkeypatch.setattr(user_tools, "entry_points", lambda **_: pytest.fail("all packages were read again"))
    assert "count_words" in {own.name for own in announced()}


def test_trusted_directory_provides_the_tool_of_the_guide(sandbox: Sandbox):
    keep_in_directory(sandbox)
    settings(sandbox, f'trusted = ["{sandbox.project}"]\n')
    done = sandbox.ohw("run", "count", "--json", "--model", sandbox.script(counting(sandbox), finish()))
    assert done.returncode == 0, done.stderr
    assert observed(done)[0] == "3 words"
    assert "ignored" not in done.stderr


def test_output_of_a_users_tool_is_not_among_the_events(sandbox: Sandbox):
    keep_in_directory(sandbox)
    path = sandbox.project / ".ohw/tools/count_words.py"
    path.write_text(
        "print('loaded')\n" + path.read_text().replace("        text =", "        print('run')\n        text =")
    )
    settings(sandbox, f'trusted = ["{sandbox.project}"]\n')
    done = sandbox.ohw("run", "count", "--json", "--model", sandbox.script(counting(sandbox), finish()))
    assert observed(done)[0] == "3 words"
    assert {"loaded", "run"} <= set(done.stderr.splitlines())


def test_reopened_session_uses_the_current_settings(sandbox: Sandbox):
    model, name = sandbox.script(bash("echo ran"), finish()), "20261121-again-abcd"
    quiet = {"on_event": lambda event: None, "on_live": lambda event: None}
    started = start_session(sandbox.locations, Settings(model=model), sandbox.project, name, **quiet)
    started.session.send("go")
    started.close()
    later = Settings(tools={"execute_bash": False, "weather": True})
    with contextlib.closing(open_session(sandbox.locations, later, name, **quiet)) as again:
        again.session.send("go on")
        while again.session.step():
            pass
        proposed = [event for event in again.events() if isinstance(event, ActionProposed)]
        assert "execute_bash" in proposed[0].error
        assert len(again.notices) == 1
    wrong = Settings(tools={"think": {"size": 1}})
    for _ in range(2):  # the lock was released
        with pytest.raises(UsageError, match=r"tools\.think\.size"):
            open_session(sandbox.locations, wrong, name, **quiet)


def test_untrusted_directory_is_ignored_with_a_line_on_stderr(sandbox: Sandbox):
    keep_in_directory(sandbox)
    done = sandbox.agent("run", "count", "--json", "--model", sandbox.script(counting(sandbox), finish()))
    assert done.returncode == 0, done.stderr
    assert all(json.loads(line) for line in done.stdout.splitlines())
    assert "the directory is not trusted" in done.stderr
    assert "count_words" not in json.loads(done.stdout.splitlines()[0])["tools"]
    page = sandbox.command("tools", "--json")
    assert "count_words" not in page.stdout
    assert f'write trusted = ["{sandbox.project}"] into {sandbox.locations.settings_file}' in page.stderr


def test_engine_applies_tool_settings_and_reports_omitted_tools(sandbox: Sandbox):
    keep_in_directory(sandbox)
    table = {"set": "plan", "weather": True}
    (sandbox.project / ".ohw/tools/broken.py").write_text("import nothing_there")
    chosen = Settings(model=sandbox.script(finish()), tools=table, trusted=(fingerprint(sandbox.project),))
    name = "20261121-tools-abcd"
    launch = Launch(sandbox.locations, chosen, name, str(sandbox.project), is_new=True)
    connection = EngineConnection.open(launch)
    try:
        assert len(connection.notices) == 2
        assert "broken" in connection.notices[0]
        assert "tools.weather" in connection.notices[1]
        started = next(event for event in connection.receive() if getattr(event, "kind", "") == "session_started")
        assert "count_words" in started.tools
        assert "execute_bash" not in started.tools
    finally:
        connection.send_command(Leave(stop=True))
        connection.close()


def test_invalid_parameter_stops_a_run_with_one_line(sandbox: Sandbox):
    settings(sandbox, '[tools.execute_bash]\nno_change_timeout = "soon"\n')
    for command in (["run", "x", "--model", sandbox.script(finish())], ["tools"]):
        done = sandbox.agent(*command)
        assert done.returncode == 2
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert line.startswith(
            f"ohw: {sandbox.locations.settings_file}: tools.execute_bash.no_change_timeout cannot be"
        )
    assert not list(sandbox.locations.sessions.glob("*"))


def test_parameter_reaches_the_shell_of_a_run(sandbox: Sandbox):
    settings(sandbox, "[tools.execute_bash]\nno_change_timeout = 0.2\n")
    slow = {"tool": "execute_bash", "risk": "LOW", "arguments": {"command": "echo begun; sleep 60"}}
    done = sandbox.agent("run", "wait", "--json", "--mode", "never", "--model", sandbox.script(slow, finish()))
    assert done.returncode == 0, done.stderr
    assert "begun" in observed(done)[0]
    assert "0.2 s" in observed(done)[0]


def test_tools_page_shows_names_hints_state_and_parameters(sandbox: Sandbox):
    settings(sandbox, '[tools]\nset = "plan"\nthink = false\n')
    page = sandbox.ohw("tools").stdout
    assert re.search(r'^execute_bash +off: it can change things, and the set is "plan"\n  .*destructive', page, re.M)
    assert re.search(r"^think +off: your settings$", page, re.M)
    assert re.search(r'^task_tracker +on: the set "plan"\n  Task list: read-only, idempotent$', page, re.M)
    assert "    command (string; required)\n      What to run." in page
    assert "    is_input (boolean; optional; default false)" in page
    assert set(list_registered_tools()) <= set(re.findall(r"^(\w+) +(?:on|off): ", page, re.M))


def test_json_page_contains_tools_in_openai_and_mcp_format(sandbox: Sandbox):
    from openai.types.chat import ChatCompletionFunctionToolParam  # 1.5 s of CPU, which every worker would spend

    keep_in_directory(sandbox)
    settings(sandbox, f'trusted = ["{sandbox.project}"]\n[tools]\nthink = false\n')
    entries = json.loads(sandbox.ohw("tools", "--json").stdout)
    states = {entry["name"]: (entry["on"], entry["why"]) for entry in entries}
    assert {"execute_bash", "count_words", "think"} <= set(states)
    assert states["think"] == (False, "your settings")
    assert states["count_words"] == (True, "by default")
    for entry in entries:
        openai = TypeAdapter(ChatCompletionFunctionToolParam).validate_python(entry)
        assert openai["type"] == "function"
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", openai["function"]["name"])
        mcp = mcp_types.Tool.model_validate(entry)
        assert mcp.name == openai["function"]["name"] == entry["name"]
        assert mcp.annotations is not None
        assert mcp.annotations.read_only_hint is not None
        for schema in (openai["function"]["parameters"], mcp.input_schema):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
        assert jsonschema.Draft202012Validator(mcp.input_schema).is_valid([]) is False
    mcp_types.ListToolsResult.model_validate({"tools": entries})


def test_settings_in_the_guide_are_valid():
    texts = re.findall(r"(?:^    .*\n|^\n)+", GUIDE, re.MULTILINE)
    table = next(tomllib.loads(re.sub("^    ", "", text, flags=re.M)) for text in texts if "[tools]" in text)
    choices, unknown = choose(table["tools"])
    states = {choice.name: choice for choice in choices}
    assert states["think"].is_on is False
    assert states["execute_bash"].params == {"no_change_timeout": 60}
    assert len(unknown) <= 1


@pytest.mark.parametrize(
    ("number", "output"), [(1, "False\n"), (2, "Good morning, Ada! True\n")], ids=["built-in", "registered"]
)
def test_tools_run_from_plain_python_as_in_the_guide(tmp_path: Path, sandbox: Sandbox, number: int, output: str):
    command = [sys.executable, "-c", examples("python")[number]]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=sandbox.env, timeout=60)
    assert (done.stdout, done.stderr, done.returncode) == (output, "", 0)
