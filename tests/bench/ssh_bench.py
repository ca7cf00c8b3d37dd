"""A session on another machine: an event's way to the screen over a round trip of the link, and connecting again.

The other machine is this one behind a real sshd, and the link is that of the tests: it can be delayed and cut.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.measure import Measure
from tests.remote.far_machine import FarMachine, start_far_machine
from tests.sandbox import Sandbox, finish
from workbench.client.client import Reconnected
from workbench.client.remote_client import RemoteClient, new_session
from workbench.client.ssh_url import SshUrl
from workbench.config.locations import Locations
from workbench.protocol.commands import ChangeSettings
from workbench.protocol.events import SettingsChanged

_EVENTS, _BREAKS = 20, 5
_DELAY = 0.01
"""Seconds of the link in each direction."""
_EVENT_MS, _BREAK_S = 10.0, 1.0


def measures() -> list[Measure]:
    """Return both measures."""
    with _far_machine() as far:
        script = far.user.script(finish())
        client = new_session(
            Locations.from_environment(), SshUrl.parse(far.url), "bench", {"model": script}, may_ask=False
        )
        list(client.history())
        events, breaks = asyncio.run(_measured(client, far))
        client.close()
    extra = 1_000 * (statistics.median(events) - 2 * _DELAY)
    back = statistics.median(breaks)
    return [
        Measure("ssh: command to its event, beyond a round trip", extra, "ms", None, _EVENT_MS, extra <= _EVENT_MS),
        Measure("ssh: connected again after the link is back", back, "s", None, _BREAK_S, back <= _BREAK_S),
    ]


async def _measured(client: RemoteClient, far: FarMachine) -> tuple[list[float], list[float]]:
    far.link.delay = _DELAY
    events = [await _event(client, f"title {number}") for number in range(_EVENTS)]
    far.link.delay = 0.0
    return events, [await _break(client, far) for _ in range(_BREAKS)]


async def _event(client: RemoteClient, title: str) -> float:
    began = time.perf_counter()
    client.send(ChangeSettings(title=title))
    await _until(client, SettingsChanged)
    return time.perf_counter() - began


async def _break(client: RemoteClient, far: FarMachine) -> float:
    far.link.cut()
    await asyncio.sleep(1)
    began = time.perf_counter()
    far.link.restore()
    await _until(client, Reconnected)
    return time.perf_counter() - began


async def _until(client: RemoteClient, kind: type[object]) -> None:
    while not any(isinstance(message, kind) for message in await client.receive()):
        pass


@contextmanager
def _far_machine() -> Iterator[FarMachine]:
    with tempfile.TemporaryDirectory(prefix="ohw-bench-", ignore_cleanup_errors=True) as name:
        users = []
        for each in ("near", "far"):
            home, project, runtime = (Path(name) / f"{each}-{what}" for what in ("home", "project", "run"))
            for directory in (home, project, runtime):
                directory.mkdir(mode=0o700)
            env = {**os.environ, "HOME": str(home), "XDG_RUNTIME_DIR": str(runtime), "OHW_SANDBOX": "off"}
            users.append(Sandbox(home, project, {key: value for key, value in env.items() if "XDG_D" not in key}))
        near, user = users
        far, sshd = start_far_machine(near, user, Path(name) / "ssh")
        os.environ.update({key: far.near.env[key] for key in ("HOME", "XDG_RUNTIME_DIR", "PATH")})
        try:
            yield far
        finally:
            far.link.cut()
            sshd.kill()
            sshd.wait()
