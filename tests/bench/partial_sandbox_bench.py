"""What the partial sandbox adds to a connection, which its supervisor makes in the program's place."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.bench.measure import Measure
from workbench.config.locations import Locations
from workbench.processes.landlock_network import PROXY_PORT
from workbench.sandbox.host_access import HostVerdict
from workbench.sandbox.partial_sandbox import PartialSandbox
from workbench.sandbox.proxy import NetworkProxy
from workbench.sandbox.sandbox import Boundary, Sandbox
from workbench.tools.execute_bash.definition import ExecuteBashAction
from workbench.tools.execute_bash.impl import BashExecutor
from workbench.web.network import NetworkPolicy

_ADDED = 2.0
_SCRIPT = f"""
import socket, statistics, time
def taken():
    start = time.perf_counter()
    socket.create_connection(("127.0.0.1", {PROXY_PORT})).close()
    return time.perf_counter() - start
print(statistics.median(taken() for _ in range(200)) * 1e3)
"""


def measures() -> list[Measure]:
    """Return the measure of this file."""
    partial, whole = (_connection(kind) for kind in (PartialSandbox, Sandbox))
    added = partial - whole
    name = "partial sandbox: a connection to the proxy, over the whole one"
    return [Measure(name, added, "ms", whole, _ADDED, added <= _ADDED)]


def _connection(kind: type[Sandbox]) -> float:
    """Return the milliseconds that a program inside takes to connect to the proxy."""
    with tempfile.TemporaryDirectory(prefix="ohw-bench-") as name:
        workspace = Path(name).resolve()
        (workspace / "connect.py").write_text(_SCRIPT)
        proxy = NetworkProxy(lambda request: HostVerdict(False), NetworkPolicy())
        sandbox = kind(Boundary(workspace, Locations.from_environment(), Path.home()), proxy)
        shell = BashExecutor(workspace, sandbox=sandbox)
        try:
            return float(shell(ExecuteBashAction(command=f"{sys.executable} connect.py")).output)
        finally:
            shell.close()
            sandbox.close()
