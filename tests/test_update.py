"""`ohw update` asks the package index only with --check, once, and says plainly what it cannot know."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.sandbox import Sandbox
from workbench import __version__
from workbench.cli import update
from workbench.cli.update import InstalledPackage

SUMMARY = "A terminal workbench"


@dataclass
class Index:
    """A package index that answers with what a test sets, and counts its requests."""

    body: str = ""
    status: int = 200
    requests: list[str] = field(default_factory=list)


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    state = Index()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.requests.append(self.path)
            self.send_response(state.status)
            if state.status == 302:
                self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(state.body.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        monkeypatch.setattr(update, "INDEX", f"http://127.0.0.1:{server.server_port}/pypi/{{}}/json")
        yield state
        server.shutdown()
        thread.join()


@pytest.fixture
def from_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ohw as it is when it was installed from an index."""
    monkeypatch.setattr(update, "installation", lambda: InstalledPackage("uv", "", SUMMARY))


def project(version: str, summary: str = SUMMARY) -> str:
    return json.dumps({"info": {"version": version, "summary": summary}})


@pytest.mark.usefixtures("from_index")
@pytest.mark.parametrize(
    ("version", "line"),
    [
        ("99.0.1", f"ohw {__version__}; there is 99.0.1. Update with `uv pip install --upgrade workbench`.\n"),
        (__version__, f"ohw {__version__} is the newest version.\n"),
        ("0.0.9", f"ohw {__version__} is the newest version.\n"),
    ],
)
def test_check_makes_one_request_and_compares(sandbox: Sandbox, index: Index, version: str, line: str):
    index.body = project(version)
    done = sandbox.command("update", "--check")
    assert (done.returncode, done.stdout, done.stderr) == (0, line, "")
    assert index.requests == ["/pypi/workbench/json"]


@pytest.mark.usefixtures("from_index")
@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (404, "", "HTTP 404"),
        (302, "", "HTTP 302"),
        (200, "<html>", "does not answer like a package index"),
        (200, "[]", "does not answer like a package index"),
        (200, project("9.9", "Something else"), "is about another project"),
        (200, project("9.9\x1b[31mrc1"), "names a version that cannot be compared"),
    ],
)
def test_check_that_cannot_know_says_why(sandbox: Sandbox, index: Index, status: int, body: str, reason: str):
    index.status, index.body = status, body
    done = sandbox.command("update", "--check")
    assert (done.returncode, done.stdout) == (1, "")
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1
    assert "\x1b" not in done.stderr
    assert len(index.requests) == 1


@pytest.mark.usefixtures("from_index")
def test_check_without_a_connection_says_so(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(update, "INDEX", "http://127.0.0.1:9/pypi/{}/json")
    done = sandbox.command("update", "--check")
    assert (done.returncode, done.stderr.startswith("ohw: cannot ask http://127.0.0.1:9/")) == (1, True)


@pytest.mark.usefixtures("from_index")
def test_nothing_is_asked_without_the_flag(sandbox: Sandbox, index: Index):
    done = sandbox.command("update")
    assert (done.returncode, "`uv pip install --upgrade workbench`" in done.stdout) == (0, True)
    assert index.requests == []


def test_installation_from_a_directory_is_updated_there_and_nothing_is_asked(sandbox: Sandbox, index: Index):
    """The tests run in such an installation."""
    for words in (("update",), ("update", "--check")):
        done = sandbox.command(*words)
        assert done.returncode == 0
        assert f"ohw {__version__}, installed from file://" in done.stdout
        assert "`git pull`" in done.stdout
    assert index.requests == []


@pytest.mark.parametrize(
    ("prefix", "installer", "command"),
    [
        ("/home/me/.local/share/uv/tools/workbench", "uv", "`uv tool upgrade workbench`"),
        ("/home/me/.local/share/pipx/venvs/workbench", "pip", "`pipx upgrade workbench`"),
        ("/srv/app/.venv", "pip", "`python -m pip install --upgrade workbench`"),
    ],
)
def test_command_is_that_of_the_installer(monkeypatch, prefix: str, installer: str, command: str):
    monkeypatch.setattr("sys.prefix", prefix)
    assert InstalledPackage(installer).command == command
