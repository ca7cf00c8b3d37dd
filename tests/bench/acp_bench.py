"""`ohw acp`: how soon an editor has the answer to `initialize`, compared with the import of the protocol's package.

Also the processor time of this front end for one update, without the engine and the connection.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable

from tests.bench.measure import Measure
from tests.bench.start_timing import in_turns
from workbench.acp.updates import UpdateStream
from workbench.protocol.events import ActionProposed, ActionStarted
from workbench.protocol.live import ToolOutput
from workbench.view.reducer import apply
from workbench.view.state import SessionState

_ROUNDS = 9
_FACTOR = 1.2
_UPDATE_MS = 1.0
_UPDATES = 500
_INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}


def measures() -> Iterable[Measure]:
    """Return all measures of this file."""
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "HOME": home, "XDG_DATA_HOME": home, "XDG_CONFIG_HOME": home}
        took = in_turns({"import": lambda: _import(env), "initialize": lambda: _initialize(env)}, _ROUNDS)
    value, reference = took["initialize"], took["import"]
    name = "ohw acp: start to the answer to initialize"
    yield Measure(name, value * 1000, "ms", reference * 1000, reference * _FACTOR * 1000, value <= reference * _FACTOR)
    own = _update()
    yield Measure("ohw acp: one update of a running command", own, "ms", None, _UPDATE_MS, own <= _UPDATE_MS)


def _import(env: dict[str, str]) -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import acp"], check=True, env=env)
    return time.perf_counter() - begun


def _initialize(env: dict[str, str]) -> float:
    begun = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "workbench", "acp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(_INITIALIZE).encode() + b"\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        took = time.perf_counter() - begun
        process.stdin.close()
    if "result" not in answer:
        raise RuntimeError(f"initialize failed: {answer}")
    return took


def _update() -> float:
    """Return the milliseconds of the processor for one piece of output of a command that has printed much."""
    state = SessionState(workspace="/srv/app")
    updates = UpdateStream(state)
    first = ActionProposed(
        seq=1, action_id="a", response_id="r", call_id="c", tool="execute_bash", arguments={"command": "make"}
    )
    for event in (first, ActionStarted(seq=2, action_id="a")):
        list(updates.of(event, apply(state, event)))
    piece = ToolOutput(action_id="a", text="compiling a file of the project\n" * 40)
    begun = time.process_time()
    for _ in range(_UPDATES):
        for update in updates.of(piece, apply(state, piece)):
            update.model_dump_json(by_alias=True, exclude_none=True)
    return (time.process_time() - begun) * 1000 / _UPDATES
