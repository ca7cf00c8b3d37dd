"""What each `ohw` command does; called by `cli` with read arguments, returns the exit code."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.config import Locations, Settings, load_settings
from workbench.errors import UsageError, WorkbenchError
from workbench.text import first_line, visible

if TYPE_CHECKING:
    from workbench.session.storage.catalog import SessionSummary

_SEGMENT = ("text", "risk", "reason", "paths")


def _start(arguments: Namespace) -> int:
    where, settings = _settings(arguments, lenient=not arguments.plain)
    return _opener(arguments)(where, settings, _workspace(arguments), prompt=arguments.prompt or "")


def _demo(arguments: Namespace) -> int:
    where, settings = _settings(arguments, lenient=not arguments.plain)
    return _opener(arguments)(where, settings, _workspace(arguments), demo=True)


def _run(arguments: Namespace) -> int:
    where, settings = _settings(arguments)
    prompt = sys.stdin.read() if arguments.prompt == "-" else arguments.prompt
    from workbench.headless import run

    return run(where, settings, _workspace(arguments), prompt, as_json=arguments.json)


def _sessions(arguments: Namespace) -> int:
    where, _ = _settings(arguments)
    from workbench.session.storage.catalog import list_sessions

    sessions = list_sessions(where)
    if sessions:
        from workbench.sessions_page import print_sessions

        print_sessions(sessions)
    else:
        _say("No sessions yet. `ohw PROMPT` starts one.")
    return 0


def _resume(arguments: Namespace) -> int:
    where, settings = _settings(arguments, lenient=not arguments.plain)
    opener = _opener(arguments)
    found = _chosen(where, arguments)
    if found.damaged:
        raise WorkbenchError(f"the session {found.id} cannot be opened: {found.damaged}; its file is left as it is")
    return opener(where, settings, Path(found.workspace), session_id=found.id)


def _export(arguments: Namespace) -> int:
    where, settings = _settings(arguments)
    from workbench.exporting import export_text, save, wanted_of
    from workbench.session.names import session_path
    from workbench.session.storage.store import Store

    wanted = wanted_of(arguments, settings.theme)
    arguments.last = False
    with Store.open(session_path(where, _chosen(where, arguments).id), readonly=True) as store:
        lines = export_text(store, wanted)
        if arguments.output and arguments.output != "-":
            save(lines, Path(arguments.output))
            return 0
        for line in lines:
            _say(line)
    return 0


def _import(arguments: Namespace) -> int:
    from workbench.exporting import import_session

    name = import_session(Locations.from_environment(), arguments.file)
    _say(f"{name}\nGo on with: ohw resume {name}")
    return 0


def _models(arguments: Namespace) -> int:
    where, settings = _settings(arguments)
    from workbench.model_page import models_page, try_model

    if arguments.action == "test":
        _say(try_model(settings, arguments.name, lambda line: _tell(visible(line, lines=False))))
    else:
        _say(models_page(where, settings))
    return 0


def _tools(arguments: Namespace) -> int:
    where, settings = _settings(arguments)
    from workbench.mcp.tools_listed import ListedServers
    from workbench.tools.page import tools_page

    folder = _workspace(arguments)
    servers = ListedServers(where, settings, folder)
    try:
        if arguments.mcp:
            servers.ask()
        more = servers.states()
        page, notices = tools_page(where, servers.settings(settings), folder, as_json=arguments.json, more=more)
    finally:
        servers.close()
    for line in (*notices, *servers.notices):
        _tell(visible(line, lines=False))
    _say(page)
    return 0


def _mcp(arguments: Namespace) -> int:
    where, settings = _settings(arguments)
    from workbench.mcp.page import run

    return run(where, settings, _workspace(arguments), arguments, _say)


def _risk(arguments: Namespace) -> int:
    from workbench.security.described import assess_line
    from workbench.security.places import Places

    places = Places(str(_assumed(arguments.workspace or ".")), str(_assumed(arguments.home or "~")))
    given = [json.dumps({"kind": "bash", "input": command}) for command in arguments.commands]
    for line in given or sys.stdin.buffer:
        text = line if isinstance(line, str) else line.decode(errors="surrogateescape")
        if text.strip():
            found = assess_line(text, places)
            parts = [dict(zip(_SEGMENT, part, strict=False)) for part in found.parts]
            _say(json.dumps({"risk": found.risk, "reasons": found.reasons, "segments": parts}))
    return 0


def _rules(arguments: Namespace) -> int:
    """The rules; 1 where a file has mistakes, so that a script can tell."""
    where, settings = _settings(arguments)
    from workbench.rules_page import rules_page, tried, tried_call

    workspace = _workspace(arguments).expanduser().resolve()
    page, faults = rules_page(where, settings, workspace)
    for line in faults:
        _tell(visible(line, lines=False))
    if arguments.action != "test":
        _say(page)
        return 1 if faults else 0
    if arguments.tool or arguments.path:
        for said in tried_call(
            where, settings, workspace, arguments.tool or "str_replace_editor", arguments.path or ""
        ):
            _say(said)
        return 1 if faults else 0
    lines = arguments.commands or (line.decode(errors="replace").rstrip("\n") for line in sys.stdin.buffer)
    for said in tried(where, settings, workspace, (line for line in lines if line.strip())):
        _say(said)
    return 1 if faults else 0


def _restore(arguments: Namespace) -> int:
    from workbench.session.versions.copies import Copies
    from workbench.session.versions.repository import Repository

    copies = Copies(Repository(Locations.from_environment(), _workspace(arguments), "restore"))
    if arguments.id:
        count = copies.restore(arguments.id, force=arguments.force)
        _say(f"{count} file{'' if count == 1 else 's'} brought back" if count else "every file is there as it was")
        return 0
    for copy in copies.all():
        size = f"{copy.size / 1e6:,.1f} MB" if copy.size >= 100_000 else f"{copy.size:,} bytes"
        what = first_line(copy.command, 80)
        _say(f"{copy.id}  {copy.at[:16].replace('T', ' ')} UTC  {copy.count:>6,} files  {size:>12}  before: {what}")
    if not copies.all():
        _say("No copies here: nothing was deleted or changed in this folder that no version holds.")
    return 0


def _locate(arguments: Namespace) -> int:
    where = Locations.from_environment()
    rows = {
        "settings": where.settings_file,
        "rules": where.rules_file,
        "themes": where.themes,
        "sessions": where.sessions,
        "logs": where.logs,
        "sockets": where.runtime,
    }
    for name, path in rows.items():
        _say(f"{name:<10}{visible(str(path), lines=False)}")
    return 0


COMMANDS: dict[str, Callable[[Namespace], int]] = {
    "": _start,
    "demo": _demo,
    "run": _run,
    "sessions": _sessions,
    "resume": _resume,
    "export": _export,
    "import": _import,
    "models": _models,
    "rules": _rules,
    "restore": _restore,
    "tools": _tools,
    "mcp": _mcp,
    "risk": _risk,
    "locate": _locate,
}


def _settings(arguments: Namespace, *, lenient: bool = False) -> tuple[Locations, Settings]:
    where = Locations.from_environment()
    names = ("model", "api_base", "theme", "mode", "max_steps", "token_limit", "max_cost", "max_observe", "tool_choice")
    settings = load_settings(where, lenient=lenient, **{name: getattr(arguments, name) for name in names})
    from workbench.tools.trust import agreed

    return where, replace(settings, trusted=(*settings.trusted, *agreed(where, settings.trusted)))


def _workspace(arguments: Namespace) -> Path:
    folder = Path(arguments.workspace or ".").expanduser()
    if arguments.workspace == "":
        raise UsageError("--workspace is empty; give a folder")
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise UsageError(f"the folder {folder} {what}; give another one with --workspace")
    return folder.resolve()


def _assumed(folder: str) -> Path:
    """A folder that need not exist."""
    return Path(folder).expanduser().resolve()


def _opener(arguments: Namespace) -> Callable[..., int]:
    """What shows a session: the screen, or lines where they are wanted or nothing else is possible."""
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):  # Textual draws on stderr
        raise UsageError("this needs a terminal for its input, output and errors; without one use `ohw run PROMPT`")
    is_dumb = os.environ.get("TERM", "dumb") == "dumb"
    if not (arguments.plain or is_dumb):
        from workbench.tui.start import open_screen

        return open_screen
    from workbench.plain.start import open_plain

    why = "" if arguments.plain else "This terminal (TERM=dumb) cannot show a screen, so this is plain mode (--plain)."
    return partial(open_plain, said=why)


def _chosen(where: Locations, arguments: Namespace) -> SessionSummary:
    from workbench.session.storage.catalog import find_session, last_session

    if arguments.id and arguments.last:
        raise UsageError("give an ID or --last, not both")
    if arguments.id:
        return find_session(where, arguments.id)
    folder = None if arguments.last else _workspace(arguments)
    found = last_session(where, folder)
    if found is None:
        here = "no session yet" if folder is None else f"no session in {folder} yet"
        raise UsageError(f"there is {here}; `ohw sessions` lists all")
    return found


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def _tell(text: str) -> None:
    sys.stderr.write(f"ohw: {text}\n")
