"""Sessions whose spans are sent to a collector on loopback."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.fakes.otlp_server import OtlpServer
from tests.sandbox import bash, finish
from tests.session.recording import QUIET, go_on
from tests.subagent_scripts import delegating
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.protocol.events import Event
from workbench.session.session_factory import OpenedSession, open_session, start_session
from workbench.session.state import OpenAction

SESSION = "20260101-rename-the-falcon-1a2b"
PROMPT = "Rename the falcon; its key is sk-live-1234567890abcdef1234567890"
MISSING = {"tool": "str_replace_editor", "risk": "LOW", "arguments": {"command": "view", "path": "{workspace}/falcon"}}
DENIED = bash("rm -rf falcon", "HIGH")
AGENTS = {"reviewer": [bash("echo falcon && exit 3"), finish("The falcon is reviewed.")], "otter": [finish("Seen.")]}


def reject(opened: OpenedSession, action: OpenAction) -> None:
    """Reject an action."""
    fingerprint = action.assessed.fingerprint
    opened.session.decide(action.proposed.action_id, "rejected", fingerprint=fingerprint, note="keep the falcon")


class Traced:
    """A session in a directory, with the setting `[telemetry]`."""

    def __init__(self, directory: Path, **telemetry: Any) -> None:
        home = directory / "home"
        self.where = Locations.from_environment({"HOME": str(home), "XDG_RUNTIME_DIR": str(directory / "r")})
        self.work = directory / "work"
        self.work.mkdir(parents=True)
        home.mkdir(exist_ok=True)
        self.script = directory / "script.toml"
        self.telemetry = telemetry
        self.events: list[Event] = []

    def settings(self, model: str, **more: Any) -> Settings:
        """Return the settings, with a kind of sub-agent named reviewer."""
        kinds = {"reviewer": {"description": "Reviews changes.", "prompt": "Review them."}}
        return Settings(model=model, mode="medium", telemetry=self.telemetry, agents=kinds, sandbox="off", **more)

    def opened(self, model: str, *, is_new: bool = True, **more: Any) -> OpenedSession:
        """Start the session, or open it."""
        listeners = {**QUIET, "on_event": self.events.append, **more}
        if is_new:
            return start_session(self.where, self.settings(model), self.work, SESSION, **listeners)
        return open_session(self.where, self.settings(model), SESSION, **listeners)

    def run(self, decide: Callable[[OpenedSession, OpenAction], None] = reject) -> None:
        """Run an agent that delegates, views a missing file and wants to delete one."""
        opened = self.opened(delegating(self.script, AGENTS, MISSING, DENIED))
        try:
            opened.session.send(PROMPT)
            go_on(opened, decide)
        finally:
            opened.close()


def traced(directory: Path, server: OtlpServer, **telemetry: Any) -> Mapping[str, Any]:
    """Run a session that sends its spans to the server; return the times of its first and last event."""
    session = Traced(directory, enabled=True, endpoint=server.url, **telemetry)
    session.run()
    return {"start": session.events[0].at, "end": session.events[-1].at}
