"""What a step costs between the model's answer and the next request, against a bare litellm streaming call.

A whole session runs here: a real model server in a process of its own, the session file, the shell with `true`.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench.measure import Measure
from workbench.agent.agent import Agent
from workbench.llm.client import ProviderModel, load_litellm
from workbench.llm.model import Cancel, ModelRequest
from workbench.session.events import SessionStarted
from workbench.session.limits import Limits
from workbench.session.session import Session
from workbench.session.store import Store
from workbench.tools.builtin import open_tools
from workbench.tools.tool import ToolContext

STEPS = 510
_ROUNDS = 3
_CALL = {"name": "execute_bash", "arguments": {"security_risk": "LOW", "summary": "Do nothing", "command": "true"}}


@contextlib.contextmanager
def _server(folder: Path, turns: list[dict[str, Any]], name: str) -> Iterator[tuple[str, Path]]:
    script, times = folder / f"{name}.json", folder / f"{name}.times"
    script.write_text(json.dumps(turns))
    command = [sys.executable, "-m", "tests.fakes.model_server", "--script", str(script), "--times", str(times)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip(), times
        finally:
            process.terminate()


def _gaps(times: Path) -> list[float]:
    """Milliseconds from each answer to the request after it."""
    moments = [(line.split()[0], float(line.split()[1])) for line in times.read_text().splitlines()]
    asked = [at for kind, at in moments if kind == "asked"]
    answered = [at for kind, at in moments if kind == "answered"]
    return [(after - before) * 1e3 for before, after in zip(answered, asked[1:], strict=False)]


def _bare(folder: Path, times: int = 50) -> float:
    """Milliseconds of a bare litellm streaming call in a loop whose history grows like a session's."""
    litellm = load_litellm()
    tools = open_tools(ToolContext(str(folder)))
    schemas = [tool.to_openai_tool() for tool in tools.values()]
    for tool in tools.values():
        tool.close()
    history: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    took = []
    with _server(folder, [{"calls": [_CALL]}] * (times + 3), "bare") as (address, _):
        for number in range(times + 3):
            began = time.perf_counter()
            stream = litellm.completion(
                model="openai/fake",
                api_base=address,
                api_key="none",
                messages=history,
                tools=schemas,
                stream=True,
                _skip_mcp_handler=True,
            )
            for _ in stream:
                pass
            took.append((time.perf_counter() - began) * 1e3)
            call = {"id": f"c{number}", "type": "function", "function": {"name": "execute_bash", "arguments": "{}"}}
            history.append({"role": "assistant", "content": "", "tool_calls": [call]})
            history.append({"role": "tool", "tool_call_id": f"c{number}", "content": "done " * 20})
    return statistics.median(took[3:])


def _session(folder: Path) -> list[float]:
    """The gaps of a session that runs `true` at every step."""
    turns: list[dict[str, Any]] = [{"calls": [_CALL]}] * STEPS
    turns.append({"calls": [{"name": "finish", "arguments": {"message": "end"}}]})
    with _server(folder, turns, "session") as (address, times), Store.create(folder / "session.ohw") as store:
        store.append(SessionStarted(id="bench", workspace=str(folder), model="openai/fake", mode="never"))
        tools = open_tools(ToolContext(str(folder), folder / "state"))
        model = ProviderModel("openai/fake", api_base=address)
        session = Session(
            store, Agent(model, tools, folder), tools, limits=Limits(max_steps=2 * STEPS, stop_loops=False)
        )
        session.send("go")
        while session.step():
            pass
        session.close()
        model.close()
        for tool in tools.values():
            tool.close()
        return _gaps(times)


def _cancel(folder: Path) -> float:
    """Milliseconds from a cancel in the middle of a stream to the end of the call."""
    with _server(folder, [{"text": "word " * 400, "pause": 0.05}], "cancel") as (address, _):
        model, cancel, begun, ended = ProviderModel("openai/fake", api_base=address), Cancel(), threading.Event(), []
        request = ModelRequest([{"role": "user", "content": "go"}])

        def call() -> None:
            model.respond(request, lambda delta: begun.set(), cancel)
            ended.append(time.perf_counter())

        thread = threading.Thread(target=call)
        thread.start()
        begun.wait(30)
        raised = time.perf_counter()
        cancel.set()
        thread.join(30)
        model.close()
        return (ended[0] - raised) * 1e3


def measures() -> list[Measure]:
    """All measures of this file; session and bare calls run in turns, so that both see the same machine."""
    bare, early, late, stop = [], [], [], []
    for _ in range(_ROUNDS):
        with tempfile.TemporaryDirectory(prefix="ohw-bench-") as name:
            folder = Path(name)
            bare.append(_bare(folder))
            gaps = _session(folder)
            early.append(statistics.median(gaps[:50]))
            late.append(statistics.median(gaps[-50:-1]) / early[-1])
            stop.append(_cancel(folder))
    reference, first, growth = statistics.median(bare), statistics.median(early), statistics.median(late)
    return [
        Measure("step overhead, first 50 steps", first, "ms", reference, 1.5 * reference, first <= 1.5 * reference),
        Measure("step overhead, at step 500", growth * first, "ms", first, 1.4 * first, growth <= 1.4),
        Measure("interrupt during a stream", max(stop), "ms", None, 200.0, max(stop) <= 200),
    ]


if __name__ == "__main__":
    for one in measures():
        print(one)
