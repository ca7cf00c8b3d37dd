"""A front end that leaves: what it sent last arrives, whatever the engine is writing to it meanwhile."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from tests.sandbox import Sandbox
from workbench.client.engine_client import EngineClient
from workbench.config.settings import Settings
from workbench.engine.launch import Launch
from workbench.engine.sockets import listen
from workbench.protocol.codec import encode
from workbench.protocol.commands import Hello, Interrupt
from workbench.protocol.live import TextDelta
from workbench.session.session_names import socket_path


class SlowEngine(threading.Thread):
    """An engine that answers the greeting, then reads nothing for a moment in which it writes."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self._listener = listen(path)
        self.received = b""
        self.failed: OSError | None = None

    def run(self) -> None:
        connection, _ = self._listener.accept()
        with connection, self._listener:
            connection.recv(1 << 16)
            connection.sendall(encode(Hello()) + b"\n")
            try:
                for _ in range(5):
                    time.sleep(0.1)
                    connection.sendall(encode(TextDelta(text="Still at it. ")) + b"\n")
                while data := connection.recv(1 << 16):
                    self.received += data
            except OSError as error:
                self.failed = error


def test_last_command_before_leaving_arrives(sandbox: Sandbox):
    launch = Launch(sandbox.locations, Settings(), "20260101-left-1a2b", is_new=True)
    engine = SlowEngine(socket_path(launch.locations, launch.session_id))
    engine.start()
    client = EngineClient(launch)
    list(client.history())
    client.send(Interrupt())
    client.close()
    engine.join(10)
    assert engine.failed is None
    assert b'"interrupt"' in engine.received
    assert b'"leave"' in engine.received
