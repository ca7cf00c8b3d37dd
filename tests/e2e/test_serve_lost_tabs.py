"""A run of `ohw serve` continues while tabs are closed and reloaded, and after the server itself was killed."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import ClientSession, CookieJar, WSMsgType

from tests.sandbox import PATIENCE, Sandbox, bash, command_line, finish, wait_for
from tests.serve.serving import protocols, serving
from tests.terminal.screen import Screen
from workbench.protocol.events import RunEnded
from workbench.session.session_names import session_path
from workbench.session.storage.session_list import list_sessions
from workbench.session.storage.store import Store


class Tab:
    """One tab without a browser: what its terminal shows, and keys for it."""

    def __init__(self, socket) -> None:
        self._socket = socket
        self._screen = Screen(100, 30)
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    async def wait_for(self, text: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                while text not in self._screen.text:
                    message = await self._socket.receive()
                    assert message.type is WSMsgType.BINARY, message
                    self._screen.feed(self._decode(message.data))
        except TimeoutError:
            raise AssertionError(f"no {text!r} in:\n{self._screen.text}") from None

    async def send(self, text: str) -> None:
        await self._socket.send_json(["stdin", text])


@asynccontextmanager
async def opened(browser: ClientSession, server: str, offered: tuple[str, str]) -> AsyncIterator[Tab]:
    url, headers = f"{server}/ws?width=100&height=30", {"Origin": server}
    async with browser.ws_connect(url, headers=headers, protocols=offered) as socket:
        yield Tab(socket)


def without_tabs(sandbox: Sandbox) -> bool:
    return not any("browser-tab" in " ".join(command_line(each)) for each in sandbox.processes())


async def test_run_continues_whatever_happens_to_its_tabs(sandbox: Sandbox):
    model = sandbox.script(bash("touch begun; until test -e go; do sleep 0.05; done; touch done"), finish("All done."))
    args = ("--model", model, "--mode", "high", "--workspace", str(sandbox.project))
    with serving(sandbox, *args) as (process, link):
        server = link.partition("/?")[0]
        async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as browser:
            offered = protocols(await (await browser.get(link)).text())
            async with opened(browser, server, offered) as tab:
                await tab.wait_for("What should we work on?")
                await tab.send("begin here")
                await tab.wait_for("begin here")
                await tab.send("\r")
                await tab.wait_for("touch begun")
                await asyncio.to_thread(wait_for, (sandbox.project / "begun").exists, "the command to run")
            await asyncio.to_thread(wait_for, lambda: without_tabs(sandbox), "the program of the closed tab to end")
            async with opened(browser, server, offered) as tab:
                await tab.wait_for("touch begun")
                process.kill()
                process.wait()
    wait_for(lambda: without_tabs(sandbox), "the program of the lost tab to end")
    (sandbox.project / "go").touch()
    wait_for(lambda: not sandbox.processes(), "the engine to end after its run")
    assert (sandbox.project / "done").exists()
    (session,) = list_sessions(sandbox.locations)
    with Store.open(session_path(sandbox.locations, session.id), readonly=True) as store:
        assert [event.reason for event in store.events() if isinstance(event, RunEnded)] == ["finished"]
