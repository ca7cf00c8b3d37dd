"""Memory limits (`ulimit -v`), from one at which Python can just start: the run ends with one line and never hangs."""

import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import bash as bash_turn
from tests.fakes.model_turns import finish as finish_turn
from tests.sandbox import Sandbox, bash, finish
from workbench.engine.worker import Worker

REFUSED = "the system refused more memory; close other programs or raise the limit (ulimit -v, ulimit -u)"


def run_with(sandbox: Sandbox, kilobytes: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `ohw run` under the limit; fail if it does not end."""
    command = [sys.executable, "-m", "workbench", "run", "do it", "--mode", "high", *arguments]
    limit = kilobytes * 1024
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=sandbox.project,
        env=sandbox.env,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )


@pytest.mark.parametrize("kilobytes", [14_000, *range(14_950, 16_000, 75), 20_000, 45_000, 74_500, 111_367])
def test_lack_of_memory_for_modules_is_reported(sandbox: Sandbox, kilobytes: int):
    done = run_with(sandbox, kilobytes, "--model", sandbox.script(finish()))
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == f"ohw: {REFUSED}\n"


@pytest.mark.parametrize("kilobytes", [126_000, 150_000, 230_000])
def test_run_ends_if_memory_is_refused_in_the_middle(sandbox: Sandbox, kilobytes: int):
    script = sandbox.script(bash("seq 1 20000"), finish())
    done = run_with(sandbox, kilobytes, "--model", script)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    end = done.stderr.splitlines()
    if done.returncode == 0:
        assert done.stdout == "Done.\n"
    elif done.returncode == 3:  # a command that cannot be rated is HIGH, and asked about
        assert "it is HIGH (the analysis failed" in done.stderr
        assert end[-1].startswith("stopped at a question: may execute_bash run?")
    else:
        assert done.returncode == 1
        assert REFUSED in end[-1] or (REFUSED in end[-2] and end[-1].startswith("resume with: ohw resume "))


@pytest.mark.parametrize("kilobytes", [150_000, 230_000, 600_000])
def test_memory_limit_too_low_for_the_model_library_is_reported_first(sandbox: Sandbox, kilobytes: int):
    with ModelServer([bash_turn("touch made-it"), finish_turn()]) as server:
        done = run_with(sandbox, kilobytes, "--model", "hosted_vllm/x", "--api-base", server.base_url)
        assert server.requests == []
    assert done.returncode == 1
    assert done.stderr == (
        f"ohw: the memory limit of {kilobytes:,} kB is too low for this model: "
        "set it to 1,000,000 kB at least (ulimit -v), or to unlimited\n"
    )


@pytest.mark.parametrize("kilobytes", [110_000, 230_000, 400_000, 600_000])
def test_own_server_needs_no_more_memory_than_the_run_itself(sandbox: Sandbox, kilobytes: int):
    with ModelServer([bash_turn("touch made-it"), finish_turn()]) as server:
        done = run_with(sandbox, kilobytes, "--model", "openai/x", "--api-base", server.base_url)
    assert "Traceback" not in done.stderr
    if kilobytes >= 600_000:
        assert (done.returncode, (sandbox.project / "made-it").exists()) == (0, True)
    else:
        assert done.returncode in (0, 1, 3)


@pytest.mark.parametrize(
    "error", ["MemoryError()", "ImportError('x.so: failed to map segment from shared object')", "OSError(12, 'x')"]
)
def test_thread_without_memory_ends_the_process(error: str):
    code = f"""
import threading
from workbench.engine.worker import end_without_memory
end_without_memory()
def fail():
    raise {error}
threading.Thread(target=fail).start()
threading.Event().wait(30)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=25, check=False)
    assert (done.returncode, done.stderr) == (1, f"ohw: {REFUSED}\n")


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        ("ENOSPC", "the disk is full; free some space (/x)"),
        ("EROFS", "the disk is read-only; check the disk (/x)"),
        ("EIO", "the disk failed; check the disk (/x)"),
        ("EDQUOT", "the disk quota is used up; free some space (/x)"),
        ("EMFILE", "too many files are open; raise the limit (ulimit -n) (/x)"),
    ],
    ids=["full", "read-only", "broken", "quota", "files"],
)
def test_thread_that_failed_for_the_disk_is_reported_and_the_process_goes_on(number: str, reason: str):
    code = f"""
import errno, logging, threading
from workbench.engine.worker import end_without_memory
logging.getLogger().addHandler(logging.NullHandler())
end_without_memory()
def fail():
    raise OSError(errno.{number}, "x", "/x")
thread = threading.Thread(target=fail)
thread.start()
thread.join()
print("continues")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=25, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "continues\n", f"ohw: {reason}\n")


@pytest.mark.parametrize(("error", "is_told"), [("MemoryError()", False), ("ValueError('odd')", True)])
def test_finalizer_without_memory_is_not_reported(error: str, is_told: bool):
    code = f"""
from workbench.engine.worker import end_without_memory
end_without_memory()
class Fails:
    def __del__(self):
        raise {error}
Fails()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=25, check=True)
    assert ("Exception ignored" in done.stderr) is is_told


def test_other_errors_of_threads_are_reported_as_usual(tmp_path: Path):
    code = """
import threading
from workbench.engine.worker import end_without_memory
end_without_memory()
thread = threading.Thread(target=int, args=("x",))
thread.start()
thread.join()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=25, check=False)
    assert done.returncode == 0
    assert "ValueError" in done.stderr


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_waiting_for_a_worker_ends_when_the_worker_dies():
    class Broken:
        def step(self) -> bool:
            raise ValueError("odd")

    def fault(_: str) -> None:
        raise MemoryError

    rested = threading.Event()
    worker = Worker(Broken(), rested.set, fault)
    worker.start()
    assert rested.wait(10)
    worker.join(10)
    assert not worker.is_alive()
