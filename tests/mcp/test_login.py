"""A server that requires a sign-in: the user signs in once, the token is renewed, and the user learns if that fails."""

import asyncio
import json
import os
import socket
import stat
import sys
import threading
import types
import urllib.request
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from tests.fakes.oauth_server import OAuthServer
from tests.mcp.conftest import ask
from tests.sandbox import finish
from workbench.errors import UsageError
from workbench.mcp.config import read_server
from workbench.mcp.errors import ServerFailed
from workbench.mcp.login import Loopback, RedirectAnswer, login, logout
from workbench.mcp.token_store import TokenStore
from workbench.secrets.masker import MASKER


@pytest.fixture(autouse=True)
def _no_keyring(monkeypatch):
    """Make `keyring` unavailable, as where the package is not installed."""
    monkeypatch.setitem(sys.modules, "keyring", None)


class Keyring(types.ModuleType):
    """A package that behaves as `keyring` does."""

    def __init__(self):
        super().__init__("keyring")
        self.kept = {}
        self.errors = types.SimpleNamespace(KeyringError=OSError)

    def set_password(self, service, name, word):
        self.kept[service, name] = word

    def get_password(self, service, name):
        return self.kept.get((service, name))

    def delete_password(self, service, name):
        del self.kept[service, name]


@pytest.fixture
def keyring(monkeypatch):
    made = Keyring()
    monkeypatch.setitem(sys.modules, "keyring", made)
    return made


class User:
    """Reads the messages of the sign-in, and opens the address in a browser."""

    def __init__(self):
        self.said = []
        self.pages = []
        self.notices = []
        self._threads = []

    def __call__(self, line):
        self.said.append(line)
        for word in line.split():
            if word.startswith("http://") and "/authorize?" in word:
                self._threads.append(threading.Thread(target=self._open, args=(word,)))
                self._threads[-1].start()

    def _open(self, address):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(address, timeout=30) as page:
            self.pages.append(page.read().decode())

    def leave(self):
        for thread in self._threads:
            thread.join(30)


@pytest.fixture
def user():
    made = User()
    yield made
    made.leave()


def web(place, url, **more):
    return read_server("web", {"url": url, "startTimeout": 60, **more}, "here", str(place.directory))


def signed_in(place, server, user, **more):
    settings = web(place, server.url, **more)
    store = TokenStore(place.locations, settings)
    login(store, settings, user)
    return settings, store


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """A file that gets the addresses that are opened in the browser, one to a line."""
    log = tmp_path / "opened"
    for name in ("xdg-open", "wslview", "open"):
        script = tmp_path / "desktop" / name
        script.parent.mkdir(exist_ok=True)
        script.write_text(f'#!/bin/sh\necho "$1" >>"{log}"\n')
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/desktop:{os.environ['PATH']}")
    monkeypatch.setenv("DISPLAY", ":0")
    return log


def test_server_that_requires_a_sign_in_says_how_and_opens_no_browser(place, opened):
    with OAuthServer() as server, pytest.raises(ServerFailed, match="to sign in: ohw mcp login web"):
        place.client(web(place, server.url)).connect().result(60)
    assert server.clients == {}
    assert server.asked == []
    assert not opened.exists()


@pytest.mark.parametrize("is_asked", [True, False], ids=["asked", "not asked"])
def test_sign_in_opens_the_browser_only_if_asked_to(place, user, opened, is_asked):
    with OAuthServer() as server:
        settings = web(place, server.url)
        login(TokenStore(place.locations, settings), settings, user, opens_browser=is_asked)
        user.leave()
    for thread in threading.enumerate():
        if thread.name == "ohw-opener":
            thread.join(30)
    shown = [word for line in user.said for word in line.split() if "/authorize?" in word]
    assert len(shown) == 1
    assert (opened.read_text().split() if opened.exists() else []) == (shown if is_asked else [])


def test_sign_in_uses_pkce_and_is_stored_privately(place, user):
    with OAuthServer() as server:
        settings, store = signed_in(place, server, user)
        user.leave()
        assert "You are signed in." in user.pages[0]
        assert ask(place.tool(server=settings), "hello").text == "echo: hello"
        place.clients.pop().close()
    asked = server.asked[0]
    assert asked["code_verifier"]
    assert asked["resource"] == server.url
    tokens = place.locations.data / "mcp" / "tokens"
    assert stat.S_IMODE(tokens.stat().st_mode) == 0o700
    assert [stat.S_IMODE(file.stat().st_mode) for file in tokens.glob("*.key")] == [0o600]
    tokens = store.read()
    assert tokens.access in server.access
    assert tokens.access not in "".join(user.said)
    assert MASKER.masked(f"a {tokens.access} b {tokens.refresh} c") == (
        "a ‹secret of the MCP server web› b ‹secret of the MCP server web› c"
    )
    logs = "".join(file.read_text() for file in place.locations.logs.glob("*.log"))
    assert "ready" in logs
    assert tokens.access not in logs


def test_m08_expired_token_is_renewed_before_use(place, user):
    with OAuthServer() as server:
        settings, store = signed_in(place, server, user)
        old = store.read()
        store.write(replace(old, until=1.0))
        before = len(server.requests)
        assert ask(place.tool(server=settings), "hello").text == "echo: hello"
        place.clients.pop().close()
    assert store.read().access != old.access
    assert [asked["grant_type"] for asked in server.asked] == ["authorization_code", "refresh_token"]
    assert server.asked[1]["resource"] == server.url
    sent = [headers.get("authorization") for _, path, headers in server.requests[before:] if path == "/mcp"]
    assert f"Bearer {old.access}" not in sent


def test_m08_token_refused_during_a_session_is_renewed_and_the_call_succeeds(place, user):
    with OAuthServer(seconds=None) as server:
        settings, store = signed_in(place, server, user)
        tool = place.tool(server=settings)
        server.access.clear()
        assert ask(tool, "hello").text == "echo: hello"
        assert store.read().access in server.access
        place.clients.pop().close()


def test_two_processes_do_not_renew_the_same_token(place, user):
    with OAuthServer() as server:
        settings, store = signed_in(place, server, user)
        tool = place.tool(server=settings)
        server.access.clear()
        renewed = replace(store.read(), access="access-of-the-other")
        server.access.add("access-of-the-other")
        server.refresh.clear()
        store.write(renewed)  # as another process would
        assert ask(tool, "hello").text == "echo: hello"
        place.clients.pop().close()
    assert [asked["grant_type"] for asked in server.asked] == ["authorization_code"]


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("over", "it has ended the sign-in; the user can sign in again with: ohw mcp login web"),
        ("down", "its sign-in could not be renewed (HTTP 503); try again"),
    ],
)
def test_m08_expired_sign_in_is_an_observation_and_a_new_one_works_at_once(place, user, mode, words):
    with OAuthServer() as server:
        settings, store = signed_in(place, server, user)
        tool = place.tool(server=settings)
        tool.executor._notice = user.notices.append
        server.access.clear()
        server.mode = mode
        for _ in range(4):
            seen = ask(tool, "hello")
            assert seen.is_error
            assert seen.text == f"the MCP server web cannot be used: {words}"
            assert user.notices[-1] == seen.text
        server.mode = ""
        login(store, settings, user)
        assert ask(tool, "hello").text == "echo: hello"
        place.clients.pop().close()


def test_m08_token_is_not_sent_to_another_host(place, user):
    with OAuthServer() as server, OAuthServer() as other:
        settings, store = signed_in(place, server, user)
        server.mode, server.target = "redirect", other.url.replace("127.0.0.1", "localhost")
        with pytest.raises(ServerFailed, match="web cannot be used"):
            place.client(settings).connect().result(60)
        assert server.requests[-1][2]["authorization"] == f"Bearer {store.read().access}"
        assert other.requests == []


def test_repeated_sign_in_reuses_the_client_and_logout_deletes_it(place, user):
    with OAuthServer() as server:
        settings, store = signed_in(place, server, user)
        login(store, settings, user)
        assert len(server.clients) == 1
        logout(store, settings, user)
        assert not store.is_there
        assert store.read() is None
        logout(store, settings, user)
    assert user.said[-2:] == ["The sign-in at web is deleted.", "There is no sign-in at web."]


def test_sign_in_denied_by_the_user_is_reported(place, user):
    with OAuthServer("denied") as server, pytest.raises(ServerFailed, match=r"was refused \(access_denied\)"):
        signed_in(place, server, user)
    assert "was refused" in user.pages[0]


def test_sign_in_applies_to_its_server_and_configured_headers_take_precedence(place, user, monkeypatch):
    with OAuthServer() as server, OAuthServer() as other:
        _, store = signed_in(place, server, user)
        with pytest.raises(ServerFailed, match="to sign in"):
            place.client(web(place, other.url)).connect().result(60)
        off = web(place, server.url, oauth=False)
        with pytest.raises(ServerFailed, match="HTTP 401"):
            place.client(off).connect().result(60)
        with pytest.raises(ServerFailed, match="HTTP 401"):
            place.client(web(place, server.url, headers={"Authorization": "Bearer mine"})).connect().result(60)
    assert all(store.read().access not in json.dumps(request) for request in other.requests)
    assert "Bearer mine" in {headers.get("authorization") for _, _, headers in server.requests}


def test_configured_client_is_not_registered(place, user):
    with OAuthServer() as server:
        server.clients["known-client"] = [f"http://127.0.0.1:{free_port()}/callback"]
        port = int(server.clients["known-client"][0].split(":")[2].partition("/")[0])
        signed_in(place, server, user, oauth={"clientId": "known-client", "callbackPort": port})
        assert server.asked[0]["client_id"] == "known-client"
        assert list(server.clients) == ["known-client"]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"url": "http://example.org/mcp"}, "a token would go unencrypted to example.org"),
        ({"command": "x"}, "runs on this machine"),
    ],
)
def test_impossible_sign_in_is_reported(place, settings, words):
    server_config = read_server("web", settings, "here", str(place.directory))
    with pytest.raises(UsageError, match=words):
        login(TokenStore(place.locations, server_config), server_config, print)


def test_keyring_stores_the_sign_in_if_available(place, user, keyring):
    with OAuthServer() as server:
        settings, store = signed_in(place, server, user)
        tokens = place.locations.data / "mcp" / "tokens"
        assert [json.loads(file.read_text()) for file in tokens.glob("*.key")] == [{"place": "keyring"}]
        assert "the keyring of the system" in user.said[-1]
        assert ask(place.tool(server=settings), "hello").text == "echo: hello"
        place.clients.pop().close()
        logout(store, settings, user)
    assert keyring.kept == {}


async def test_loopback_answers_only_the_redirect_of_a_sign_in():
    async with Loopback() as listener:

        async def got(path):
            reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(listener.url).port)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            page = await reader.read()
            writer.close()
            return page.split(b"\r\n")[0].decode()

        assert await got("/favicon.ico") == "HTTP/1.1 404 Not Found"
        assert await got("/callback") == "HTTP/1.1 404 Not Found"
        assert await got("/callback?code=one&state=s&iss=http%3A%2F%2Fx") == "HTTP/1.1 200 OK"
        assert await got("/callback?code=two&state=s") == "HTTP/1.1 200 OK"
        assert await listener.answer() == RedirectAnswer("one", "s", "http://x")


def test_command_signs_in_and_a_run_reports_that_it_is_needed(sandbox):
    """The real program: a run without a sign-in, the sign-in of the user, a run with it."""
    sandbox.locations.config.mkdir(parents=True, exist_ok=True)
    with OAuthServer() as server:
        sandbox.locations.settings_file.write_text(
            f'[mcpServers.web]\nurl = "{server.url}"\nstartTimeout = 60\nfirstWait = 60\n'
        )
        options = ("--mode", "never", "--json")
        first = sandbox.ohw("run", "go", *options, "--model", sandbox.script(finish()))
        assert first.returncode == 0, first.stderr
        assert "the MCP server web cannot be used: HTTP 401 Unauthorized" in first.stderr
        assert "to sign in: ohw mcp login web" in first.stderr
        process = sandbox.start("mcp", "login", "web")
        address = next(line.strip() for line in process.stdout if "/authorize?" in line)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address, timeout=30) as page:
            assert "You are signed in." in page.read().decode()
        output, complaint = process.communicate(timeout=60)
        assert (process.returncode, complaint) == (0, "")
        assert "Signed in at web." in output
        assert "web responds" in output
        called = {"tool": "echo", "risk": "LOW", "arguments": {"text": "hello"}}
        done = sandbox.ohw("run", "go", *options, "--model", sandbox.script(called, finish()))
        assert done.returncode == 0, done.stderr
        assert "echo: hello" in done.stdout
        token = max(server.access)
        assert token not in done.stdout + done.stderr + output
        assert "web  1 tool, signed in" in sandbox.command("mcp").stdout
        assert sandbox.command("mcp", "logout", "web").stdout == "The sign-in at web is deleted.\n"


def test_sse_server_reports_the_need_to_sign_in_too(place):
    with OAuthServer() as server:
        server.got = lambda handler: server.send(handler, 401)
        with pytest.raises(ServerFailed, match="to sign in: ohw mcp login web"):
            place.client(web(place, server.url, type="sse")).connect().result(60)
        place.clients.pop().close()
