"""Which tools there are for a folder, and how they stand in a session; for the Tools screen, asked in a process apart.

What others wrote may run to be listed; it must not run where the screen does.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Final

from workbench.errors import WorkbenchError
from workbench.processes import isolated_python, run
from workbench.tui.fold.state import SessionState
from workbench.tui.wording.tool_rows import ToolRow, tool_rows

_SECONDS: Final = 60.0
_FINDER: Final = "find_tools"


def tools_here(folder: Path, state: SessionState) -> Sequence[ToolRow]:
    """All of them; blocks, so it is called in a thread. Raises WorkbenchError."""
    command = isolated_python("workbench", "tools", "--json", "--all", f"--workspace={folder}")
    try:
        done = run(command, input="", capture_output=True, text=True, timeout=_SECONDS)
        listed = json.loads(done.stdout) if not done.returncode else []
    except (OSError, ValueError) as error:
        raise WorkbenchError(f"the tools could not be listed: {error}") from error
    if done.returncode:
        raise WorkbenchError(done.stderr.strip().removeprefix("ohw: ") or f"it ended with {done.returncode}")
    session = state.tools
    return tool_rows(listed, session, on_request(session, _asked_for(state)))


def _asked_for(state: SessionState) -> Iterable[str]:
    """What `find_tools` found in this session."""
    for item in list(state.actions.values()):
        if item.tool == _FINDER:
            found = item.observation.get("found", ())
            yield from (str(name) for name in found) if isinstance(found, list | tuple) else ()


def on_request(session: Collection[str], asked: Iterable[str]) -> Collection[str]:
    """Those that the model is not shown yet."""
    from workbench.tools.find_tools.offer import Offer

    offer = Offer()
    offer.use(dict.fromkeys(session))  # type: ignore[arg-type]
    offer.ask_for(asked)
    return set(offer.hidden) if _FINDER in session else ()
