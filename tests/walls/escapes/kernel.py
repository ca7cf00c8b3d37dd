"""Parts of the kernel that a command does not need, and other ways to call it."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import signal
import socket
import struct

from .attempt import LIBC, Impossible, Out, World, check, escape, reached, syscall


@escape
def io_uring(world: World) -> Out:
    """io_uring: system calls that no filter sees."""
    return reached(425, 4, bytes(bytearray(120)), meaning="io_uring")


@escape
def io_uring_register(world: World) -> Out:
    """io_uring_register, which needs no ring for some operations."""
    return reached(427, -1, 0, 0, 0, meaning="io_uring_register")


@escape
def bpf(world: World) -> Out:
    """bpf: programs in the kernel."""
    return reached(321, 0, bytes(48), 48, meaning="bpf")


@escape
def perf_events(world: World) -> Out:
    """perf_event_open: what other programs do."""
    attributes = struct.pack("IIQ", 1, 112, 0) + bytes(24) + struct.pack("Q", 0x60) + bytes(64)
    return reached(298, attributes, 0, -1, -1, 0, meaning="perf_event_open")


@escape
def user_faults(world: World) -> Out:
    """userfaultfd: page faults of the kernel, held for as long as an exploit needs."""
    return reached(323, os.O_CLOEXEC, meaning="userfaultfd")


@escape
def kernel_modules(world: World) -> Out:
    """init_module: code in the kernel (called with no code)."""
    return reached(175, 0, 0, b"", meaning="init_module")


@escape
def kernel_modules_from_file(world: World) -> Out:
    """finit_module: code in the kernel (called with no file)."""
    return reached(313, -1, b"", 0, meaning="finit_module")


@escape
def other_kernel(world: World) -> Out:
    """kexec_load: another kernel (called with flags that do not exist)."""
    return reached(246, 0, 0, 0, 0xFF, meaning="kexec_load")


@escape
def reboot(world: World) -> Out:
    """reboot: the machine (called with wrong numbers)."""
    return reached(169, 0, 0, 0, 0, meaning="reboot")


@escape
def swap_file(world: World) -> Out:
    """swapon: the memory of the machine on a file of the program (called with no file)."""
    return reached(167, 0, 0, meaning="swapon")


@escape
def accounting(world: World) -> Out:
    """acct: a log of all processes in a file of the program (called with a missing file)."""
    return reached(163, b"/nowhere-at-all", meaning="acct")


@escape
def kernel_log(world: World) -> Out:
    """syslog: the addresses and secrets that the kernel prints."""
    return reached(103, 10, 0, 0, meaning="the log of the kernel")


@escape
def clock(world: World) -> Out:
    """settimeofday: the clock of the machine (called with no time)."""
    return reached(164, 0, 0, meaning="the clock")


@escape
def ports(world: World) -> Out:
    """iopl: the ports of the hardware."""
    return reached(172, 3, meaning="the ports of the hardware")


@escape
def watch_file_system(world: World) -> Out:
    """fanotify: what every program opens."""
    return reached(300, 0x0C | 0x200, 0, meaning="fanotify of the file system")


@escape
def new_keyring(world: World) -> Out:
    """keyctl: keyrings of the kernel, which know no namespace."""
    return reached(250, 0, -3, 0, 0, 0, meaning="keyctl")


@escape
def request_key(world: World) -> Out:
    """request_key: a program that the kernel starts outside."""
    return reached(249, b"user", b"walls-missing", 0, 0, meaning="request_key")


X32 = 0x40000000


@escape
def x32_calls(world: World) -> Out:
    """The numbers of x32, with which a filter by number sees other system calls."""
    try:
        syscall(X32 | 39)
    except OSError as error:
        if error.errno == errno.ENOSYS:
            raise Impossible("the kernel has no x32, or a filter says so") from error
        raise
    return Out("system calls of x32 are answered")


class _OldCalls:
    """System calls of 32-bit programs from a 64-bit one, by `int 0x80`."""

    CODE = bytes.fromhex("53 89f8 89f3 87ca cd80 5b c3")
    """push rbx; mov eax, edi; mov ebx, esi; xchg edx, ecx; int 0x80; pop rbx; ret"""

    def __init__(self) -> None:
        low_memory = 0x40
        self.memory = mmap.mmap(-1, 8192, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | low_memory, 7)
        self.memory[: len(self.CODE)] = self.CODE
        self.start = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))

    def data(self, value: bytes) -> int:
        """Put bytes where 32 bits can point, and return where they are."""
        self.memory[4096 : 4096 + len(value)] = value
        return self.start + 4096

    def call(self, *arguments: int) -> int:
        """Make a call with up to three arguments."""
        function = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_uint] * 4)(self.start)
        result = int(function(*arguments, *[0] * (4 - len(arguments))))
        if result < 0:
            raise OSError(-result, os.strerror(-result))
        return result


@escape
def old_calls(world: World) -> Out:
    """`int 0x80`: the numbers of 32-bit programs, with which a filter by number sees other system calls."""
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
    getpid = 20
    if _OldCalls().call(getpid) != os.getpid():
        raise Impossible("the kernel has no system calls of 32 bits")
    return Out("system calls of 32 bits are answered")


@escape
def socket_by_old_calls(world: World) -> None:
    """An abstract socket outside, connected by `int 0x80`."""
    socket_call, connect = 359, 362
    calls = _OldCalls()
    descriptor = calls.call(socket_call, socket.AF_UNIX, socket.SOCK_STREAM, 0)
    name = struct.pack("H", socket.AF_UNIX) + b"\0" + world.facts["abstract"].encode()
    calls.call(connect, descriptor, calls.data(name), len(name))
    os.write(descriptor, world.mark.encode())


@escape
def compare_processes(world: World) -> Out:
    """kcmp: what the victim and the program share."""
    memory = 1
    syscall(312, world.number("process"), os.getpid(), memory, 0, 0)
    return Out("the two are compared")


@escape
def limits_of_others(world: World) -> None:
    """The limits of the victim (prlimit)."""
    limit_core = 4
    new = struct.pack("QQ", 0, 0)
    check(LIBC.prlimit64(world.number("process"), limit_core, new, None))


@escape
def priority_of_others(world: World) -> None:
    """The priority of the victim."""
    os.setpriority(os.PRIO_PROCESS, world.number("process"), 7)


@escape
def processors_of_others(world: World) -> None:
    """The processors of the victim."""
    os.sched_setaffinity(world.number("process"), {min(os.sched_getaffinity(0))})
