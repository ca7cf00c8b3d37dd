"""Says where a closed session is saved and how to resume it; used by the screen and plain mode."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from workbench.config.locations import Locations
from workbench.durations import measured_duration
from workbench.errors import WorkbenchError
from workbench.session.session_names import session_path
from workbench.session.storage.origin import origin_of
from workbench.session.storage.store import Store
from workbench.session.storage.working_time import working_time
from workbench.text import counted, visible_path
from workbench.view.state import SessionState, UserItem


def farewell(locations: Locations, state: SessionState) -> str:
    """Return where the session is saved and how to resume it, or that it is not saved; empty if the session has no
    message.
    """
    if not state.session_id or not any(isinstance(item, UserItem) for item in state.items):
        return ""
    path = session_path(locations, state.session_id)
    try:
        with Store.open(path, readonly=True) as store:
            is_saved = store.last_seq >= state.last_seq
            worked = working_time(store)
    except WorkbenchError as error:
        return f"The session may not be saved: {error}"
    if not is_saved:
        return f"The last events of this session are not saved in {path}."
    if state.scripted and state.ended == "finished" and _is_deleted(Path(state.workspace)):
        return " · ".join([*_totals(state, worked), "Its directory is deleted. Start the demo again with: ohw demo"])
    if state.workspace and not Path(state.workspace).is_dir() and not origin_of(path):
        directory = visible_path(state.workspace)
        return f"Saved in {path}\nIts directory {directory} is missing; once restored: ohw resume {state.session_id}"
    return " · ".join([*_totals(state, worked), f"Resume with: ohw resume {state.session_id}"])


def _is_deleted(demo: Path) -> bool:
    """Return whether the engine deletes the directory of a finished demo."""
    from workbench.session.demo_directories import is_disposable

    return is_disposable(demo)


def _totals(state: SessionState, worked: float) -> Iterator[str]:
    """Yield what the session cost, if it called a model, how long it worked, and how many files it changed."""
    if state.total_tokens:
        yield "price unknown" if state.cost is None else f"${state.cost:.2f}"
    if worked >= 1:
        yield measured_duration(worked)
    own = sum(bool(file.by & {"agent", "person"}) for file in state.changes.values())
    if own:
        yield f"{counted(own, 'file')} changed"
