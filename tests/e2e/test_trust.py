"""Trust in a directory: nothing in it runs or takes effect before the user has agreed to exactly that content."""

from __future__ import annotations

import json

import pytest

from tests.sandbox import Sandbox, finish, wait_for
from tests.terminal.terminal import Terminal
from workbench.tools.trust import agree, agreed, fingerprint, is_trusted

TOOL = """
from pathlib import Path
Path({marker!r}).write_text("ran")
tool = None
"""
RULES = '[[deny]]\ncommand = "git push *"\n'


@pytest.fixture
def marker(sandbox: Sandbox):
    """A directory with rules and with a tool that leaves a file when it is imported."""
    marker = sandbox.home / "marker"
    tools = sandbox.project / ".ohw/tools"
    tools.mkdir(parents=True)
    (tools / "evil.py").write_text(TOOL.format(marker=str(marker)))
    (sandbox.project / ".ohw/rules.toml").write_text(RULES)
    return marker


def test_trust_applies_to_this_directory_and_content_only(sandbox: Sandbox, marker, tmp_path_factory):
    content = fingerprint(sandbox.project)
    agree(sandbox.locations, sandbox.project, content)
    assert is_trusted(sandbox.project, agreed(sandbox.locations))
    other = tmp_path_factory.mktemp("other")
    (sandbox.project / ".ohw").rename(other / ".ohw")
    assert not is_trusted(other, agreed(sandbox.locations))
    (other / ".ohw").rename(sandbox.project / ".ohw")
    assert is_trusted(sandbox.project, agreed(sandbox.locations))
    helper = sandbox.project / ".ohw/tools/_helper.py"
    helper.write_text("x = 1\n")
    assert not is_trusted(sandbox.project, agreed(sandbox.locations))
    helper.unlink()
    (sandbox.project / ".ohw/rules.toml").write_text("")
    assert not is_trusted(sandbox.project, agreed(sandbox.locations))


def test_damaged_list_of_trusted_directories_is_empty(sandbox: Sandbox, marker):
    agree(sandbox.locations, sandbox.project, fingerprint(sandbox.project))
    file = sandbox.locations.data / "trusted.json"
    assert file.stat().st_mode & 0o777 == 0o600
    for text in ("", "[]", json.dumps({"a": 3}), "\x00"):
        file.write_text(text)
        assert agreed(sandbox.locations) == ()


def test_headless_run_in_an_untrusted_directory_reports_what_is_ignored(sandbox: Sandbox, marker):
    sandbox.env["OHW_MODEL"] = sandbox.script(finish())
    done = sandbox.agent("run", "go")
    assert done.returncode == 0
    assert f"the tools in {sandbox.project}/.ohw/tools are ignored: the directory is not trusted" in done.stderr
    assert f"the rules in {sandbox.project}/.ohw/rules.toml are ignored: the directory is not trusted" in done.stderr
    assert not marker.exists()
    agree(sandbox.locations, sandbox.project, fingerprint(sandbox.project))
    assert "not trusted" not in sandbox.agent("run", "go").stderr
    assert marker.exists()


def test_screen_asks_for_trust_first_and_no_ignores_the_files(sandbox: Sandbox, marker):
    sandbox.env["OHW_MODEL"] = sandbox.script(finish("All done."))
    with Terminal(["--workspace", str(sandbox.project)], 120, 40, sandbox.env) as terminal:
        terminal.wait_for("Trust this directory?")
        terminal.wait_for(".ohw/tools/evil.py")
        terminal.wait_for(".ohw/rules.toml")
        assert sandbox.engines() == []
        terminal.type("yy go")  # letters are not answers: they are for the prompt
        terminal.wait_for("yy go")
        assert sandbox.engines() == []
        assert not marker.exists()
        terminal.press("enter")  # meant to send the text: no row was chosen
        terminal.press("down", "up")
        terminal.wait_for("Enter Choose")
        assert sandbox.engines() == []
        terminal.press("enter")  # the cursor is on "no"
        terminal.wait_until(lambda screen: "Trust this directory?" not in screen, "the answer to be taken")
        terminal.press("enter")
        terminal.wait_for("All done.", 60)
        assert not marker.exists()
        assert agreed(sandbox.locations) == ()
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0


def test_trust_lasts_until_something_changes(sandbox: Sandbox, marker):
    sandbox.env["OHW_MODEL"] = sandbox.script(finish("All done."))
    arguments = ["--workspace", str(sandbox.project)]
    with Terminal(arguments, 120, 40, sandbox.env) as terminal:
        terminal.wait_for("Trust this directory?")
        terminal.press("up")
        terminal.wait_for("Esc No")  # it has been visible for a moment
        terminal.press("enter")
        wait_for(marker.exists, "the tool to be loaded")
        assert agreed(sandbox.locations) == (fingerprint(sandbox.project),)
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    with Terminal([*arguments, "go"], 120, 40, sandbox.env) as terminal:
        screen = terminal.wait_for("All done.", 60)
        assert "Trust this directory?" not in screen
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    (sandbox.project / ".ohw/tools/evil.py").write_text("raise SystemExit\n")
    with Terminal(arguments, 120, 40, sandbox.env) as terminal:
        terminal.wait_for("Trust this directory?")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0


@pytest.mark.parametrize("name", ["__pycache__/helper.cpython-311.pyc", "fast.so", "lib/data.bin", "linked/other.py"])
def test_compiled_and_binary_files_beside_a_tool_are_covered_by_trust(sandbox: Sandbox, marker, name, tmp_path_factory):
    tools = sandbox.project / ".ohw/tools"
    (tools / "linked").symlink_to(tmp_path_factory.mktemp("elsewhere"))
    file = tools / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"\x00one")
    agree(sandbox.locations, sandbox.project, fingerprint(sandbox.project))
    assert is_trusted(sandbox.project, agreed(sandbox.locations))
    file.write_bytes(b"\x00two")
    assert not is_trusted(sandbox.project, agreed(sandbox.locations))
    file.unlink()
    assert not is_trusted(sandbox.project, agreed(sandbox.locations))


IMPORTING = """
import sys
sys.path.insert(0, {folder!r})
import helper
from workbench.tools import ThinkTool as tool
"""


def test_imports_of_a_tool_leave_no_files_that_would_ask_again(sandbox: Sandbox):
    tools = sandbox.project / ".ohw/tools"
    tools.mkdir(parents=True)
    (tools / "own.py").write_text(IMPORTING.format(folder=str(tools)))
    (tools / "helper.py").write_text("def later():\n    import _more\n\n    return _more.x\n")
    agree(sandbox.locations, sandbox.project, fingerprint(sandbox.project))
    done = sandbox.agent("run", "go", "--model", sandbox.script(finish()))
    assert done.returncode == 0, done.stderr
    assert not (tools / "__pycache__").exists()
    assert is_trusted(sandbox.project, agreed(sandbox.locations))
