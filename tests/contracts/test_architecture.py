"""The flows in ARCHITECTURE.md: one real session in this process shows that each passes its modules in that order."""

from __future__ import annotations

import inspect
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from tests.sandbox import Sandbox
from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import text_on
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.engine.handlers import Context, handle
from workbench.protocol.commands import Command
from workbench.session.session_factory import start_session
from workbench.tui.app import WorkbenchApp

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "ARCHITECTURE.md").read_text()
SCRIPT = """
[[turn]]
name = "first"
text = "I write it."
[[turn.call]]
tool = "execute_bash"
risk = "LOW"
arguments = { command = "printf 'two\\\\n' > notes.txt" }
[[turn]]
name = "second"
text = "Done."
"""


class DirectClient(FakeClient):
    """A client whose engine works in this process: each command is handled and followed by the steps it leads to."""

    def __init__(self, sandbox: Sandbox, settings: Settings) -> None:
        super().__init__()
        self.opened = start_session(
            Locations.from_environment(sandbox.env),
            settings,
            sandbox.project,
            "20260101-flow-1111",
            on_event=self.bring,
            on_live=self.bring,
        )

    def send(self, command: Command) -> None:
        handle(command, Context(self.opened, SimpleNamespace()))  # type: ignore[arg-type]
        while self.opened.session.step():
            pass


class Trace:
    """The modules of the workbench in the order in which a function of theirs first ran."""

    def __init__(self) -> None:
        self.modules: list[str] = []

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Note calls on this thread and on those that start meanwhile."""
        self.modules.clear()
        seen = set()
        start = f"{ROOT}/"

        def note(frame: FrameType, event: str, _: Any) -> None:
            path, is_function = frame.f_code.co_filename, frame.f_code.co_flags & inspect.CO_OPTIMIZED
            # Code that runs while a module is loaded, such as the body of a class, is not a step of a flow.
            if event == "call" and is_function and path not in seen and path.startswith(f"{start}workbench/"):
                seen.add(path)
                self.modules.append(path.removeprefix(start))

        threading.setprofile(note)
        sys.setprofile(note)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]


def flow(title: str) -> list[str]:
    """Return the modules that the document lists for a flow, in its order."""
    _, _, behind = DOCUMENT.partition(f"### {title}\n")
    section = behind.partition("\n### ")[0].partition("\n## ")[0]
    return re.findall(r"^\d+\. `([\w/.]+)`", section, re.MULTILINE)


def passed(trace: Trace, title: str) -> list[str]:
    """Return the modules of the flow that ran, in the order in which they first ran."""
    listed = flow(title)
    assert len(listed) >= 6, f"ARCHITECTURE.md lists no flow {title}"
    return [module for module in trace.modules if module in listed]


@pytest.fixture
def client(local_sandbox: Sandbox) -> Iterator[DirectClient]:
    (local_sandbox.project / "notes.txt").write_text("one\n")
    script = local_sandbox.home / "flow.toml"
    script.write_text(SCRIPT)
    client = DirectClient(local_sandbox, Settings(model=f"scripted/{script}", mode="high"))
    yield client
    client.opened.close()


async def type_message(app: WorkbenchApp, pilot: Any) -> None:
    await wait_until(pilot, lambda: app.state.session_id)
    await pilot.press(*"go")
    await pilot.pause()


async def test_from_enter_to_the_timeline(client: DirectClient, local_sandbox: Sandbox):
    app = workbench_app(client, directory=local_sandbox.project)
    trace = Trace()
    async with app.run_test(size=(120, 40)) as pilot:
        await type_message(app, pilot)
        with trace.recording():
            await pilot.press("enter")
            await wait_until(pilot, lambda: "printf" in text_on(app) and "Done." in text_on(app))
    assert passed(trace, "From Enter to the model") == flow("From Enter to the model")
    assert passed(trace, "From a response to its result on the timeline") == flow(
        "From a response to its result on the timeline"
    )
    assert passed(trace, "From a command to its risk") == flow("From a command to its risk")


async def test_from_a_key_in_the_diff_viewer_to_the_file(client: DirectClient, local_sandbox: Sandbox):
    app = workbench_app(client, directory=local_sandbox.project)
    trace = Trace()
    async with app.run_test(size=(120, 40)) as pilot:
        await type_message(app, pilot)
        await pilot.press("enter")
        await wait_until(pilot, lambda: "Done." in text_on(app))
        assert (local_sandbox.project / "notes.txt").read_text() == "two\n"
        await pilot.press("f5")
        await wait_until(pilot, lambda: "hunk 1 of 1" in text_on(app))
        with trace.recording():
            await pilot.press("x")
            await wait_until(pilot, lambda: (local_sandbox.project / "notes.txt").read_text() == "one\n")
    assert passed(trace, "From a key in the diff viewer to the file") == flow(
        "From a key in the diff viewer to the file"
    )


def test_each_package_is_imported_where_the_document_says() -> None:
    rows = re.findall(r"^\| (\w+) \| [^|]+ \| (`workbench/[^|]+) \|$", DOCUMENT, re.MULTILINE)
    assert [name for name, _ in rows] == ["textual", "litellm", "pydantic", "rich", "pexpect", "aiohttp", "watchfiles"]
    for name, modules in rows:
        for module in re.findall(r"`([^`]+)`", modules):
            imported = re.search(rf"^\s*(?:import|from) {name}\b", (ROOT / module).read_text(), re.MULTILINE)
            assert imported, f"{module} imports no {name}"
