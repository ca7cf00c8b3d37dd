"""Cost of ten configured MCP servers at the start of the program: first request of `ohw run`, first paint.

Runs with and without them alternate. For the request the tools of the servers are known from an earlier start.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from tests.bench.measure import Measure
from tests.bench.start_timing import in_turns, to_request
from tests.terminal.terminal import Terminal
from workbench.config.locations import Locations
from workbench.mcp.config import find_servers
from workbench.mcp.pins import PinStore

_FAKE = Path(__file__).parent.parent / "fakes" / "mcp_server.py"
_ROUNDS = 7
_LIMIT = 1.1
_SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}


def measures() -> Iterable[Measure]:
    """Return milliseconds with ten servers; the reference is the same start without any."""
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        none, ten = _home(Path(directory) / "none", 0), _home(Path(directory) / "ten", 10)
        for name, timed in (("ohw run: start to first request", _to_request), ("first paint of `ohw`", _to_paint)):
            took = in_turns({"none": partial(timed, none), "ten": partial(timed, ten)}, _ROUNDS)
            without, with_ten = took["none"] * 1e3, took["ten"] * 1e3
            budget = without * _LIMIT
            yield Measure(f"{name}, 10 MCP servers", with_ten, "ms", without, budget, with_ten <= budget)


def _home(home: Path, count: int) -> Mapping[str, str]:
    """Return the environment of a user with this number of servers, each with ten known tools."""
    home.mkdir()
    (home / "project").mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OHW_", "XDG_"))}
    env = {
        **environment,
        "HOME": str(home),
        "XDG_RUNTIME_DIR": str(home),
        "OPENAI_API_KEY": "sk-bench",
        "TERM": "xterm",
    }
    where = Locations.from_environment(env)
    where.config.mkdir(parents=True)
    lines = [_settings(f"server{number}", home) for number in range(count)]
    where.settings_file.write_text("\n".join(lines))
    table = tomllib.loads(where.settings_file.read_text()).get("mcpServers", {})
    for server in find_servers(table, where.settings_file, home / "project", []).servers:
        tools = [{"name": f"{server.name}_{at}", "inputSchema": _SCHEMA} for at in range(10)]
        PinStore(where).listed(server, tools)
    return env


def _settings(name: str, home: Path) -> str:
    words = json.dumps({"folder": str(home)})
    return f"[mcpServers.{name}]\ncommand = {json.dumps(sys.executable)}\nargs = {json.dumps([str(_FAKE), words])}"


def _to_request(env: Mapping[str, str]) -> float:
    taken = to_request(env, f"{env['HOME']}/project")
    if (Path(env["HOME"]) / "starts").exists():
        raise RuntimeError("a server was started")
    return taken.clock


def _to_paint(env: Mapping[str, str]) -> float:
    """Return the seconds from the start of the process until the prompt is on the terminal."""
    begun = time.perf_counter()
    arguments = ["--workspace", f"{env['HOME']}/project", "--model", "scripted/demo"]
    with Terminal(arguments, 120, 40, env) as terminal:
        terminal.wait_for("Ask anything", 60)
        taken = time.perf_counter() - begun
        terminal.press("ctrl+q")
        terminal.wait_exit()
    for left in Path(env["HOME"]).glob(".local/share/ohw/sessions/*"):
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    return taken
