"""Real servers of other projects: time, git and fetch in Python, and the protocol's reference server in node."""

import json
import os
import shutil
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.sandbox import wait_for
from tests.system_packages import found_or_installed
from workbench.mcp.config import read_server
from workbench.mcp.elicitation import LEAVE_OUT, NOTHING
from workbench.mcp.errors import CallRefused
from workbench.mcp.executor import MCPToolExecutor, prompt_text, read_resource
from workbench.mcp.requests import Sample
from workbench.mcp.tool import MCPToolDefinition
from workbench.tools.schema import ImageContent

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]  # missing programs are installed first
EVERYTHING = "@modelcontextprotocol/server-everything"


def tools_of(place, name, **settings):
    client = place.client(read_server(name, {"startTimeout": 90, **settings}, "here", str(place.directory)))
    client.connect().result(120)
    entry = client.pins.entry(client.server)
    return {
        key: MCPToolDefinition(key, tool, name, MCPToolExecutor(client, tool)) for key, tool in entry.tools.items()
    }, entry


def python(module, *words):
    return {"command": sys.executable, "args": ["-m", module, *words]}


def called(tool, **arguments):
    return tool(tool.action_from_arguments(arguments))


def test_time_server_returns_the_time_elsewhere(place):
    tools, _ = tools_of(place, "time", **python("mcp_server_time", "--local-timezone", "UTC"))
    time = json.loads(called(tools["get_current_time"], timezone="Asia/Tokyo").text)
    assert time["timezone"] == "Asia/Tokyo"
    assert time["datetime"].endswith("+09:00")
    wrong = called(tools["get_current_time"], timezone="Nowhere/At_all")
    assert wrong.is_error
    assert "Nowhere" in wrong.text


def test_git_server_reads_and_commits(place):
    subprocess.run(["git", "init", "-q", str(place.directory)], check=True)
    for name, value in (("user.name", "T"), ("user.email", "t@example.org")):
        subprocess.run(["git", "-C", str(place.directory), "config", name, value], check=True)
    (place.directory / "a.txt").write_text("hello\n")
    tools, _ = tools_of(place, "git", **python("mcp_server_git", "--repository", str(place.directory)))
    where = {"repo_path": str(place.directory)}
    assert "a.txt" in called(tools["git_status"], **where).text
    assert not called(tools["git_add"], **where, files=["a.txt"]).is_error
    assert not called(tools["git_commit"], **where, message="First light").is_error
    assert "First light" in called(tools["git_log"], **where).text


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"<html><body><article><h1>A page</h1><p>Words of the page.</p></article></body></html>"
        self.send_response(200 if self.path == "/page" else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        """Write nothing to stderr."""


@pytest.fixture
def page():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/page"
    server.shutdown()
    thread.join()
    server.server_close()


def test_fetch_server_fetches_a_page(place, page):
    tools, _ = tools_of(place, "fetch", **python("mcp_server_fetch", "--ignore-robots-txt", "--allow-private-ips"))
    assert "Words of the page." in called(tools["fetch"], url=page, raw=True).text


@pytest.fixture(scope="session")
def everything(tmp_path_factory) -> dict:
    """Install the reference server once; it is kept for later runs of the tests."""
    # The home directory is gone after the run.
    cache = Path(os.environ["npm_config_cache"]) / "ohw-tests"  # noqa: SIM112 - npm's own name
    script = cache / "node_modules" / EVERYTHING / "dist" / "index.js"
    if not script.exists():
        fresh = tmp_path_factory.mktemp("npm")
        npm = found_or_installed(lambda: shutil.which("npm"), "nodejs", "npm")
        subprocess.run(
            [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(fresh), EVERYTHING], check=True
        )
        cache.parent.mkdir(parents=True, exist_ok=True)
        try:
            fresh.rename(cache)
        except OSError:
            return {"command": "node", "args": [str(fresh / script.relative_to(cache))]}
    return {"command": "node", "args": [str(script)]}


class User:
    """Answers each question with its first option, or with a word; also a model that always gives the same answer."""

    def __init__(self):
        self.asked = []
        self.sampled = []
        self.refusals = []

    def ask(self, text, options, seconds):
        self.asked.append(text)
        usual = [each for each in options if each not in (LEAVE_OUT, NOTHING)]
        return usual[0] if usual else LEAVE_OUT if LEAVE_OUT in options else "Zoe Zebra"

    def sample(self, request, seconds):
        self.sampled.append(request)
        return Sample("Hi from a model.", "a-model")

    def refused(self, why):
        self.refusals.append(why)

    def withdraw(self):
        """Do nothing: no question is open."""

    def call(self, client, name, **arguments):
        """Call a tool that the server offers only to clients that can ask a user."""

        def approved_tool():
            entry = client.pins.entry(client.server)
            if name in entry.waiting:
                client.pins.approve(client.server, entry)
            return entry.usable.get(name)

        definition = wait_for(approved_tool, name)
        tool = MCPToolDefinition(
            "x", definition, "everything", MCPToolExecutor(client, definition, asker_of=self.asker)
        )
        return called(tool, **arguments)

    def asker(self, server):
        return self


def test_reference_server_works_over_stdio(place, everything):
    settings = {**everything, "args": [*everything["args"], "stdio"]}
    tools, entry = tools_of(place, "everything", **settings)
    assert called(tools["echo"], message="hello").text == "Echo: hello"
    assert len(entry.prompts) > 0
    assert len(entry.resources) > 0
    image = called(tools["get-tiny-image"])
    assert any(isinstance(block, ImageContent) for block in image.content)
    long = tools["trigger-long-running-operation"]
    seen = []
    long.executor.on_output = seen.append
    assert not called(long, duration=0.4, steps=2).is_error
    assert seen[-1].startswith("2 of 2")
    missing = called(tools["get-sum"], a=2, b=3)
    assert "5" in missing.text
    client = place.clients[-1]
    page = read_resource([client], "everything:demo://resource/dynamic/text/3", lambda: False)
    assert "Resource 3" in page.text
    listed = next(each for each in entry.resources if each["uri"].endswith("features.md"))
    by_name = read_resource([client], f"everything:{listed['name']}", lambda: False)
    assert (by_name.error, len(by_name.text) > 100) == ("", True)
    prompt = prompt_text([client], "everything", "args-prompt", {"city": "Paris"})
    assert "Paris" in prompt
    with pytest.raises(CallRefused, match="city"):
        prompt_text([client], "everything", "args-prompt", {})
    user = User()
    assert not user.call(client, "trigger-elicitation-request").is_error
    assert user.asked[0].startswith("String (1 of ")
    assert "Boolean" in user.asked[1]
    answer = user.call(client, "trigger-sampling-request", prompt="Say hi", maxTokens=20)
    assert "Hi from a model." in answer.text
    assert "Say hi" in user.sampled[0].parts[0].text


@pytest.mark.parametrize(("kind", "end", "more"), [("streamableHttp", "mcp", {}), ("sse", "sse", {"type": "sse"})])
def test_reference_server_works_over_http(place, everything, kind, end, more):
    port = _free_port()
    command = [everything["command"], *everything["args"], kind]
    env = {**os.environ, "PORT": str(port)}
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_for(lambda: _answers(port), "the server to listen")
            tools, _ = tools_of(place, "everything", url=f"http://127.0.0.1:{port}/{end}", **more)
            assert called(tools["echo"], message="hello").text == "Echo: hello"
            user = User()
            assert not user.call(place.clients[-1], "trigger-elicitation-request").is_error
            assert len(user.asked) > 2
            place.clients.pop().close()
        finally:
            process.kill()


def _answers(port):
    import socket

    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except OSError:
        return False
    return True


def _free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
