"""`ohw batch`: every task ends exactly once, whatever happens to workers, clients and tasks."""

from __future__ import annotations

import contextlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from tests.batch.runs import (
    FINISH,
    WRITE,
    dask_cluster,
    outcomes,
    patch_of,
    press_ctrl_c,
    run_batch,
    sessions,
    start_batch,
    task,
    write_tasks,
)
from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Fault, bash, finish
from tests.sandbox import Sandbox, wait_for
from workbench import __version__
from workbench.batch.attempt import TaskAttempt
from workbench.batch.attempt_files import Report, RunContext
from workbench.batch.attempt_progress import AttemptProgress, read_progress
from workbench.batch.run_directory import RunDirectory
from workbench.batch.task import TaskSpec
from workbench.batch.watched_run import WatchedRun
from workbench.batch.worker import run_attempt
from workbench.session.storage.lock import is_locked

pytestmark = pytest.mark.timeout(400)
INTRUDER = "from distributed import Client; Client('tcp://127.0.0.1:{}', timeout=3).scheduler_info()"
KEY = "sk-of-a-batch-8f2b6c1d9e"
_STARTING = 100.0
"""How long the first attempts may take: each worker imports everything first, on a machine that may be busy."""
SLOW = {"tool": "execute_bash", "risk": "LOW", "arguments": {"command": "sleep 300", "timeout": 280}}


@pytest.fixture
def model(sandbox: Sandbox) -> str:
    return sandbox.script(WRITE, FINISH)


def test_one_command_runs_sixty_tasks_on_this_machine(sandbox: Sandbox, model: str):
    tasks = write_tasks(sandbox, *(task(number) for number in range(60)))
    done = run_batch(sandbox, tasks, "-o", "run", "--model", model)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("✓ solved") == 60
    assert {each.state for each in outcomes(sandbox).values()} == {"solved"}
    assert len(outcomes(sandbox)) == len(sessions(sandbox)) == 60
    assert "+made" in patch_of(sandbox, outcomes(sandbox)["t7"])
    assert not sandbox.processes()


def test_each_task_ends_once_though_workers_and_the_client_are_killed(sandbox: Sandbox, model: str, tmp_path: Path):
    tasks = write_tasks(sandbox, *(task(number, setup="sleep 0.2") for number in range(60)))
    with dask_cluster(sandbox, tmp_path, 2) as cluster:
        run = ["-o", "run", "--model", model, "--scheduler", cluster.url]
        is_over, killed = threading.Event(), []

        def kill_workers() -> None:
            # By progress, not by time: on a slow machine, workers would be killed before they have started.
            chance, ended = random.Random(7), 0
            while not is_over.wait(chance.uniform(0.05, 0.4)):
                if len(outcomes(sandbox)) < ended + 6:
                    continue
                ended = len(outcomes(sandbox))
                victim = cluster.workers.pop(chance.randrange(len(cluster.workers)))
                victim.kill()
                killed.append(victim.wait())
                cluster.add_worker()

        killer = threading.Thread(target=kill_workers)
        killer.start()
        try:
            with start_batch(sandbox, tasks, *run) as client:
                wait_for(lambda: len(outcomes(sandbox)) >= 15, "some outcomes", 150)
                client.kill()
            before = outcomes(sandbox)
            done = run_batch(sandbox, "--resume", *run)
        finally:
            is_over.set()
            killer.join()
        assert len(killed) >= 2
        assert done.returncode == 0, [line for line in done.stdout.splitlines() if "✓" not in line] + [done.stderr]
        after = outcomes(sandbox)
        assert [each for each in after.values() if each.state != "solved"] == []
        assert len(after) == 60
        assert all(after[name] == before[name] for name in before)
        assert sorted(each.stem for each in sessions(sandbox)) == sorted(each.session for each in after.values())
    wait_for(lambda: not sandbox.processes(), "all processes to end")


def test_ctrl_c_lets_what_runs_end_and_stores_it(sandbox: Sandbox):
    slow = {"tool": "execute_bash", "risk": "LOW", "arguments": {"command": "sleep 4.5; echo made > made.txt"}}
    tasks = write_tasks(sandbox, *(task(number, mode="high") for number in range(2)))
    arguments = (tasks, "-o", "run", "--model", sandbox.script(slow, FINISH), "--max-parallel", "1")
    with start_batch(sandbox, *arguments) as client:
        wait_for(lambda: _running(sandbox, "sleep 4.5"), "the command to run", _STARTING)
        press_ctrl_c(client)
        wait_for(lambda: "no more attempts" in _line(client), "the answer")
        assert client.wait(60) == 130
    assert [each.state for each in outcomes(sandbox).values()] == ["solved"]
    assert not sandbox.processes()


def test_first_interrupt_finishes_what_runs_and_the_second_ends_it(sandbox: Sandbox):
    slow = sandbox.script(SLOW, FINISH)
    tasks = write_tasks(sandbox, *(task(number, mode="high") for number in range(4)))
    with start_batch(sandbox, tasks, "-o", "run", "--model", slow, "--max-parallel", "2") as client:
        wait_for(lambda: _running(sandbox, "sleep 300"), "the commands to run", _STARTING)
        press_ctrl_c(client)
        wait_for(lambda: "no more attempts" in _line(client), "the answer to the first")
        assert client.poll() is None
        press_ctrl_c(client)
        assert client.wait(60) == 130
    assert {each.ending for each in outcomes(sandbox).values()} == {"interrupted"}
    assert not sandbox.processes()
    quick = sandbox.script(WRITE, FINISH)
    assert slow == quick  # the same file, with other turns
    done = run_batch(sandbox, "--resume", "-o", "run")
    assert done.returncode == 0, done.stderr
    assert [each.state for each in outcomes(sandbox).values()] == ["solved"] * 4
    assert len(sessions(sandbox)) == 4


def test_attempts_of_a_killed_client_end_and_leave_their_workers_to_others(sandbox: Sandbox, tmp_path: Path):
    slow = sandbox.script(SLOW, FINISH)
    with dask_cluster(sandbox, tmp_path, 1) as cluster:
        run = ["-o", "run", "--model", slow, "--scheduler", cluster.url]
        with start_batch(sandbox, write_tasks(sandbox, task(1, mode="high")), *run) as client:
            wait_for(lambda: _running(sandbox, "sleep 300"), "the command to run", _STARTING)
            client.kill()
        wait_for(lambda: not _running(sandbox, "sleep 300"), "the attempt to end")
        assert sandbox.script(WRITE, FINISH) == slow  # the same file, with other turns
        done = run_batch(sandbox, "--resume", *run)
        assert done.returncode == 0, done.stderr
        assert cluster.workers[0].poll() is None
    assert [each.state for each in outcomes(sandbox).values()] == ["solved"]
    assert len(sessions(sandbox)) == 1


def test_attempts_end_with_the_scheduler(sandbox: Sandbox, tmp_path: Path):
    slow = sandbox.script(SLOW, FINISH)
    with dask_cluster(sandbox, tmp_path, 1) as cluster:
        run = ["-o", "run", "--model", slow, "--scheduler", cluster.url]
        with start_batch(sandbox, write_tasks(sandbox, task(1, mode="high")), *run) as client:
            wait_for(lambda: _running(sandbox, "sleep 300"), "the command to run", _STARTING)
            cluster.scheduler.kill()
            wait_for(lambda: not _running(sandbox, "sleep 300"), "the attempt to end")
            assert "continue with --resume" in client.communicate(timeout=100)[1]
    sandbox.script(WRITE, FINISH)
    assert run_batch(sandbox, "--resume", "-o", "run").returncode == 0
    assert [each.state for each in outcomes(sandbox).values()] == ["solved"]


def _running(sandbox: Sandbox, command: str) -> bool:
    for each in sandbox.processes():
        with contextlib.suppress(psutil.NoSuchProcess):
            if command in " ".join(each.cmdline()):
                return True
    return False


def _line(client: subprocess.Popen[str]) -> str:
    assert client.stderr is not None
    return client.stderr.readline()


def test_resumed_run_repeats_only_what_is_asked_for(sandbox: Sandbox, model: str):
    limited = {"max_steps": 1}
    rows = (
        task(1),
        task(2, check="false"),
        task(3, **limited, check="false"),
        task(4, **limited),
        task(5, setup="false"),
    )
    assert run_batch(sandbox, write_tasks(sandbox, *rows), "-o", "run", "--model", model).returncode == 1
    first = outcomes(sandbox)
    assert [each.state for each in first.values()] == ["solved", "unsolved", "unsolved", "solved", "setup"]
    assert (first["t3"].ending, first["t4"].ending) == ("limit", "limit")
    assert run_batch(sandbox, "--resume", "-o", "run").stdout == ""
    assert outcomes(sandbox) == first
    for retry, repeated in (("errors", {"t5"}), ("stopped", {"t3"}), ("failed", {"t2", "t3", "t5"})):
        before = outcomes(sandbox)
        run_batch(sandbox, "--resume", "-o", "run", "--retry", retry)
        after = outcomes(sandbox)
        assert {name for name, each in after.items() if each.started > before[name].started} == repeated
        assert all(after[name] == before[name] for name in after.keys() - repeated)
    assert len(sessions(sandbox)) == 4


def test_run_stops_starting_at_its_cost(sandbox: Sandbox):
    file = sandbox.locations.settings_file
    file.parent.mkdir(parents=True)
    with ModelServer([finish("Worth it.")], repeat_last=True) as server:  # 100 tokens in, 20 out
        price = "price = { input = 1000, output = 5000 }"
        file.write_text(f'[models.dear]\nmodel = "openai/x"\napi_base = "{server.base_url}"\n{price}\n')
        tasks = write_tasks(sandbox, *(task(number, check="") for number in range(9)))
        options = ["--model", "dear", "--max-parallel", "1", "--max-cost", "0.5"]
        done = run_batch(sandbox, tasks, "-o", "run", *options)
    assert [round(each.cost, 2) for each in outcomes(sandbox).values()] == [0.2, 0.2, 0.2]
    assert "6 attempts left; continue with `ohw batch --resume -o run`" in done.stderr


def test_what_running_attempts_have_spent_counts_for_the_cost_of_the_run(sandbox: Sandbox):
    file, go, run = sandbox.locations.settings_file, sandbox.project / "go", sandbox.project / "run"
    file.parent.mkdir(parents=True)

    def progress() -> AttemptProgress | None:
        return next(filter(None, map(read_progress, run.glob("attempts/t0-*"))), None)

    def wait_for_first(moment: str) -> None:
        wait_for(lambda: moment != "asked" or progress(), "the first attempt to spend something", _STARTING)

    waits = bash(f"until [ -e {go} ]; do sleep 0.1; done")
    with (
        ModelServer([waits, finish("Worth it.")]) as dear,  # 100 tokens in, 20 out for each call
        ModelServer([finish("Done.")], repeat_last=True, on_moment=wait_for_first) as cheap,
    ):
        price = "price = { input = 1000, output = 5000 }"
        file.write_text(
            f'[models.dear]\nmodel = "openai/x"\napi_base = "{dear.base_url}"\n{price}\n'
            f'[models.cheap]\nmodel = "openai/y"\napi_base = "{cheap.base_url}"\nprice = {{ input = 0, output = 1 }}\n'
        )
        rows = [task(0, check="", model="dear", mode="high"), *(task(n, check="", model="cheap") for n in range(1, 5))]
        options = ["--model", "cheap", "--max-parallel", "2", "--max-cost", "0.15"]
        with start_batch(sandbox, write_tasks(sandbox, *rows), "-o", "run", *options) as client:
            wait_for(lambda: "t1" in outcomes(sandbox), "the second attempt", _STARTING)
            spent = wait_for(lambda: (now := progress()) and now.activity and now, "the command")
            assert (spent.steps, round(spent.cost, 2), spent.input, spent.activity) == (1, 0.2, 100, "Run until")
            view = WatchedRun(RunDirectory(run)).read()
            assert (round(view.cost, 2), view.states["running"]) == (0.2, 1)
            go.touch()
            assert "3 attempts left" in client.communicate(timeout=100)[1]
    assert client.returncode == 4
    assert outcomes(sandbox).keys() == {"t0", "t1"}
    assert not list(run.glob("attempts/*/*progress"))


def test_what_killed_and_repeated_attempts_have_spent_counts_for_the_cost_of_the_run(sandbox: Sandbox):
    file, run = sandbox.locations.settings_file, RunDirectory(sandbox.project / "run")
    file.parent.mkdir(parents=True)

    def spent_by(session: str) -> bool:
        progress = next(filter(None, map(read_progress, run.path.glob("attempts/t0-*"))), None)
        return progress is not None and progress.cost > 0.1 and session_of_first() != session

    def session_of_first() -> str:
        return next((path.read_text() for path in run.path.glob("attempts/t0-*/session")), "")

    def kill_worker(client: subprocess.Popen[str]) -> None:
        (worker,) = [each for each in psutil.Process(client.pid).children() if "spawn_main" in " ".join(each.cmdline())]
        worker.kill()

    waits = bash("sleep 1000")
    with ModelServer([waits], repeat_last=True) as server:  # 100 tokens in, 20 out for each call
        price = "price = { input = 1000, output = 5000 }"
        file.write_text(f'[models.dear]\nmodel = "openai/x"\napi_base = "{server.base_url}"\n{price}\n')
        tasks = write_tasks(sandbox, *(task(number, check="", mode="high") for number in range(2)))
        options = ["--model", "dear", "--max-parallel", "1", "-o", "run"]
        with start_batch(sandbox, tasks, *options) as client:
            wait_for(lambda: spent_by(""), "the first call")
            first = session_of_first()
            kill_worker(client)
            wait_for(lambda: spent_by(first), "the call of the repetition")
            assert round(run.cost_without_outcomes, 2) == 0.4
            client.kill()
        wait_for(lambda: not is_locked(next(run.path.glob("attempts/t0-*/lock"))), "the end of the attempt")
        assert round(run.cost_without_outcomes, 2) == 0.4
        with start_batch(sandbox, "--resume", *options) as client:
            second = session_of_first()
            wait_for(lambda: spent_by(second), "the call of the second repetition")
            press_ctrl_c(client)
            wait_for(lambda: "no more attempts" in _line(client), "the answer to the first")
            press_ctrl_c(client)
            assert client.wait(60) == 130
        assert round(outcomes(sandbox)["t0"].cost, 2) == 0.2
        assert round(run.cost_without_outcomes, 2) == 0.4
        done = run_batch(sandbox, "--resume", *options, "--max-cost", "0.6")
    assert done.returncode == 4, done.stderr
    assert "2 attempts left" in done.stderr
    assert round(outcomes(sandbox)["t0"].cost, 2) == 0.2


def test_attempts_at_a_model_that_is_down_are_errors_and_run_again_once_it_is_up(sandbox: Sandbox):
    down = Fault(503, "overloaded", headers={"retry-after": "0.05"})
    tasks = write_tasks(sandbox, *({"id": f"t{number}", "prompt": "Say so."} for number in range(4)))
    with ModelServer([down], repeat_last=True) as server:
        settings = ("-o", "run", "--model", "openai/x", "--api-base", server.base_url)
        done = run_batch(sandbox, tasks, *settings, OHW_API_KEY="sk-of-the-user-1")
    assert done.returncode == 1, done.stderr
    assert {each.state for each in outcomes(sandbox).values()} == {"error"}
    assert all("overloaded" in each.detail for each in outcomes(sandbox).values()), outcomes(sandbox)
    with ModelServer([finish("Said.")] * 4) as server:
        settings = ("-o", "run", "--api-base", server.base_url)
        assert run_batch(sandbox, "--resume", *settings, OHW_API_KEY="sk-of-the-user-1").returncode == 0
        assert {each.state for each in outcomes(sandbox).values()} == {"error"}, "unasked, nothing is repeated"
        done = run_batch(sandbox, "--resume", "--retry", "errors", *settings, OHW_API_KEY="sk-of-the-user-1")
    assert done.returncode == 0, done.stderr
    assert {each.state for each in outcomes(sandbox).values()} == {"done"}


def test_calls_of_a_model_are_spread_over_all_workers(sandbox: Sandbox):
    moments: list[float] = []

    def note(moment: str) -> None:
        if moment == "asked":
            moments.append(time.monotonic())

    with ModelServer([finish("Done.")], repeat_last=True, on_moment=note) as server:
        tasks = write_tasks(sandbox, *(task(number, check="") for number in range(6)))
        options = ["--model", "openai/x", "--api-base", server.base_url, "--max-parallel", "2"]
        done = run_batch(sandbox, tasks, "-o", "run", *options, "--rate", "openai/x=120/min")
    assert done.returncode == 0, (done.stdout, done.stderr)
    calls = sorted(moments)
    assert len(calls) == 6
    # The starts of calls are at least half a second apart; what is between a start and its request varies.
    assert calls[-1] - calls[0] > 2.0


def test_turns_at_a_model_do_not_depend_on_the_clocks_of_workers(sandbox: Sandbox, tmp_path: Path):
    ahead = tmp_path / "ahead"
    ahead.mkdir()
    (ahead / "sitecustomize.py").write_text("import time\nreal = time.time\ntime.time = lambda: real() + 3600\n")
    moments: list[float] = []
    with (
        ModelServer(
            [finish("Done.")], repeat_last=True, on_moment=lambda _: moments.append(time.monotonic())
        ) as server,
        dask_cluster(sandbox, tmp_path, 1) as cluster,
    ):
        cluster.add_worker(PYTHONPATH=str(ahead))
        tasks = write_tasks(sandbox, *(task(number, check="") for number in range(6)))
        options = ["--model", "openai/x", "--api-base", server.base_url, "--scheduler", cluster.url]
        began = time.monotonic()
        done = run_batch(sandbox, tasks, "-o", "run", *options, "--rate", "openai/x=120/min")
        assert time.monotonic() - began < 100
    assert done.returncode == 0, (done.stdout, done.stderr)
    starts = [each.started for each in outcomes(sandbox).values()]
    assert max(starts) - min(starts) > 3500, "both workers had attempts"
    assert max(moments) - min(moments) > 2.0


def test_wait_that_a_provider_asks_for_holds_for_all_workers(sandbox: Sandbox):
    script = [Fault(429, "slow down", headers={"retry-after": "2"}), finish("Done.")]
    moments: list[float] = []
    with ModelServer(script, repeat_last=True, on_moment=lambda _: moments.append(time.monotonic())) as server:
        tasks = write_tasks(sandbox, *(task(number, check="") for number in range(3)))
        options = ["--model", "openai/x", "--api-base", server.base_url, "--max-parallel", "2"]
        done = run_batch(sandbox, tasks, "-o", "run", *options, "--rate", "openai/x=60/min")
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert len(server.requests) == 4
    assert all(each.ending == "finished" for each in outcomes(sandbox).values())


def test_keys_of_the_environment_serve_every_attempt_and_are_in_no_file(sandbox: Sandbox):
    with ModelServer([finish("Done.")], repeat_last=True, key=KEY) as server:
        tasks = write_tasks(sandbox, *(task(number, check="env") for number in range(3)))
        options = ["--model", "openai/x", "--api-base", server.base_url, "--max-parallel", "1"]
        done = run_batch(sandbox, tasks, "-o", "run", *options, OHW_API_KEY=KEY)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert [each.state for each in outcomes(sandbox).values()] == ["solved"] * 3
    files = [each for each in (sandbox.project / "run").rglob("*") if each.is_file()]
    assert not [each for each in files if KEY.encode() in each.read_bytes()]
    assert any(b"OHW_TASK=t1" in each.read_bytes() for each in files)


def test_helper_of_the_workers_does_not_have_the_keys(sandbox: Sandbox, model: str):
    tasks = write_tasks(sandbox, task(1))
    with start_batch(sandbox, tasks, "-o", "run", "--model", model, OHW_API_KEY=KEY) as client:
        tracker = wait_for(lambda: _child(client, "resource_tracker"), "the helper")
        assert KEY not in str(tracker.environ())
        assert client.wait(60) == 0


def _child(client: subprocess.Popen[str], name: str) -> psutil.Process | None:
    with contextlib.suppress(psutil.Error):
        for each in psutil.Process(client.pid).children():
            if name in " ".join(each.cmdline()):
                return each
    return None


def test_scheduler_that_is_not_there_is_named(sandbox: Sandbox, model: str):
    tasks = write_tasks(sandbox, task(1))
    done = run_batch(sandbox, tasks, "-o", "run", "--model", model, "--scheduler", "tcp://127.0.0.1:1")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("ohw: there is no scheduler at tcp://127.0.0.1:1")
    assert run_batch(sandbox, "--resume", "-o", "run").returncode == 0
    assert outcomes(sandbox)["t1"].state == "solved"


def test_worker_with_another_version_is_refused_with_both(sandbox: Sandbox, local_sandbox: Sandbox, tmp_path: Path):
    context = RunContext("nonce", str(tmp_path), version="0.0.1")
    attempt = TaskAttempt(TaskSpec("t1", "Hello."), "scripted/demo", 1)
    report = msgspec.json.decode(run_attempt(msgspec.json.encode(attempt), msgspec.json.encode(context)), type=Report)
    assert report.outcome.ending == "worker"
    assert report.outcome.detail == f"this worker has ohw {__version__}, the run was started by 0.0.1"


def test_worker_without_the_directory_returns_its_files(local_sandbox: Sandbox, model: str, tmp_path: Path):
    attempt = TaskAttempt(msgspec.convert(task(1), TaskSpec), model, 1)
    context = RunContext("nonce", str(tmp_path / "elsewhere"))
    report = msgspec.json.decode(run_attempt(msgspec.json.encode(attempt), msgspec.json.encode(context)), type=Report)
    assert report.outcome.solved
    assert b"+made" in report.files[report.outcome.patch]
    assert report.files[f"sessions/{report.outcome.session}.session"].startswith(b"SQLite format 3")
    assert not [each for each in context.local_data.rglob("*") if each.is_file() and b"+made" in each.read_bytes()]


def test_no_other_process_can_connect_to_the_workers_on_this_machine(sandbox: Sandbox):
    tasks = write_tasks(sandbox, task(1, mode="high"))
    with start_batch(sandbox, tasks, "-o", "run", "--model", sandbox.script(SLOW, FINISH)) as client:
        wait_for(lambda: _running(sandbox, "sleep 300"), "the command to run", _STARTING)
        processes = (psutil.Process(client.pid), *psutil.Process(client.pid).children(recursive=True))
        listening = [each for process in processes for each in _listening(process)]
        assert {each.ip for each in listening} == {"127.0.0.1"}
        assert not [each for each in listening if b"200 OK" in _page_of(each.port)]
        with ThreadPoolExecutor() as pool:
            assert not any(pool.map(_can_connect, [each.port for each in listening]))
        for _ in range(2):
            client.send_signal(signal.SIGINT)
            time.sleep(0.5)
        assert client.wait(60) == 130


def _listening(process: psutil.Process) -> list[Any]:
    """Return the addresses at which a process listens; none if it has ended."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return [each.laddr for each in process.net_connections("tcp") if each.status == psutil.CONN_LISTEN]
    return []


def _can_connect(port: int) -> bool:
    """Return whether a client of dask that has no certificate gets an answer."""
    try:
        return (
            subprocess.run([sys.executable, "-c", INTRUDER.format(port)], capture_output=True, timeout=8).returncode
            == 0
        )
    except subprocess.TimeoutExpired:
        return False


def _page_of(port: int) -> bytes:
    """Return what a port answers to a browser."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as connection:
        connection.settimeout(1)
        connection.sendall(b"GET /info/main/workers.html HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return connection.recv(1000)
    return b""
