"""Opens a session in plain mode and prints a summary when it ends; called by the commands."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from workbench.agent.custom_commands import CustomCommands
from workbench.ascii import wants_ascii
from workbench.client.engine_client import EngineClient
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.demo import DEMO_MODEL, DEMO_PROMPT, DEMO_RULES, copy_demo
from workbench.engine.launch import Launch
from workbench.errors import UsageError, WorkbenchError
from workbench.llm.factory import NO_MODEL_MESSAGE
from workbench.plain.line_input import Console, LineAsker
from workbench.plain.never_ask import confirmed_at_start
from workbench.plain.session import PlainSession
from workbench.processes.spawn import end_running
from workbench.session.session_names import new_id, session_path
from workbench.view.approval.never_ask import wants_never, without_never
from workbench.view.approval.trust import TrustQuestion, brings, contents, kind_of, started_by, trust_question
from workbench.view.farewell import farewell
from workbench.view.prompt.completion import ServerOffers
from workbench.view.state import SessionState

_PROMPT = "Trust this directory? Write yes, no or read: "


def ask_trust(console: Console, question: TrustQuestion) -> tuple[str, ...]:
    """Ask whether to trust the workspace; return what the answer adds to `Settings.trusted`."""
    try:
        question.answer(asyncio.run(_ask(console, question)))
    except WorkbenchError as error:
        console.print(f"{error}; you will be asked again.")
    return question.wait()


def _started(question: TrustQuestion, name: str) -> list[str]:
    return [f"    it would start {line}" for line in started_by(question, name)]


async def _ask(console: Console, question: TrustQuestion) -> bool:
    asker = LineAsker(console)
    asker.begin()
    console.listen(lambda line: asker.add_line("no" if line is None else line))
    names = [str(path.relative_to(question.directory)) for path in question.files]
    descriptions = [line for name in names for line in (f"  {name}: {kind_of(name)}", *_started(question, name))]
    try:
        await asker.show(
            [
                f"The directory {question.directory} contains {brings(question)}:",
                *descriptions,
                "Nothing has run. Nothing takes effect unless you say yes.",
                "Trust covers exactly this version; changes ask again.",
            ]
        )
        while (answer := (await asker.answer(_PROMPT)).strip().lower()) == "read":
            await asker.show([contents(question)])
    finally:
        console.deaf()
        console.ask("")
    console.print("The directory is trusted." if answer == "yes" else "They are ignored in this session.")
    return answer == "yes"


_PATIENCE = 1.5
"""How many seconds an orderly end may take after a signal."""


def open_plain(
    locations: Locations,
    settings: Settings,
    workspace: Path,
    *,
    prompt: str = "",
    session_id: str | None = None,
    demo: bool = False,
    notice: str = "",
) -> int:
    """Run a new session, the session `session_id` or the demo in plain mode; return the exit code.

    `notice` is printed first. Raises UsageError if a new session has no model.
    """
    if demo:
        workspace, prompt = copy_demo(), DEMO_PROMPT
        settings = replace(settings, model=DEMO_MODEL, tools={}, mcpServers={}, rules=DEMO_RULES)
    if not (settings.model or session_id):
        raise UsageError(f"{NO_MODEL_MESSAGE}, and `ohw models` lists those there are")
    console = Console(is_ascii=wants_ascii())
    console.print(*([notice] if notice else []), f"Plain mode in {workspace}. /help lists commands, Ctrl+D quits.")
    question = None if demo else trust_question(locations, workspace, settings.trusted, set())
    if question is not None:
        settings = replace(settings, trusted=(*settings.trusted, *ask_trust(console, question)))
    if wants_never(settings, is_new=session_id is None):
        settings = without_never(settings) if demo else confirmed_at_start(console, settings)
    name = session_id or new_id("demo" if demo else prompt or workspace.name)
    client = EngineClient(Launch(locations, settings, name, str(workspace), is_new=session_id is None))
    state = SessionState(workspace=str(workspace), model=settings.model or "", mode=settings.mode)
    offers = ServerOffers(lambda: settings, workspace)
    custom = CustomCommands(lambda: settings, workspace, locations)
    path = session_path(locations, name)
    start = partial(PlainSession, client, state, workspace, console, offers=offers, custom=custom, path=path)
    code = asyncio.run(_talk(partial(start, model_of=lambda name: settings.profile(name).model), prompt))
    if code > 128:
        _insist(code)
    client.close(stop=code > 128)
    if closing := farewell(locations, state):
        console.print(*closing.splitlines())
    return code


async def _talk(make: Callable[[], PlainSession], prompt: str) -> int:
    return await make().run(prompt)


def _insist(code: int) -> None:
    """End the process after a while, even if the terminal is gone or the engine hangs."""

    def end() -> None:
        threading.Event().wait(_PATIENCE)
        sys.stdout.flush()
        end_running()
        os._exit(code)

    threading.Thread(target=end, daemon=True, name="ohw-end").start()
