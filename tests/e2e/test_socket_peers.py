"""Who may send commands: no process that an agent started, however it left its parents, can talk to an engine."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import sys

import pexpect
import pytest

from tests.e2e.test_open_questions import log
from tests.engine.test_engine import launch
from tests.sandbox import Sandbox, bash, finish, wait_for
from tests.terminal.terminal import Terminal
from tests.tools.shells import Bash
from workbench.client.engine_connection import EngineConnection
from workbench.engine import sockets
from workbench.engine.sockets import is_of_an_agent, is_screen
from workbench.processes.descendants import mark_level
from workbench.protocol.events import ActionDecided
from workbench.tools.python_execute.definition import PythonExecuteTool

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the marks are those of Linux")

ATTACK = r"""
import glob, json, os, socket, sys, time
runtime, out = sys.argv[1:3]
until = time.monotonic() + 12
while time.monotonic() < until:
    for path in glob.glob(runtime + "/*.sock"):
        try:
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(2)
            s.connect(path)
            s.sendall(b'{"kind": "hello"}\n')
            data = b""
            while b"\n" not in data:
                part = s.recv(1 << 16)
                if not part:
                    break
                data += part
            with open(out, "a") as file:
                file.write(data.decode(errors="replace")[:400].strip() + "\n")
            while True:
                for line in data.split(b"\n"):
                    if b'"action_assessed"' in line and b'"needs_decision":true' in line:
                        shown = json.loads(line)
                        s.sendall(json.dumps({"kind": "decide", "action_id": shown["action_id"], "verdict": "approved",
                                              "fingerprint": shown["fingerprint"]}).encode() + b"\n")
                part = s.recv(1 << 20)
                if not part:
                    break
                data = part
        except OSError:
            pass
    time.sleep(0.1)
"""

FORKS = """
import os, sys
os.fork() and os._exit(0)
os.setsid()
os.fork() and os._exit(0)
os.closerange(0, 99)
os.execlp("python3", "python3", sys.argv[0].removesuffix(".fork"), *sys.argv[1:])
"""

WAYS = {
    "child": "python3 {attack} {runtime} {out} & sleep 0.5",
    "detached": "(setsid nohup python3 {attack} {runtime} {out} >/dev/null 2>&1 &) ; sleep 0.5",
    "double fork": "python3 {attack}.fork {runtime} {out}; sleep 0.5",
    "namespaces": "(setsid unshare --user --map-root-user --pid --fork --mount-proc "
    "python3 {attack} {runtime} {out} >/dev/null 2>&1 &) ; sleep 0.5",
    "copied descriptors": "exec 9<>/dev/null; (for n in /proc/$PPID/fd/*; do exec 8<>$n; done; "
    "python3 {attack} {runtime} {out} >/dev/null 2>&1 &) ; sleep 0.5",
    "without environment": "(setsid env -i PATH=$PATH python3 {attack} {runtime} {out} >/dev/null 2>&1 &) ; sleep 0.5",
}


@pytest.mark.parametrize("way", WAYS)
def test_agents_process_gets_no_control_when_the_screen_disconnects(sandbox: Sandbox, way: str):
    attack, out = sandbox.home / "attack.py", sandbox.home / "out"
    attack.write_text(ATTACK)
    attack.with_name("attack.py.fork").write_text(FORKS)
    command = WAYS[way].format(attack=attack, runtime=sandbox.locations.runtime, out=out)
    model = sandbox.script(bash(command), bash("touch owned", risk="HIGH"), finish("As you wish."))
    start = ("go", "--model", model, "--mode", "ask", "--workspace", str(sandbox.project))
    with Terminal(start, 110, 34, sandbox.env) as terminal:
        terminal.wait_for("y Approve")
        terminal.press("y")
        wait_for(lambda: out.exists() and "touch owned" in terminal.text(), "the attack and the second question")
        os.kill(terminal.pid, signal.SIGKILL)
        terminal.wait_exit()
    wait_for(lambda: not sandbox.processes(), "engine and shell to end", 30)
    assert "hello" not in [json.loads(line)["kind"] for line in out.read_text().splitlines() if line]
    assert "belongs to an agent" in out.read_text()
    assert [event.by for event in log(sandbox) if isinstance(event, ActionDecided)] == ["person"]
    assert not (sandbox.project / "owned").exists()


def test_orphaned_process_of_an_agent_is_recognized_by_its_limit(sandbox: Sandbox):
    """After its supervisor was killed it is an orphan below init: only the limit shows that an agent started it."""
    model = sandbox.script(finish("Never asked."))
    connection = EngineConnection.open(launch(sandbox, model))
    level = resource.prlimit(connection.engine_pid, 10)[1]
    code = (
        "import resource, socket, sys\n"
        f"resource.setrlimit(10, ({level}, {level}))\n"
        "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.settimeout(10)\n"
        "print(s.recv(4096).decode())\n"  # refused when accepted; sent data could reset the connection
    )
    (path,) = sandbox.locations.runtime.glob("*.sock")
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["kind"] == "refused"
    connection.close()


def test_ended_or_unreadable_process_is_not_accepted_as_a_screen():
    assert is_of_an_agent(0)
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert is_of_an_agent(ended.pid)


LISTENS = """
import resource, socket, sys
resource.setrlimit(10, (int(sys.argv[2]), int(sys.argv[2])))
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(("lower", "is_engine"), [(1, True), (2, False), (3, False)])
def test_agents_process_cannot_pose_as_an_engine(tmp_path, lower, is_engine):
    level = mark_level()
    command = [sys.executable, "-c", LISTENS, str(tmp_path / "s"), str(level - lower)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        connection = sockets.connect(tmp_path / "s", 5.0)
        assert (connection is not None) is is_engine
        if connection is not None:
            connection.close()
        process.stdin.close()


LEVEL = "import resource; print(resource.getrlimit(10)[1])"


def test_agents_processes_are_one_mark_level_below_the_engine(tmp_path):
    seen = []
    bash, python = Bash(tmp_path), PythonExecuteTool(tmp_path)
    try:
        seen.append(bash(f"{sys.executable} -c '{LEVEL}'").output)
        seen.append(python(python.action_from_arguments({"code": LEVEL})).text)
    finally:
        bash.tool.close()
        python.close()
    assert all(str(mark_level() - 1) in text for text in seen), seen


CONNECTS = """
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
if os.fork() == 0:
    sys.stdin.read()
"""


@pytest.mark.parametrize("is_over", [True, False])
def test_reused_pid_is_not_mistaken_for_the_ended_process(tmp_path, monkeypatch, is_over):
    monkeypatch.setattr(sockets, "is_of_an_agent", lambda pid: False)  # as for a process of the user's
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        code = CONNECTS if is_over else CONNECTS.replace("os.fork()", "0")
        process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "s")], stdin=subprocess.PIPE)
        if is_over:
            process.wait()
        connection, _ = listener.accept()
        with connection:
            if not _tells_of_processes(connection):
                pytest.skip("this kernel gives no descriptor of a peer")
            assert is_screen(connection) is not is_over
        process.communicate()


def _tells_of_processes(connection: socket.socket) -> bool:
    try:
        os.close(struct.unpack("i", connection.getsockopt(socket.SOL_SOCKET, 77, 4))[0])
    except OSError as error:
        return error.errno != errno.ENOPROTOOPT
    return True


def test_engine_inside_another_engines_shell_accepts_its_own_screens(sandbox: Sandbox):
    """This is the case when an agent works on the workbench itself and runs its tests."""
    model = sandbox.script(finish("All done."))
    code = (
        "import resource, sys\n"
        "resource.setrlimit(10, (5000, 5000))\n"
        "from workbench.cli.main import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    (sandbox.home / "nested.py").write_text(code)
    nested = pexpect.spawn(
        sys.executable,
        [str(sandbox.home / "nested.py"), "go", "--model", model, "--workspace", str(sandbox.project)],
        env=dict(sandbox.env),
        dimensions=(34, 110),
        timeout=60,
    )
    try:
        nested.expect("All done")
    finally:
        nested.terminate(force=True)
    assert [event.kind for event in log(sandbox)][-1] == "run_ended"


READS = r"""
import os
pid = os.getppid()
while "workbench" not in open(f"/proc/{pid}/cmdline").read().split("\0"):
    pid = int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
for name, read in {"environ": open, "maps": open, "mem": open, "fd/0": os.readlink, "cwd": os.readlink}.items():
    try:
        read(f"/proc/{pid}/{name}")
        print(name, "is read")
    except OSError as error:
        print(type(error).__name__)
"""


def _without_roots_power() -> None:
    """Drop the capabilities of root between fork and exec, so that it may only do what a user may."""
    for power in (19, 21, 38):  # CAP_SYS_PTRACE, CAP_SYS_ADMIN and CAP_PERFMON leave the bounding set
        ctypes.CDLL(None).prctl(24, power, 0, 0, 0)


def test_agents_commands_cannot_read_or_trace_the_engine(sandbox: Sandbox):
    (sandbox.project / "reads.py").write_text(READS)
    model = sandbox.script(bash("python3 reads.py > out.txt"), finish())
    command = ("run", "go", "--model", model, "--mode", "never")
    process = sandbox.start(*command, preexec_fn=_without_roots_power)
    output = process.communicate(timeout=90)
    assert process.returncode == 0, output
    assert set((sandbox.project / "out.txt").read_text().splitlines()) == {"PermissionError"}


CODE = """
import ctypes
from pathlib import Path
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.tui.start import Opener
assert ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) == 1
Opener(Locations.from_environment(), Settings())._client(Settings(), Path.cwd(), "x", None)
assert ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) == 0
"""


def test_screen_with_an_engine_cannot_be_traced(sandbox: Sandbox):
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, env=sandbox.env, cwd=sandbox.project, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
