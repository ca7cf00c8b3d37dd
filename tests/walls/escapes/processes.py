"""Other processes: the victim stands for the engine, the user's shell and every program of the same user outside."""

from __future__ import annotations

import array
import contextlib
import ctypes
import fcntl
import os
import signal
import time
from pathlib import Path

from .attempt import LIBC, PLANTED, Out, World, check, escape, syscall

PTRACE_PEEKDATA, PTRACE_ATTACH, PTRACE_DETACH, PTRACE_SEIZE = 2, 16, 17, 0x4206
SECRET_SIZE = 64
LIFE = 15.0
"""Seconds after which what was left running ends by itself."""


def _victim(world: World) -> int:
    """Return the number of the victim, unless another process has that number inside the wall."""
    number = world.number("process")
    try:
        name = Path(f"/proc/{number}/comm").read_text().strip()
    except OSError:
        return number
    if name != world.facts["victim"]["name"]:
        raise ProcessLookupError(f"{number} is another process: {name}")
    return number


def _proc(world: World, name: str) -> Path:
    return Path(f"/proc/{_victim(world)}/{name}")


@escape
def environment_of_victim(world: World) -> str:
    """The environment of the victim, with its keys."""
    return _proc(world, "environ").read_text(errors="replace")


@escape
def arguments_of_victim(world: World) -> str:
    """The arguments of the victim, with a password."""
    return _proc(world, "cmdline").read_text(errors="replace")


@escape
def memory_of_victim(world: World) -> str:
    """The memory of the victim, by /proc/PID/mem."""
    with _proc(world, "mem").open("rb") as memory:
        memory.seek(world.number("secret"))
        return memory.read(SECRET_SIZE).decode()


@escape
def change_memory_of_victim(world: World) -> None:
    """The memory of the victim, changed by /proc/PID/mem."""
    with _proc(world, "mem").open("r+b", buffering=0) as memory:
        memory.seek(world.slot())
        memory.write(world.mark.encode())


def _vector(start: int, size: int) -> ctypes.Array[ctypes.c_ulong]:
    """Return an iovec."""
    return (ctypes.c_ulong * 2)(start, size)


@escape
def copy_memory_of_victim(world: World) -> str:
    """The memory of the victim, by process_vm_readv."""
    buffer = ctypes.create_string_buffer(SECRET_SIZE)
    local, remote = _vector(ctypes.addressof(buffer), SECRET_SIZE), _vector(world.number("secret"), SECRET_SIZE)
    syscall(310, _victim(world), local, 1, remote, 1, 0)
    return buffer.value.decode()


@escape
def copy_into_memory_of_victim(world: World) -> None:
    """The memory of the victim, changed by process_vm_writev."""
    mark = world.mark.encode()
    buffer = ctypes.create_string_buffer(mark)
    local, remote = _vector(ctypes.addressof(buffer), len(mark)), _vector(world.slot(), len(mark))
    syscall(311, _victim(world), local, 1, remote, 1, 0)


def _peek(process: int, start: int) -> str:
    """Read the memory of a process that is traced and stopped."""
    return "".join(_word(process, start + offset).to_bytes(8, "little").decode() for offset in range(0, SECRET_SIZE, 8))


def _word(process: int, start: int) -> int:
    word = ctypes.c_ulong()
    syscall(101, PTRACE_PEEKDATA, process, ctypes.c_void_p(start), ctypes.byref(word))
    return word.value


@escape
def trace_victim(world: World) -> str:
    """The memory of the victim, by ptrace."""
    process = _victim(world)
    syscall(101, PTRACE_ATTACH, process, 0, 0)
    os.waitpid(process, 0)
    try:
        return _peek(process, world.number("secret"))
    finally:
        syscall(101, PTRACE_DETACH, process, 0, 0)


@escape
def seize_victim(world: World) -> str:
    """The memory of the victim, by ptrace without a stop at the start."""
    process, interrupt = _victim(world), 0x4207
    syscall(101, PTRACE_SEIZE, process, 0, 0)
    syscall(101, interrupt, process, 0, 0)
    os.waitpid(process, 0x40000000)
    try:
        return _peek(process, world.number("secret"))
    finally:
        syscall(101, PTRACE_DETACH, process, 0, 0)


@escape
def working_directory_of_victim(world: World) -> str:
    """The directory in which the victim works, which is hidden by its name."""
    return (_proc(world, "cwd") / "id_ed25519").read_text()


@escape
def root_of_victim(world: World) -> None:
    """A file outside, through the root of the victim."""
    world.leave(f"{_proc(world, 'root')}{world.canary}")


@escape
def descriptor_of_victim(world: World) -> str:
    """A file without a name that the victim has open, by /proc/PID/fd."""
    return _proc(world, f"fd/{world.number('descriptor')}").read_text()


@escape
def copied_descriptor_of_victim(world: World) -> str:
    """A file without a name that the victim has open, by pidfd_getfd."""
    process = os.pidfd_open(_victim(world))
    descriptor = syscall(438, process, world.number("descriptor"), 0)
    return os.pread(descriptor, 200, 0).decode()


@escape
def maps_of_victim(world: World) -> Out:
    """Where the victim's memory is."""
    return Out(_proc(world, "maps").read_text()[:100])


def _parents() -> list[int]:
    """Return the processes above this program, the wall's own among them."""
    parents = []
    number = os.getppid()
    while number > 1:
        fields = Path(f"/proc/{number}/status").read_text().split()
        number = int(fields[fields.index("PPid:") + 1])
        parents += [number] if number else []
    return parents


@escape
def memory_of_parents(world: World) -> Out:
    """The memory of the wall's own processes inside, to which its filter of system calls does not apply."""
    for parent in _parents():
        with contextlib.suppress(OSError):
            os.close(os.open(f"/proc/{parent}/mem", os.O_RDWR))
            return Out(f"the memory of process {parent} opens for writing")
    raise PermissionError("the memory of no parent opens")


@escape
def program_of_parents(world: World) -> Out:
    """The file of the wall's own program, through the mount from which it was started (set to the mode that it has)."""
    for parent in _parents():
        path = Path(f"/proc/{parent}/exe")
        with contextlib.suppress(OSError):
            path.chmod(path.stat().st_mode & 0o7777)
            return Out(f"the program of process {parent} may be changed")
    raise PermissionError("the program of no parent may be changed")


@escape
def descriptors_of_parents(world: World) -> str:
    """The files that the wall's own processes have open."""
    texts = []
    for parent in _parents():
        with contextlib.suppress(OSError):
            texts += [_start_of(path) for path in Path(f"/proc/{parent}/fd").iterdir()]
    return "".join(text for text in texts if PLANTED in text)


def _start_of(path: Path) -> str:
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        with contextlib.closing(os.fdopen(descriptor, "rb", buffering=0)) as file:
            return os.pread(file.fileno(), 200, 0).decode(errors="replace")
    return ""


@escape
def out_of_memory_score(world: World) -> None:
    """Which process the kernel ends first when memory is short."""
    _proc(world, "oom_score_adj").write_text("77")


@escape
def signal_victim(world: World) -> None:
    """A signal to the victim, by kill."""
    os.kill(_victim(world), signal.SIGUSR1)


@escape
def signal_group_of_victim(world: World) -> None:
    """A signal to the process group of the victim."""
    os.killpg(_victim(world), signal.SIGUSR2)


@escape
def signal_thread_of_victim(world: World) -> None:
    """A signal to a thread of the victim, by tgkill."""
    process = _victim(world)
    syscall(234, process, process, signal.SIGRTMIN + 1)


@escape
def signal_by_descriptor(world: World) -> None:
    """A signal to the victim, by a descriptor of the process."""
    signal.pidfd_send_signal(os.pidfd_open(_victim(world)), signal.SIGRTMIN + 2)


@escape
def queue_signal(world: World) -> None:
    """A signal to the victim with a value, by sigqueue."""
    check(LIBC.sigqueue(_victim(world), signal.SIGRTMIN + 3, ctypes.c_void_p(1)))


@escape
def signal_by_owner_of_pipe(world: World) -> None:
    """A signal to the victim, which the kernel sends as the owner of a pipe that has data (F_SETOWN)."""
    reader, writer = os.pipe()
    set_signal = 10
    fcntl.fcntl(reader, fcntl.F_SETOWN, _victim(world))
    fcntl.fcntl(reader, set_signal, signal.SIGRTMIN + 4)
    fcntl.fcntl(reader, fcntl.F_SETFL, fcntl.fcntl(reader, fcntl.F_GETFL) | os.O_ASYNC)
    os.write(writer, b"data")


@escape
def list_processes(world: World) -> Out:
    """Which programs run outside."""
    names = [path.read_text().strip() for path in Path("/proc").glob("[0-9]*/comm")]
    if world.facts["victim"]["name"] not in names:
        raise PermissionError(f"{len(names)} processes are seen")
    return Out(f"{len(names)} processes are seen")


def _beat(path: Path, ignored: tuple[signal.Signals, ...] = ()) -> None:
    """Write the time into a file until it is told to stop, at most for LIFE."""
    for each in ignored:
        signal.signal(each, signal.SIG_IGN)
    end = time.monotonic() + LIFE
    while time.monotonic() < end and not (path.parent / "stop").exists():
        path.write_text(str(time.time()))
        time.sleep(0.05)
    os._exit(0)


def _close_all() -> None:
    null = os.open("/dev/null", os.O_RDWR)
    for descriptor in range(3):
        os.dup2(null, descriptor)
    os.closerange(3, 256)


def _beats(world: World) -> Path:
    return world.workspace / "beats" / world.name


@escape
def left_in_background(world: World) -> None:
    """A process that runs on when the command has ended (`nohup … &`)."""
    if os.fork() == 0:
        _close_all()
        _beat(_beats(world), (signal.SIGHUP,))


@escape
def left_in_new_session(world: World) -> None:
    """A process in a session of its own (`setsid`), which no hang-up reaches."""
    if os.fork() == 0:
        os.setsid()
        _close_all()
        _beat(_beats(world))


@escape
def left_as_daemon(world: World) -> None:
    """A daemon: session of its own, parent ended, nothing open, signals ignored."""
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        _close_all()
        _beat(_beats(world), (signal.SIGHUP, signal.SIGTERM, signal.SIGINT, signal.SIGQUIT))


@escape
def left_stopped(world: World) -> None:
    """A daemon that stops itself and is continued later by another, as no signal but KILL ends a stopped process."""
    first = os.fork()
    if first == 0:
        os.setsid()
        _close_all()
        os.kill(os.getpid(), signal.SIGSTOP)
        _beat(_beats(world))
    if os.fork() == 0:
        os.setsid()
        _close_all()
        time.sleep(0.3)
        os.kill(first, signal.SIGCONT)
        os._exit(0)


@escape
def left_subreaper(world: World) -> None:
    """Children gathered by a process of the program (PR_SET_CHILD_SUBREAPER), out of sight of who counts children."""
    if os.fork() == 0:
        os.setsid()
        check(LIBC.prctl(36, 1, 0, 0, 0))
        if os.fork() == 0:
            _close_all()
            _beat(_beats(world))
        _close_all()
        os.wait()
        os._exit(0)


@escape
def lock_of_others(world: World) -> None:
    """A file outside, locked: its owner waits for ever."""
    descriptor = os.open(world.canary, os.O_WRONLY)
    fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.write(descriptor, world.mark.encode())


@escape
def watch_terminal_of_others(world: World) -> str:
    """How many characters the user types elsewhere: unread input of another terminal."""
    descriptor = os.open(world.facts["victim"]["terminal"], os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    waiting = array.array("i", [0])
    fcntl.ioctl(descriptor, 0x541B, waiting)
    return os.read(descriptor, 200).decode()
