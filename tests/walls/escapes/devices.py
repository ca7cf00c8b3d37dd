"""Devices and the files by which the kernel is changed. They are opened, never written."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from .attempt import Impossible, Out, World, escape


def _open(path: str, flags: int, meaning: str) -> Out:
    """Open a device or a file of the kernel; that alone is what the wall must refuse."""
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except FileNotFoundError as error:
        if Path(path).parent.exists() and not path.startswith("/dev"):
            raise Impossible(str(error)) from error
        raise
    os.close(descriptor)
    return Out(f"{path} opens: {meaning}")


@escape
def memory_of_machine(world: World) -> Out:
    """/dev/mem: the memory of the machine."""
    return _open("/dev/mem", os.O_RDONLY, "the memory of the machine")


@escape
def memory_of_kernel(world: World) -> Out:
    """/proc/kcore: the memory of the kernel."""
    return _open("/proc/kcore", os.O_RDONLY, "the memory of the kernel")


@escape
def kernel_messages(world: World) -> Out:
    """/dev/kmsg: the messages of the kernel, to read and to write."""
    return _open("/dev/kmsg", os.O_RDWR, "the messages of the kernel")


@escape
def disk(world: World) -> Out:
    """The disk under the file system: each file of each user."""
    number = world.workspace.stat().st_dev
    for path in Path("/dev").iterdir():
        status = path.stat() if path.exists() else None
        if status and stat.S_ISBLK(status.st_mode) and status.st_rdev == number:
            return _open(str(path), os.O_RDONLY, "each file of each user")
    raise PermissionError("/dev has no such device")


@escape
def new_disk_node(world: World) -> Out:
    """The same disk, by a device node that is made in the workspace."""
    path = world.workspace / f"disk-{world.name}"
    os.mknod(path, stat.S_IFBLK | 0o600, world.workspace.stat().st_dev)
    try:
        return _open(str(path), os.O_RDONLY, "each file of each user")
    finally:
        path.unlink()


@escape
def new_memory_node(world: World) -> Out:
    """The memory of the machine, by a device node that is made in the workspace."""
    path = world.workspace / f"memory-{world.name}"
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 1))
    try:
        return _open(str(path), os.O_RDONLY, "the memory of the machine")
    finally:
        path.unlink()


@escape
def loop_devices(world: World) -> Out:
    """/dev/loop-control: file systems of the program's own."""
    return _open("/dev/loop-control", os.O_RDWR, "new block devices")


@escape
def file_system_in_user_space(world: World) -> Out:
    """/dev/fuse: file systems that the program answers for."""
    return _open("/dev/fuse", os.O_RDWR, "file systems of the program")


@escape
def user_faults_device(world: World) -> Out:
    """/dev/userfaultfd: the same as the system call, for all who may open it."""
    return _open("/dev/userfaultfd", os.O_RDWR, "page faults of the kernel")


@escape
def virtual_machines(world: World) -> Out:
    """/dev/kvm: a large surface of the kernel."""
    return _open("/dev/kvm", os.O_RDWR, "virtual machines")


@escape
def network_tunnels(world: World) -> Out:
    """/dev/net/tun: network packets past the wall."""
    return _open("/dev/net/tun", os.O_RDWR, "network interfaces")


@escape
def console(world: World) -> Out:
    """/dev/console and /dev/tty0: the screen of the machine."""
    return _open("/dev/tty0", os.O_WRONLY, "the console")


@escape
def core_pattern(world: World) -> Out:
    """/proc/sys/kernel/core_pattern: a program that the kernel runs as root outside at the next crash."""
    return _open("/proc/sys/kernel/core_pattern", os.O_WRONLY, "a program that the kernel runs")


@escape
def module_loader(world: World) -> Out:
    """/proc/sys/kernel/modprobe: a program that the kernel runs as root outside."""
    return _open("/proc/sys/kernel/modprobe", os.O_WRONLY, "a program that the kernel runs")


@escape
def binary_formats(world: World) -> Out:
    """/proc/sys/fs/binfmt_misc/register: an interpreter for the programs of others."""
    return _open("/proc/sys/fs/binfmt_misc/register", os.O_WRONLY, "an interpreter for programs of others")


@escape
def kernel_settings(world: World) -> Out:
    """/proc/sys/vm: settings of the whole machine."""
    return _open("/proc/sys/vm/overcommit_memory", os.O_WRONLY, "settings of the machine")


@escape
def system_request(world: World) -> Out:
    """/proc/sysrq-trigger: the power switch."""
    return _open("/proc/sysrq-trigger", os.O_WRONLY, "the power switch")


@escape
def uevent_helper(world: World) -> Out:
    """/sys/kernel/uevent_helper: a program that the kernel runs as root outside."""
    return _open("/sys/kernel/uevent_helper", os.O_WRONLY, "a program that the kernel runs")


@escape
def hardware_settings(world: World) -> Out:
    """/sys: settings of devices and drivers."""
    return _open("/sys/kernel/profiling", os.O_WRONLY, "settings of the kernel")


@escape
def debug_file_system(world: World) -> Out:
    """/sys/kernel/debug: the inside of the kernel."""
    if not os.path.ismount("/sys/kernel/debug"):
        raise Impossible("the file system is not mounted")
    return _open("/sys/kernel/debug", os.O_RDONLY | os.O_DIRECTORY, "the inside of the kernel")


@escape
def trace_file_system(world: World) -> Out:
    """/sys/kernel/tracing: what the kernel does for all programs."""
    if not os.path.ismount("/sys/kernel/tracing"):
        raise Impossible("the file system is not mounted")
    return _open("/sys/kernel/tracing", os.O_RDONLY | os.O_DIRECTORY, "what the kernel does")


@escape
def release_agent(world: World) -> Out:
    """release_agent of a control group: a program that the kernel runs as root outside."""
    agents = sorted(Path("/sys/fs/cgroup").glob("*/release_agent"))
    if not agents:
        raise Impossible("no control groups of version 1 are mounted")
    return _open(str(agents[0]), os.O_WRONLY, "a program that the kernel runs")


@escape
def new_control_group(world: World) -> Out:
    """A control group of its own: past the limits of the wall."""
    root = Path("/sys/fs/cgroup")
    parents = [path.parent for path in (root / "cgroup.procs", *root.glob("*/cgroup.procs")) if path.exists()]
    if not parents:
        raise Impossible("no control groups are mounted")
    group = parents[0] / f"walls-{os.getpid()}"
    group.mkdir()
    group.rmdir()
    return Out(f"{group} was made")


@escape
def join_control_group(world: World) -> Out:
    """cgroup.procs of the root group: the way out of the limits."""
    root = Path("/sys/fs/cgroup")
    files = [path for path in (root / "cgroup.procs", *root.glob("*/cgroup.procs")) if path.exists()]
    if not files:
        raise Impossible("no control groups are mounted")
    return _open(str(files[0]), os.O_WRONLY, "the way out of its limits")
