"""Golden pictures of the diff viewer while a user reviews."""

from __future__ import annotations

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import LOOKS, Look, text_on
from tests.tui.sample_session import WORKSPACE, Script
from tests.tui.test_diff_view import AFTER, BEFORE
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.protocol.event_base import EventBase
from workbench.tui.screens.diff_viewer import DiffViewerScreen
from workbench.tui.widgets.annotated_diff import AnnotatedDiff
from workbench.tui.widgets.diff_files import DiffFiles

SERVER_BEFORE = '''"""Answers requests."""

import json
import logging

log = logging.getLogger(__name__)


class Server:
    """Listens on one address."""

    def __init__(self, host, port):
        self.host = host
        self.port = port
        self.handlers = {}

    def handle(self, path, handler):
        self.handlers[path] = handler

    def answer(self, request):
        handler = self.handlers.get(request.path)
        if handler is None:
            return 404, "not found"
        body = handler(request)
        return 200, json.dumps(body)

    def close(self):
        log.info("closing")
        self.handlers.clear()


def serve(host="localhost", port=8000):
    server = Server(host, port)
    server.handle("/health", lambda request: "ok")
    return server
'''
SERVER_AFTER = (
    SERVER_BEFORE.replace("import json\n", "import json\nfrom collections.abc import Callable\n")
    .replace("def __init__(self, host, port):", "def __init__(self, host: str, port: int, limit: int = 100):")
    .replace(
        "        self.handlers = {}\n", "        self.limit = limit\n        self.handlers: dict[str, Callable] = {}\n"
    )
    .replace('return 404, "not found"', 'return 404, json.dumps({"error": "not found"})')
    .replace('        log.info("closing")\n', "")
)


def session() -> list[EventBase]:
    """Return a session with four files: changed, new, deleted, and one that is not text."""
    script = Script().start().user("Make the server answer in JSON.")
    files = (
        ev.FileDelta(path=f"{WORKSPACE}/src/server.py", before=SERVER_BEFORE, after=SERVER_AFTER),
        ev.FileDelta(path=f"{WORKSPACE}/src/calc.py", before=BEFORE, after=AFTER),
        ev.FileDelta(path=f"{WORKSPACE}/docs/json.md", before=None, after="# Answers\n\nAll answers are JSON.\n"),
        ev.FileDelta(path=f"{WORKSPACE}/logo.png", before="51,204 bytes\n", after="48,011 bytes\n", cut="binary"),
    )
    script.run("execute_bash", "done", "MEDIUM", command="python migrate.py", _exit_code=0, _files=files)
    script.add(ev.RunEnded, reason="finished")
    return script.events


async def reviewing(pilot, client, view):
    """Show a comment on a line and the matches of a search."""
    await pilot.press("j", "down", *("down",) * (not view.geometry.options.beside), "c", *"A limit of what?", "enter")
    await wait_until(pilot, lambda: "✎ A limit of what?" in text_on(pilot.app))
    await pilot.press("slash", *"limit", "enter")
    await wait_until(pilot, lambda: "match 1 of" in text_on(pilot.app) or "match 2 of" in text_on(pilot.app))


async def taken_back(pilot, client, view):
    """Show a reverted hunk, and how to undo that."""
    await pilot.press("j", "x")
    await wait_until(pilot, lambda: client.commands)
    (_, delta) = client.commands[-1]
    client.bring(ev.FilesChanged(seq=pilot.app.state.last_seq + 1, files=(delta,), by="person"))
    await wait_until(pilot, lambda: "Reverted hunk 2" in text_on(pilot.app))


async def not_text(pilot, client, view):
    """Show a file without lines, and the reason."""
    await pilot.press("left_square_bracket")
    await wait_until(pilot, lambda: DiffFiles(view).current == 3)


async def reviewed(pilot, client, view):
    """Show two reviewed files, the cursor on the next one, and how to answer a question that waits."""
    await pilot.press("m", "m")
    await wait_until(pilot, lambda: "2 of 4 files to review" in text_on(pilot.app))
    script = Script()
    script.events, script.actions = session(), 1
    script.ask("execute_bash", "MEDIUM", command="make release")
    client.bring(*script.events[len(session()) :])
    await wait_until(pilot, lambda: "1 action needs approval" in text_on(pilot.app))


SHOWN = [
    *((state, look) for state in (reviewing, reviewed, taken_back, not_text) for look in LOOKS),
    *((reviewing, Look(160, 45, theme)) for theme in ("ohw-dark", "ohw-light")),
]


@pytest.mark.parametrize(("state", "look"), SHOWN, ids=lambda part: getattr(part, "__name__", None) or str(part))
def test_viewer(state, look, picture):
    events = session()
    client = FakeClient(events)
    app = workbench_app(client)

    async def show(pilot):
        client.bring(live.EngineState(state="idle"))
        await wait_until(pilot, lambda: app.state.last_seq == events[-1].seq and app.state.work == "idle")
        await pilot.press("f5")
        await wait_until(pilot, lambda: isinstance(app.screen, DiffViewerScreen) and "class Server" in text_on(app))
        view = app.screen.query_one(AnnotatedDiff)
        await wait_until(pilot, lambda: view.has_focus)
        await state(pilot, client, view)

    assert picture(app, look, show)
