"""The server of the web view with small programs in its tabs: what it refuses, and how keys reach the programs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import psutil
import pytest
from aiohttp import ClientSession, ClientWebSocketResponse, CookieJar, WSMsgType, WSServerHandshakeError, web
from yarl import URL

from tests.serve.serving import protocols
from workbench.serve.access import Access
from workbench.serve.server import ServedView, WebView

pytestmark = pytest.mark.starts
OTHER_SITE = "Pages of other sites may not connect: paste the address into the browser.\n"
SIZES = ["sh", "-c", "while read line; do stty size; done"]


@dataclass
class Served:
    """A running server, and a browser with its cookies."""

    access: Access
    base: str
    browser: ClientSession
    protocols: tuple[str, ...] = ()

    async def get(self, path: str, **headers: str) -> tuple[int, str]:
        async with self.browser.get(URL(self.base + path, encoded=True), headers=headers) as answer:
            return answer.status, await answer.text()

    async def sign_in(self) -> None:
        status, page = await self.get(f"/?token={self.access.new_token()}")
        assert status == 200
        self.protocols = protocols(page)

    def tab(self, size: str = "?width=80&height=24", **headers: str) -> Any:
        headers = {"Origin": self.base, **headers}
        return self.browser.ws_connect(f"{self.base}/ws{size}", headers=headers, protocols=self.protocols)


@asynccontextmanager
async def served(command: Sequence[str] = ("cat",), **view: Any) -> AsyncIterator[Served]:
    access = Access("127.0.0.1")
    runner = web.AppRunner(WebView(ServedView(command, **view), access).application(), shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as browser:
        yield Served(access, f"http://127.0.0.1:{runner.addresses[0][1]}", browser)
    await runner.cleanup()


async def until(tab: ClientWebSocketResponse, text: str) -> str:
    """Return what the program has written, once the text is in it."""
    seen = b""
    while text.encode() not in seen:
        message = await asyncio.wait_for(tab.receive(), 20)
        assert message.type is WSMsgType.BINARY, (message, seen)
        seen += message.data
    return seen.decode()


async def eventually(is_so: Callable[[], bool]) -> bool:
    """Return whether the condition holds within 20 seconds."""
    for _ in range(2_000):
        if is_so():
            return True
        await asyncio.sleep(0.01)
    return False


async def end(tab: ClientWebSocketResponse) -> bytes:
    """Return what the program still writes until the server closes the connection."""
    seen = b""
    while (message := await asyncio.wait_for(tab.receive(), 20)).type is WSMsgType.BINARY:
        seen += message.data
    return seen


async def test_link_opens_the_page_once_and_leaves_a_cookie_that_no_script_reads():
    async with served() as server:
        path = f"/?token={server.access.new_token()}"
        async with server.browser.get(server.base + path) as answer:
            cookie = answer.headers["Set-Cookie"]
            policy = answer.headers["Content-Security-Policy"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert "script-src 'self';" in policy
        assert (await server.get("/"))[0] == 200
        assert (await server.get("/static/textual.js"))[0] == 200
        assert (await server.get("/static/%2e%2e%2fserver.py"))[0] == 404
        server.browser.cookie_jar.clear()
        status, text = await server.get(path)
        assert (status, "has been used" in text) == (403, True)
        assert (await server.get("/?token=wrong"))[0] == 403


@pytest.mark.parametrize("path", ["/", "/static/textual.js", "/ws"])
async def test_nothing_is_served_without_the_cookie(path: str):
    async with served() as server:
        status, text = await server.get(path, Origin=server.base)
        assert (status, "Open the link" in text) == (403, True)
        token = server.access.new_token()
        if path != "/":
            assert (await server.get(f"{path}?token={token}", Origin=server.base))[0] == 403


@pytest.mark.parametrize("path", ["/", "/static/textual.js", "/ws"])
async def test_other_hosts_and_origins_are_refused_even_with_the_cookie(path: str):
    async with served() as server:
        await server.sign_in()
        port = server.base.rpartition(":")[2]
        for host in (f"evil.example:{port}", f"127.0.0.1.evil.example:{port}"):
            assert await server.get(path, Host=host, Origin=f"http://{host}") == (
                403,
                "This server does not have that name: open it by its address, as in the link that was printed.\n",
            )
        for origin in ("http://evil.example", "http://127.0.0.1:1", "null"):
            assert await server.get(path, Origin=origin) == (403, OTHER_SITE)


async def test_tab_needs_an_origin():
    async with served() as server:
        await server.sign_in()
        with pytest.raises(WSServerHandshakeError, match="403"):
            await server.browser.ws_connect(f"{server.base}/ws", protocols=server.protocols)
        with pytest.raises(WSServerHandshakeError, match="403"):
            await server.tab(Origin="http://evil.example")


async def test_keys_reach_the_program_and_its_output_the_browser():
    async with served() as server:
        await server.sign_in()
        async with server.tab() as one, server.tab() as other:
            await one.send_json(["stdin", "abc ß\x1a\r"])
            assert await until(one, "\nabc ß\r\n") == "abc ß\r\nabc ß\r\n"
            await other.send_json(["stdin", "\x04"])
            assert await end(other) == b""
            await one.send_json(["stdin", "more\r"])
            await until(one, "\nmore\r\n")


async def test_program_knows_the_size_of_the_tab():
    async with served(SIZES) as server:
        await server.sign_in()
        async with server.tab("?width=99&height=33") as tab:
            await tab.send_json(["stdin", "\r"])
            assert "33 99" in await until(tab, "33 99")
            await tab.send_json(["resize", {"width": 120, "height": 44}])
            await tab.send_json(["stdin", "\r"])
            await until(tab, "44 120")
            await tab.send_json(["resize", {"width": 10**9, "height": -1}])
            await tab.send_json(["stdin", "\r"])
            await until(tab, "24 80")


async def test_closing_a_tab_ends_its_program(tmp_path):
    ended = tmp_path / "ended"
    async with served(["sh", "-c", f"echo ready; cat; touch {ended}"]) as server:
        await server.sign_in()
        async with server.tab() as tab:
            await until(tab, "ready")
        assert await eventually(ended.exists)


async def test_program_that_ignores_the_end_of_its_terminal_is_killed(monkeypatch):
    monkeypatch.setattr("workbench.serve.terminal._PATIENCE", 0.1)
    async with served(["sh", "-c", "trap '' HUP; echo pid $$; sleep 1000"]) as server:
        await server.sign_in()
        async with server.tab() as tab:
            shown = await until(tab, "\r\n")
        pid = int(shown.split()[1])
        assert await eventually(lambda: not is_alive(pid))


def is_alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


async def test_tabs_over_the_limit_are_refused_and_the_page_is_told_why(tmp_path):
    go = tmp_path / "go"
    async with served(
        ["sh", "-c", f"echo a; cat; for each in $(seq 6000); do test -e {go} && break; sleep 0.01; done"], most_tabs=8
    ) as server:
        await server.sign_in()
        assert await server.get("/limit") == (200, "")
        tabs = [await server.tab() for _ in range(8)]
        await until(tabs[3], "a")
        more = await asyncio.gather(*(server.tab() for _ in range(42)), return_exceptions=True)
        assert [getattr(each, "status", each) for each in more] == [503] * 42
        assert "8 tabs are open, which is the most" in (await server.get("/limit"))[1]
        await tabs[3].close()
        instead = asyncio.create_task(server.tab())
        for tab in tabs[:3]:
            await tab.send_json(["stdin", "still here\r"])
            await until(tab, "\nstill here")
        assert not instead.done(), "the program of the tab that was closed still runs"
        go.touch()
        tabs[3] = await instead
        for tab in tabs:
            await tab.close()


async def test_every_tab_can_be_reloaded_while_as_many_are_open_as_may_be():
    async with served(["sh", "-c", "echo a; cat; sleep 0.3"]) as server:
        await server.sign_in()
        tabs = [await server.tab() for _ in range(8)]
        for tab in tabs:
            await until(tab, "a")
            await tab.close()
        again = await asyncio.gather(*(server.tab() for _ in range(8)))
        assert not any(tab.closed for tab in again)
        for tab in again:
            await until(tab, "a")
            await tab.close()


async def test_program_that_cannot_start_is_reported_in_the_tab():
    async with served(["/nowhere/program"]) as server:
        await server.sign_in()
        async with server.tab() as tab:
            assert b"cannot start: no such program" in await end(tab)


async def test_cookie_alone_opens_no_tab():
    """A server on another port of this host gets the cookie too, and can claim any origin."""
    async with served() as server:
        await server.sign_in()
        offered = server.protocols
        assert offered[1] not in (await server.get("/"))[1]
        for server.protocols in ((), ("ohw",), ("ohw", "none")):
            with pytest.raises(WSServerHandshakeError, match="403"):
                await server.tab()
        server.protocols = offered
        async with server.tab() as tab:
            assert tab.protocol == "ohw"


async def test_link_is_spent_even_if_the_browser_is_admitted_already_and_only_by_opening_it():
    async with served() as server:
        await server.sign_in()
        path = f"/?token={server.access.new_token()}"
        async with server.browser.head(server.base + path) as answer:
            assert answer.status == 405
        assert (await server.get(path))[0] == 200
        assert (await server.get(path))[0] == 403
        assert (await server.get("/"))[0] == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_links_on_other_pages_open_nothing(site: str):
    async with served() as server:
        path = f"/?token={server.access.new_token()}"
        assert await server.get(path, **{"Sec-Fetch-Site": site}) == (403, OTHER_SITE)
        assert (await server.get(path, **{"Sec-Fetch-Site": "none"}))[0] == 200


@pytest.mark.parametrize("path", ["/", "/static/tab.js", "/none"])
async def test_answers_do_not_name_the_software(path: str):
    async with served() as server:
        await server.sign_in()
        async with server.browser.get(server.base + path) as answer:
            assert "Server" not in answer.headers


@pytest.mark.parametrize(
    "line", ["[", "[]", "{}", '["stdin", 5]', '["stdin"]', '["resize", {"width": 5}]', "[" * 20_000, '["other", ""]']
)
async def test_message_that_is_none_closes_only_its_tab(line: str):
    async with served() as server:
        await server.sign_in()
        async with server.tab() as one, server.tab() as other:
            await one.send_str(line)
            assert await end(one) == b""
            await other.send_json(["ping", "1"])
            await other.send_json(["stdin", "abc\r"])
            await until(other, "\nabc")


async def test_program_that_does_not_read_loses_its_tab_and_not_the_memory(monkeypatch):
    monkeypatch.setattr("workbench.serve.terminal._BACKLOG", 100_000)
    async with served(["sh", "-c", "stty raw -echo; echo ready; sleep 1000"]) as server:
        await server.sign_in()
        async with server.tab() as tab:
            await until(tab, "ready")
            for _ in range(10):
                await tab.send_json(["stdin", "x" * 50_000])
            assert await end(tab) == b""


async def test_shared_view_drops_every_key_that_does_not_scroll():
    async with served(["sh", "-c", "stty raw -echo; echo ready; cat -v"], is_read_only=True) as server:
        await server.sign_in()
        async with server.tab() as tab:
            await until(tab, "ready")
            await tab.send_json(["stdin", "rm -rf /\r"])
            await tab.send_json(["stdin", "\x1b[5~y"])
            await tab.send_json(["stdin", "\x1b[B"])
            assert await until(tab, "^[[B") in ("^[[5~^[[B", "\r\n^[[5~^[[B")
