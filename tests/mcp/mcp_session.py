"""A whole session in this process with the small MCP server and a model that plays its answers; for tests."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.mcp.conftest import approve_all, fake_server
from tests.session.fake_agent import NamedModel
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.protocol.events import Event
from workbench.protocol.live import LiveEvent
from workbench.session import model_keys
from workbench.session.session_factory import OpenedSession, start_session


@dataclass
class McpHarness:
    """The session, its messages to the user, and its model."""

    opened: OpenedSession
    model: NamedModel
    events: list[Event]
    lives: list[LiveEvent]
    home: Path
    steps: list[threading.Thread] = field(default_factory=list)

    def say(self, text: str, *mentions: str) -> None:
        """Send a message of the user, then step until a user is needed."""
        self.opened.session.send(text, mentions)
        self.step()

    def step(self) -> None:
        while self.opened.session.step():
            pass

    def step_beside(self) -> None:
        """Do the same in a thread, for tests of questions in the middle of a step."""
        thread = threading.Thread(target=self.step, daemon=True)
        thread.start()
        self.steps.append(thread)

    def join(self) -> None:
        for thread in self.steps:
            thread.join(60)
            assert not thread.is_alive()

    def of(self, kind: str) -> list[Any]:
        return [event for event in self.events if event.kind == kind]

    def asked(self, number: int = -1) -> str:
        """Return the messages of a request to the model as one text."""
        parts = [message["content"] for message in self.model.requests[number].messages]
        blocks = [block for part in parts for block in (part if isinstance(part, list) else [{"text": part}])]
        return "\n".join(str(block.get("text") or block.get("image_url")) for block in blocks)


@contextmanager
def mcp_harness(
    home: Path,
    monkeypatch: Any,
    *answers: Any,
    options: dict[str, Any] | None = None,
    server: Any = (),
    approved: bool = False,
    has_user: bool = False,
    **more: Any,
) -> Iterator[McpHarness]:
    """Open a session in a directory, with the server `fake`; `server` holds further settings of it.

    With `approved`, the user has approved its tools before. With `has_user`, a user answers its questions.
    """
    model = NamedModel("fake/one", *answers)
    monkeypatch.setattr(model_keys, "open_profile", lambda profile, api_key: model)
    project = home / "project"
    project.mkdir(exist_ok=True)
    table = {"fake": fake_server(home, options, **dict(server))}
    settings = Settings(model="openai/x", mcpServers=table, mode=more.pop("mode", "never"), **more)
    where = Locations(*(home / name for name in ("c", "d", "s", "r")))
    events: list[Event] = []
    lives: list[LiveEvent] = []
    if approved:
        approve_all(where, table, project)
    opened = start_session(
        where,
        settings,
        project,
        "20260101-a-1111",
        on_event=events.append,
        on_live=lives.append,
        has_user=has_user,
    )
    try:
        yield McpHarness(opened, model, events, lives, home)
    finally:
        opened.close()
