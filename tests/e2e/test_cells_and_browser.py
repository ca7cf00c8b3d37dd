"""Cells and the browser in a run of `ohw`: calls are rated, run and logged, and no process is left."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Turn
from tests.fakes.model_turns import finish as model_finish
from tests.sandbox import Sandbox
from tests.terminal.terminal import Terminal
from tests.tools.browser.conftest import chromium
from tests.tools.shells import eventually
from tests.tools.web.site import Site

__all__ = ["chromium"]
pytestmark = pytest.mark.timeout(400)  # a Chromium may have to be installed first

CELL = "from PIL import Image\nprint(__import__('os').environ.get('OPENAI_API_KEY'))\nImage.new('RGB', (8, 8), 'navy')"


def test_run_draws_a_picture_and_reads_a_page(sandbox: Sandbox, chromium: str):
    settings = sandbox.locations.settings_file
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("[tools]\nexecute_ipython_cell = true\nbrowser = true\n")
    with Site({"/": lambda visit: visit.answer(b"<title>Shop</title><button>Buy now</button>")}) as site:
        model = sandbox.script(
            {"tool": "execute_ipython_cell", "risk": "LOW", "arguments": {"code": CELL}},
            {"tool": "browser", "risk": "LOW", "arguments": {"code": f"goto('{site.url()}')"}},
            {"tool": "browser", "risk": "LOW", "arguments": {"code": "click('e2')"}},
            {"tool": "finish", "arguments": {"message": "Done."}},
        )
        done = sandbox.ohw("run", "look", "--model", model, "--mode", "never", "--json")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    seen = [event for event in events if event["kind"] == "action_observed"]
    texts = [event["observation"]["content"][0]["text"] for event in seen]
    assert [event["observation"]["is_error"] for event in seen[:3]] == [False, False, False], texts
    cell, page, clicked = (event["observation"]["content"] for event in seen[:3])
    assert [block["type"] for block in cell] == ["text", "image"]
    assert cell[0]["text"] == "None\n[picture 1]"  # no key of the user's
    assert "Title: Shop" in page[0]["text"]
    assert [block["type"] for block in page] == ["text", "image"]
    assert 'button "Buy now" [active]' in clicked[0]["text"]
    rated = [event for event in events if event["kind"] == "action_assessed"]
    assert [event["risk"] for event in rated[:3]] == ["HIGH", "MEDIUM", "MEDIUM"]
    assert [event["reasons"] for event in rated[1:3]] == [
        ["opens a page of this machine"],
        ['clicks button "Buy now" on 127.0.0.1'],
    ]
    eventually(lambda: not sandbox.processes(), "a process is left")


def test_interpreter_planted_in_the_workspace_does_not_start_unasked(sandbox: Sandbox):
    settings = sandbox.locations.settings_file
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("[tools]\nexecute_ipython_cell = true\n")
    python = sandbox.project / ".venv/bin/python"
    (sandbox.project / ".venv/lib/python3.11/site-packages/IPython").mkdir(parents=True)
    (sandbox.project / ".venv/lib/python3.11/site-packages/IPython/__init__.py").touch()
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\ntouch {sandbox.project}/ran\n")
    python.chmod(0o755)
    model = sandbox.script({"tool": "execute_ipython_cell", "risk": "LOW", "arguments": {"code": "%who"}})
    done = sandbox.ohw("run", "look", "--model", model, "--mode", "medium", "--json")
    assert done.returncode == 3, done.stderr
    rated = [json.loads(line) for line in done.stdout.splitlines() if '"action_assessed"' in line]
    assert [(event["risk"], event["needs_decision"]) for event in rated] == [("MEDIUM", True)]
    assert f"starts {python}, a program from this directory" in json.dumps(rated)
    assert not (sandbox.project / "ran").exists()


PLOT = "import matplotlib.pyplot as plt\nplt.bar(range(4), [1, 3, 2, 4], color='#c02020')\nplt.show()"
FORM = (
    b"""<title>Order</title><form action="/sent"><label>Name <input name="name"></label><button>Send</button></form>"""
)


def called(tool: str, risk: str, **arguments: object) -> Turn:
    words = {"security_risk": risk, "summary": f"Use {tool}", **arguments}
    return Turn(f"Now {tool}.", calls=(Called(tool, words),))


def test_cell_page_form_and_commit_are_each_approved_by_their_risk(sandbox: Sandbox, chromium: str):
    """A real server, a real plot, a real page and a real form, on the real screen."""
    subprocess.run(["git", "init", "-q", str(sandbox.project)], check=True)
    (sandbox.project / "a.txt").write_text("hello\n")
    settings = sandbox.locations.settings_file
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(
        "[tools]\nexecute_ipython_cell = true\nbrowser = true\n"
        f'[tools.web_read]\nprivate = ["127.0.0.1"]\n[mcpServers.git]\ncommand = {json.dumps(sys.executable)}\n'
        'args = ["-m", "mcp_server_git"]\nstartTimeout = 90\nfirstWait = 90\n'
    )
    pages = {
        "/page": lambda visit: visit.answer(b"<main><h1>Prices</h1><p>A pear costs one crown.</p></main>"),
        "/form": lambda visit: visit.answer(FORM),
        "/sent": lambda visit: visit.answer(b"<title>Thank you</title>"),
    }
    steps = [
        (called("git_add", "LOW", repo_path=str(sandbox.project), files=["a.txt"]), "git_add of the MCP server git"),
        (called("execute_ipython_cell", "LOW", code=PLOT), "plt.show()"),
        (called("web_read", "LOW", url="{}/page"), "web_read"),
        (called("browser", "LOW", code="goto('{}/form')"), "opens a page of this machine"),
        (called("browser", "LOW", code="fill('e4', 'Ada')\nclick('e5')"), 'clicks button "Send" on 127.0.0.1'),
    ]
    with Site(pages) as site:
        turns = [placed(turn, site.url().rstrip("/")) for turn, _ in steps]
        with ModelServer([*turns, model_finish("All done.")]) as server:
            model = ("--model", "openai/x", "--api-base", server.base_url, "--mode", "medium")
            arguments = ["--workspace", str(sandbox.project), *model, "reach out"]
            with Terminal(arguments, 120, 40, sandbox.env) as screen:
                for _, shown in steps:
                    screen.wait_until(lambda text, mark=shown: "y Approve" in text and mark in text, shown, 120)
                    screen.press("y")
                    screen.wait_until(
                        lambda text, mark=shown: "y Approve" not in text or mark not in text, "the answer"
                    )
                screen.wait_for("All done.", 120)
                screen.press("ctrl+q")
                assert screen.wait_exit() == 0
            asked = server.requests
    assert [visit.path for visit in site.visits if visit.path.startswith("/sent")] == ["/sent?name=Ada"]
    staged = subprocess.run(["git", "-C", str(sandbox.project), "status", "-s"], capture_output=True, text=True)
    assert "A  a.txt" in staged.stdout
    messages = json.dumps([request.messages for request in asked[-1:]])
    assert "A pear costs one crown." in messages
    assert "data:image/png" in messages
    eventually(lambda: not sandbox.processes(), "a process is left")


def placed(turn: Turn, address: str) -> Turn:
    """Return the turn with the address of the site filled in."""
    (one,) = turn.calls
    arguments = {
        name: value.replace("{}", address) if isinstance(value, str) else value for name, value in one.arguments.items()
    }
    return replace(turn, calls=(replace(one, arguments=arguments),))
