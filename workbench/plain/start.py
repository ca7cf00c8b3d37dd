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
from typing import TYPE_CHECKING, Any

from workbench.agent.custom_commands import CustomCommands
from workbench.ascii import wants_ascii
from workbench.client.client import Client
from workbench.client.engine_client import EngineClient
from workbench.config.devcontainer import files_of_project
from workbench.config.locations import Locations
from workbench.config.settings import Settings, read_container, wants_never, without_never
from workbench.demo import DEMO_MODEL, DEMO_PROMPT, DEMO_RULES, copy_demo
from workbench.engine.launch import Launch
from workbench.errors import UsageError, WorkbenchError
from workbench.llm.factory import NO_MODEL_MESSAGE
from workbench.plain.line_input import Console, LineAsker
from workbench.plain.never_ask import confirmed_at_start
from workbench.plain.session import PlainSession
from workbench.processes.spawn import end_running
from workbench.protocol.commands import ChangeSettings
from workbench.session.mentions import mentioned
from workbench.session.session_names import new_id, session_path
from workbench.view.approval.trust import TrustQuestion, brings, contents, started_by, trust_question
from workbench.view.farewell import farewell
from workbench.view.hook_list import hooks_of, hooks_text
from workbench.view.prompt.completion import ServerOffers
from workbench.view.state import SessionState

if TYPE_CHECKING:
    from workbench.client.remote_client import RemoteClient

_PROMPT = "Trust this directory? Write yes, no or read: "


def ask_trust(console: Console, question: TrustQuestion) -> tuple[str, ...]:
    """Ask whether to trust the workspace; return the entries that the answer adds to `Settings.trusted`."""
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
    descriptions = [
        line for name in question.names for line in (f"  {name}: {question.kind_of(name)}", *_started(question, name))
    ]
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


_DEMO: dict[str, Any] = {"model": DEMO_MODEL, "tools": {}, "mcpServers": {}, "hooks": (), "rules": DEMO_RULES}
"""The settings that the demo overrides."""
_HOOKS_THERE = "The hooks of this session are on the other machine; `ohw hooks` lists them there."
_PATIENCE = 1.5
"""The seconds that an orderly end may take after a signal."""


def open_plain(
    locations: Locations,
    settings: Settings,
    workspace: Path,
    *,
    prompt: str = "",
    session_id: str | None = None,
    demo: bool = False,
    notice: str = "",
    remote: RemoteClient | None = None,
    never_asks: bool = False,
) -> int:
    """Run a new session, the session `session_id`, the demo or a `remote` session in plain mode; return the exit code.

    `notice` is printed first. With `never_asks`, the user is asked whether to use that mode in a remote session. Raises
    UsageError if a new session has no model.
    """
    if remote is not None:
        console = _greeted(workspace, notice)
        if never_asks and confirmed_at_start(console):
            remote.send(ChangeSettings(mode="never", confirmed=True))
        return _open_remote(locations, settings, remote, prompt, console)
    if demo:
        workspace, prompt, settings = copy_demo(), DEMO_PROMPT, replace(settings, **_DEMO)
    if not (settings.model or session_id):
        raise UsageError(f"{NO_MODEL_MESSAGE}, and `ohw models` lists those there are")
    console = _greeted(workspace, notice)
    settings = settings if demo else _with_trust(console, locations, settings, workspace)
    if wants_never(settings, is_new=session_id is None):
        settings = settings if not demo and confirmed_at_start(console) else without_never(settings)
    name = session_id or new_id("demo" if demo else prompt or workspace.name)
    client = EngineClient(Launch(locations, settings, name, str(workspace), is_new=session_id is None))
    state = SessionState(workspace=str(workspace), model=settings.model or "", mode=settings.mode)
    run = partial(_run, client, state, console, settings, locations=locations, name=name, prompt=prompt)
    return run(model_of=lambda name: settings.profile(name).model, is_here=True)


def _greeted(workspace: Path, notice: str) -> Console:
    console = Console(is_ascii=wants_ascii())
    console.print(*([notice] if notice else []), f"Plain mode in {workspace}. /help lists commands, Ctrl+D quits.")
    return console


def _open_remote(locations: Locations, settings: Settings, client: RemoteClient, prompt: str, console: Console) -> int:
    name, state = client.session.id, SessionState(workspace=str(client.session.url.display_path))
    # The servers of the session, and the accounts of its models, are those of the other machine.
    settings = replace(settings, mcpServers={})
    run = partial(_run, client, state, console, settings, locations=locations, name=name, prompt=prompt)
    return run(model_of=lambda model: "", is_here=False)


def _run(
    client: Client,
    state: SessionState,
    console: Console,
    settings: Settings,
    *,
    locations: Locations,
    name: str,
    prompt: str,
    model_of: Callable[[str], str],
    is_here: bool,
) -> int:
    """Run the session `name` until the user quits; return the exit code. `model_of` is that of `PlainSession`.

    Unless `is_here` (the session runs on this machine), the engine finds the files that a message mentions.
    """
    workspace = Path(state.workspace)
    offers = ServerOffers(lambda: settings, workspace)
    start = partial(
        PlainSession,
        client,
        state,
        workspace,
        console,
        offers=offers,
        custom=CustomCommands(lambda: settings, workspace, locations),
        model_of=model_of,
        mentions_of=lambda text: mentioned(text, workspace, offers.is_resource(text)) if is_here else None,
        hooks_page=lambda: hooks_text(hooks_of(locations, settings, workspace), locations) if is_here else _HOOKS_THERE,
        path=session_path(locations, name),
    )
    code = asyncio.run(_talk(start, prompt))
    if code > 128:
        _insist(code)
    client.close(stop=code > 128)
    if closing := farewell(locations, state):
        console.print(*closing.splitlines())
    return code


def _with_trust(console: Console, locations: Locations, settings: Settings, workspace: Path) -> Settings:
    """Return the settings with what the user trusts in the workspace, after asking the user if necessary."""
    files = files_of_project(read_container(settings.container), workspace)
    question = trust_question(locations, workspace, settings.trusted, set(), files)
    if question is None:
        return settings
    return replace(settings, trusted=(*settings.trusted, *ask_trust(console, question)))


async def _talk(make: Callable[[], PlainSession], prompt: str) -> int:
    return await make().run(prompt)


def _insist(code: int) -> None:
    """End the process after `_PATIENCE` seconds, even if the terminal is gone or the engine hangs."""

    def end() -> None:
        threading.Event().wait(_PATIENCE)
        sys.stdout.flush()
        end_running()
        os._exit(code)

    threading.Thread(target=end, daemon=True, name="ohw-end").start()
