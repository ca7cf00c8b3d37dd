"""Records sessions with the real tools and a model server on loopback, to be replayed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Turn
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.llm.model import Cancel
from workbench.session.replay.divergence import ReplayResult
from workbench.session.replay.run import ReplayOptions, replay
from workbench.session.session_factory import OpenedSession, open_session, start_session
from workbench.session.session_names import session_path
from workbench.session.state import OpenAction

NAME = "20260101-recorded-1111"
QUIET = {"on_event": lambda event: None, "on_live": lambda live: None}
Decide = Callable[[OpenedSession, OpenAction], None]


def approve(opened: OpenedSession, action: OpenAction) -> None:
    """Approve an action as it was shown."""
    assert action.assessed is not None
    opened.session.decide(action.proposed.action_id, "approved", fingerprint=action.assessed.fingerprint)


def bash(command: str, **more: object) -> Turn:
    """Return an answer that runs one command."""
    return Turn(calls=[Called("execute_bash", {"command": command, "security_risk": "LOW", **more})])


def edit(**arguments: object) -> Turn:
    """Return an answer that calls the editor."""
    return Turn(calls=[Called("str_replace_editor", {"security_risk": "LOW", **arguments})])


class Recording:
    """A workspace and the session in it."""

    def __init__(self, directory: Path) -> None:
        home = directory / "home"
        self.where = Locations.from_environment({"HOME": str(home), "XDG_RUNTIME_DIR": str(directory / "r")})
        self.work = directory / "work"
        self.work.mkdir(parents=True)
        home.mkdir(exist_ok=True)
        self.id = NAME
        self.settings = Settings(mode="never", tools={"python_execute": True, "execute_ipython_cell": True})

    @property
    def path(self) -> Path:
        """The session file."""
        return session_path(self.where, self.id)

    @contextmanager
    def opened(self, turns: Sequence[Turn] = (), *, mode: str = "never") -> Iterator[OpenedSession]:
        """Open the session, or start it, with a model that plays these turns."""
        with ModelServer(list(turns)) as server:
            settings = replace(self.settings, model="openai/fake", api_base=server.base_url, mode=mode)
            settings = replace(settings, from_flags=("model", "api_base", "mode"))
            if self.path.is_file():
                session = open_session(self.where, settings, self.id, **QUIET)
            else:
                session = start_session(self.where, settings, self.work, self.id, **QUIET)
            try:
                yield session
            finally:
                session.close()

    def run(self, *turns: Turn, mode: str = "never", decide: Decide = approve) -> None:
        """Send a message and let the agent play these turns; `decide` is called for each question."""
        with self.opened([*turns, Turn("Done.")], mode=mode) as opened:
            opened.session.send("go")
            go_on(opened, decide)
            opened.session.files.snapshot_now(Cancel())

    def replayed(self, **options: object) -> ReplayResult:
        """Replay the session, all of it unless the options say otherwise."""
        chosen = ReplayOptions(**{"keeps_going": True, **options})  # type: ignore[arg-type]
        return replay(self.where, self.settings, self.id, chosen, Cancel())


def go_on(opened: OpenedSession, decide: Decide = approve) -> None:
    """Step to the end of the run, and decide on each question."""
    for _ in range(200):
        if not opened.session.step():
            question = opened.session.question
            if question is None:
                return
            decide(opened, question)


def tree(directory: Path) -> dict[str, object]:
    """Return every path with its content and its permissions."""
    return {
        str(path.relative_to(directory)): (path.read_bytes() if path.is_file() else None, os.lstat(path).st_mode)
        for path in sorted(directory.rglob("*"))
        if not path.is_symlink() and not path.name.endswith(("-shm", "-wal"))  # SQLite's, of a file that is read
    }


def differences(result: ReplayResult) -> list[str]:
    """Return each divergence as one text."""
    return [
        "\n".join([f"{each.what} of {each.tool} at {each.seq} {each.path}", *each.diff]) for each in result.divergences
    ]
