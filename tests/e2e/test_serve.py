"""`ohw serve` in a real browser: the same screen in tabs of one session, and what other pages and links get."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.chromium import headless, wait_in
from tests.sandbox import Sandbox, bash, finish, wait_for
from tests.serve.browser_tab import BrowserTab
from tests.serve.serving import serving
from tests.terminal.terminal import Terminal
from tests.tools.browser.conftest import chromium
from workbench.protocol.events import ActionDecided, UserMessage
from workbench.session.session_names import session_path
from workbench.session.storage.session_list import list_sessions
from workbench.session.storage.store import Store
from workbench.view.prompt.prompt_history import PromptHistory

__all__ = ["chromium"]
pytestmark = pytest.mark.timeout(400)  # a Chromium may have to be installed first

VIEWPORT = {"width": 1200, "height": 800}


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with headless(chromium) as browser:
        yield browser


def of_session(sandbox: Sandbox, kind: type) -> list:
    (session,) = list_sessions(sandbox.locations)
    with Store.open(session_path(sandbox.locations, session.id), readonly=True) as store:
        return [event for event in store.events() if isinstance(event, kind)]


def test_session_is_used_from_tabs_as_from_a_terminal(sandbox: Sandbox, browser: Browser):
    model = sandbox.script(bash("touch approved", risk="HIGH"), finish("All done."), finish("Once more."))
    with serving(sandbox, "--model", model, "--workspace", str(sandbox.project)) as (process, link):
        context = browser.new_context(viewport=VIEWPORT)
        tab = BrowserTab(context, link)
        tab.wait_for("What should we work on?")
        assert tab.page.url == link.partition("?")[0]  # the token is not in the history
        tab.send("begin here")
        tab.wait_for("touch approved")
        assert not (sandbox.project / "approved").exists()
        tab.approve()
        tab.wait_for("All done.")
        assert (sandbox.project / "approved").exists()
        decision = of_session(sandbox, ActionDecided)[0]
        assert (decision.by, decision.verdict) == ("person", "approved")

        second = BrowserTab(context, tab.page.url)
        second.wait_for("another screen controls this session")
        tab.wait_for("Another screen of yours is attached")
        second.press("Control+z")  # has no shell to return to
        second.send("/pen")
        second.wait_for("This screen controls the session now")
        second.send("one more")
        second.wait_for("Once more.")
        tab.wait_for("Once more.")

        columns = tab.screen.columns
        tab.page.set_viewport_size({"width": 700, "height": 500})
        tab.wait_until(lambda text: tab.screen.columns < columns - 40 and "Once more." in text, "the smaller screen")
        tab.page.reload()
        tab.wait_for("another screen controls this session")
        tab.wait_for("Once more.")

        server = link.partition("/?")[0]
        assert {url for url in tab.requests if not url.startswith(server)} == set()
        assert tab.errors == second.errors == []
        second.press("Control+q")
        wait_in(second.page, lambda: second.page.locator("#closed").is_visible(), "the notice that it has ended")
        tab.wait_for("This screen controls the session now")
        process.terminate()
        assert process.wait(20) == 0
        wait_in(tab.page, lambda: tab.page.locator("#closed").is_visible(), "the notice that the server has ended")
        context.close()
    wait_for(lambda: not sandbox.processes(), "the tabs and the engine to end")
    assert [event.text for event in of_session(sandbox, UserMessage)] == ["begin here", "one more"]


class _OtherSite(BaseHTTPRequestHandler):
    """A page of another server on this machine."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<title>Other</title>")

    def log_message(self, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def other_site() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _OtherSite) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


_CONNECT = """(url) => new Promise((done) => {
  const socket = new WebSocket(url);
  socket.onmessage = socket.onopen = () => done("open");
  socket.onclose = () => done("refused");
})"""
_READ = """async (url) => {
  try { await fetch(url, {credentials: "include"}); return "read"; } catch { return "refused"; }
}"""


def test_wrong_and_spent_links_and_pages_of_other_sites_are_refused(
    sandbox: Sandbox, browser: Browser, other_site: str
):
    with serving(sandbox, "--model", sandbox.script(finish()), "--workspace", str(sandbox.project)) as (_, link):
        server = link.partition("/?")[0]
        stranger = browser.new_context().new_page()
        assert stranger.goto(f"{server}/?token=wrong").status == 403
        assert stranger.goto(server).status == 403
        context = browser.new_context(viewport=VIEWPORT)
        tab = BrowserTab(context, link)
        tab.wait_for("What should we work on?")
        assert stranger.goto(link).status == 403
        assert "has been used" in stranger.inner_text("body")

        # Cookies ignore the port: this page is on the same site, and its requests have the cookie.
        other = context.new_page()
        other.goto(other_site)
        socket = f"{server.replace('http', 'ws')}/ws?width=80&height=24"
        assert other.evaluate(_CONNECT, socket) == "refused"
        assert other.evaluate(_READ, server) == "refused"
        assert tab.page.evaluate(_CONNECT, socket) == "open"
        assert tab.page.evaluate("document.cookie") == ""
        tab.page.evaluate("localStorage.clear()")
        tab.page.reload()
        reason = tab.page.locator("#reason")
        wait_in(tab.page, lambda: "This tab may not connect" in reason.inner_text(), "what to do without the key")

        violations = []
        tab.page.on("console", lambda line: violations.append(line.text))
        tab.page.evaluate(
            "document.body.append(Object.assign(document.createElement('script'), {text: 'var ran = 1'}))"
        )
        assert tab.page.evaluate("typeof ran") == "undefined"
        assert any("Content Security Policy" in each for each in violations)


def test_shared_view_shows_a_running_session_and_changes_nothing(sandbox: Sandbox, browser: Browser):
    model = sandbox.script(bash("touch approved", risk="HIGH"), finish("All done."))
    args = ["--model", model, "--workspace", str(sandbox.project)]
    assert "no session is running" in sandbox.ohw("serve", "--read-only", "--port", "0").stderr
    PromptHistory(sandbox.locations.prompt_history).remember("sent in another session")
    with Terminal(args, 120, 36, sandbox.env) as owner:
        owner.wait_for("What should we work on?")
        owner.type("begin here")
        owner.press("enter")
        owner.wait_for("y Approve")
        with serving(sandbox, "--read-only") as (_, link):
            context = browser.new_context(viewport=VIEWPORT)
            view = BrowserTab(context, link)
            view.wait_for("touch approved")
            view.wait_for("this view follows the session and controls nothing")
            view.page.wait_for_timeout(1_500)
            view.type("y")
            view.press("Enter", "Control+q", "F1")
            view.page.mouse.click(300, 400)
            view.page.mouse.wheel(0, 300)
            owner.wait_for("Another screen of yours is attached")
            assert not (sandbox.project / "approved").exists()
            owner.press("y")
            owner.wait_for("All done.")
            view.wait_for("All done.")
            view.press("ArrowUp", "ArrowUp", "ArrowUp")
            view.page.wait_for_timeout(1_000)
            assert "sent in another session" not in view.screen.text
            view.page.reload()
            view.wait_for("All done.")
            owner.press("ctrl+q")
            assert owner.wait_exit() == 0
            view.page.mouse.wheel(0, -300)
            assert "This screen controls" not in view.screen.text
            context.close()
        wait_for(lambda: not sandbox.processes(), "the view and the engine to end")


def test_session_named_on_the_command_line_is_resumed(sandbox: Sandbox, browser: Browser, tmp_path: Path):
    model = sandbox.script(finish("All done."))
    assert sandbox.ohw("run", "begin here", "--model", model, "--mode", "never").returncode == 0
    (session,) = list_sessions(sandbox.locations)
    with serving(sandbox, session.id[:12]) as (_, link):
        tab = BrowserTab(browser.new_context(viewport=VIEWPORT), link)
        tab.wait_for("All done.")
        assert tab.page.screenshot(path=tmp_path / "tab.png")
