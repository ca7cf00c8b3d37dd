"""Time between a model's answer and the next request, compared with a bare litellm streaming call.

Whole sessions run here: a real model server in a process of its own, the session file, the shell with `true`. A long
session, a young one and bare calls alternate every few steps, so that they run under the same conditions.
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
from workbench.llm.client import ProviderModel
from workbench.llm.litellm_setup import load_litellm
from workbench.llm.model import Cancel, ModelRequest
from workbench.protocol.events import SessionStarted
from workbench.session.limits import Limits
from workbench.session.session import Session, SessionOptions, SessionParts
from workbench.session.storage.store import Store
from workbench.tools.context import ToolContext
from workbench.tools.registry import open_tools

STEPS = 510
_ROUNDS = 10
_CALL = {"name": "execute_bash", "arguments": {"security_risk": "LOW", "summary": "Do nothing", "command": "true"}}


@contextlib.contextmanager
def serving(directory: Path, turns: list[dict[str, Any]], name: str) -> Iterator[tuple[str, Path]]:
    """Run a model server in a process of its own; yield its address and the file in which it records times."""
    script, times = directory / f"{name}.json", directory / f"{name}.times"
    script.write_text(json.dumps(turns))
    command = [sys.executable, "-m", "tests.fakes.model_server", "--script", str(script), "--times", str(times)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip(), times
        finally:
            process.terminate()


class _Bare:
    """litellm's streaming call in a loop whose history grows like a session's."""

    def __init__(self, directory: Path, stack: contextlib.ExitStack) -> None:
        self._litellm = load_litellm()
        self._address, _ = stack.enter_context(serving(directory, [{"calls": [_CALL]}] * STEPS, "bare"))
        tools = open_tools(ToolContext(str(directory)))
        self._schemas = [tool.to_openai_tool() for tool in tools.values()]
        for tool in tools.values():
            tool.close()
        self._history: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
        self.took: list[float] = []
        """Milliseconds."""

    def run(self, turns: int) -> None:
        for _ in range(turns):
            number = len(self.took)
            began = time.perf_counter()
            stream = self._litellm.completion(
                model="openai/fake",
                api_base=self._address,
                api_key="none",
                messages=self._history,
                tools=self._schemas,
                stream=True,
                _skip_mcp_handler=True,
            )
            for _chunk in stream:
                pass
            self.took.append((time.perf_counter() - began) * 1e3)
            call = {"id": f"c{number}", "type": "function", "function": {"name": "execute_bash", "arguments": "{}"}}
            self._history.append({"role": "assistant", "content": "", "tool_calls": [call]})
            self._history.append({"role": "tool", "tool_call_id": f"c{number}", "content": "done " * 20})


class _Running:
    """A session that runs `true` at every step."""

    def __init__(self, directory: Path, name: str, stack: contextlib.ExitStack) -> None:
        address, self._times = stack.enter_context(serving(directory, [{"calls": [_CALL]}] * STEPS, name))
        store = stack.enter_context(Store.create(directory / f"{name}.ohw"))
        store.append(SessionStarted(id=name, workspace=str(directory), model="openai/fake", mode="never"))
        tools = open_tools(ToolContext(str(directory), directory / f"{name}-state"))
        for tool in tools.values():
            stack.callback(tool.close)
        model = stack.enter_context(contextlib.closing(ProviderModel("openai/fake", api_base=address)))
        agent = Agent(model, tools, directory)
        limits = Limits(max_steps=2 * STEPS, stop_loops=False, condense_events=0)
        self._session = stack.enter_context(
            contextlib.closing(Session(SessionParts(store, agent, tools, SessionOptions(limits=limits))))
        )
        self._session.send("go")
        self._turns = 0
        self._counted: list[int] = []
        self.processor: list[float] = []
        """Milliseconds of the processor for each step, by all threads of this process."""

    def run(self, turns: int) -> None:
        """Run this number of steps; the gap after the last one is not measured, because other subjects run then."""
        for _ in range(turns):
            began = time.process_time()
            self._session.step()
            self._session.step()
            self.processor.append((time.process_time() - began) * 1e3)
        self._counted.extend(range(self._turns, self._turns + turns - 1))
        self._turns += turns

    @property
    def gaps(self) -> list[float]:
        """Milliseconds from each answer to the request after it."""
        moments = [(line.split()[0], float(line.split()[1])) for line in self._times.read_text().splitlines()]
        asked = [at for kind, at in moments if kind == "asked"]
        answered = [at for kind, at in moments if kind == "answered"]
        return [(asked[turn + 1] - answered[turn]) * 1e3 for turn in self._counted]


def _cancel(directory: Path) -> float:
    """Return the milliseconds from a cancel in the middle of a stream to the end of the call."""
    with serving(directory, [{"text": "word " * 400, "pause": 0.05}], "cancel") as (address, _):
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
    """All measures of this file."""
    with tempfile.TemporaryDirectory(prefix="ohw-bench-") as name, contextlib.ExitStack() as stack:
        directory = Path(name)
        bare, young, old = (
            _Bare(directory, stack),
            _Running(directory, "young", stack),
            _Running(directory, "old", stack),
        )
        bare.run(3)
        old.run(STEPS - 50)
        for _ in range(_ROUNDS):
            for one in (bare, young, old):
                one.run(50 // _ROUNDS)
        call, gap = statistics.median(bare.took[3:]), statistics.median(young.gaps)
        early, late = statistics.median(young.processor), statistics.median(old.processor[-50:])
        stop = statistics.median(_cancel(directory) for _ in range(3))
    return [
        Measure("step overhead, first 50 steps", gap, "ms", call, 1.5 * call, gap <= 1.5 * call),
        Measure("processor time of a step, at step 500", late, "ms", early, 1.15 * early, late <= 1.15 * early),
        Measure("interrupt during a stream", stop, "ms", None, 200.0, stop <= 200),
    ]


if __name__ == "__main__":
    for measure in measures():
        print(measure)
