"""Undoing the wall itself: mounts, other namespaces, other roots."""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

from .attempt import LIBC, Impossible, Out, World, check, escape, reached, run, syscall

MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC = 1, 32, 4096, 16384
NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = (
    *(0x20000, 0x2000000, 0x4000000, 0x8000000),
    *(0x10000000, 0x20000000, 0x40000000),
)
MNT_DETACH = 2
SIGCHLD = 17


def _mount(source: str, target: Path | str, kind: str, flags: int) -> None:
    check(LIBC.mount(source.encode(), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), None))


@escape
def remount_root_writable(world: World) -> None:
    """The root, mounted again for writing."""
    _mount("none", "/", "none", MS_REMOUNT | MS_BIND)
    world.leave(world.canary)


@escape
def remount_protection_writable(world: World) -> None:
    """The hooks, mounted again for writing."""
    hooks = world.workspace / ".git/hooks"
    _mount("none", hooks, "none", MS_REMOUNT | MS_BIND)
    world.leave(hooks / world.name)


@escape
def unmount_protection(world: World) -> None:
    """The hooks under the mount that protects them: unmounted and written."""
    hooks = world.workspace / ".git/hooks"
    check(LIBC.umount2(os.fsencode(hooks), MNT_DETACH))
    world.leave(hooks / world.name)


@escape
def unmount_hiding(world: World) -> str:
    """A secret under the mount that hides it."""
    directory = world.home / ".azure"
    check(LIBC.umount2(os.fsencode(directory), MNT_DETACH))
    return (directory / "tokens.json").read_text()


@escape
def bind_outside(world: World) -> None:
    """The directory outside, mounted a second time in the workspace."""
    target = world.workspace / f"mount-{world.name}"
    target.mkdir()
    _mount(str(world.canary.parent), target, "none", MS_BIND | MS_REC)
    world.leave(target / world.name)


@escape
def bind_over_protection(world: World) -> Out:
    """The hooks, hidden for the rest of the wall under a mount of the program."""
    target = world.workspace / ".git/hooks"
    _mount(str(world.workspace), target, "none", MS_BIND)
    check(LIBC.umount2(os.fsencode(target), MNT_DETACH))
    return Out("the mount succeeds")


@escape
def mount_disk(world: World) -> Out:
    """A new file system: here one in memory."""
    target = world.workspace / f"mount-{world.name}"
    target.mkdir()
    _mount("none", target, "tmpfs", 0)
    check(LIBC.umount2(os.fsencode(target), MNT_DETACH))
    return Out("a file system is mounted")


@escape
def mount_processes(world: World) -> Out:
    """A new /proc, without what hides parts of the old one."""
    target = world.workspace / f"mount-{world.name}"
    target.mkdir()
    _mount("proc", target, "proc", 0)
    check(LIBC.umount2(os.fsencode(target), MNT_DETACH))
    return Out("a second /proc is mounted")


@escape
def clone_mount(world: World) -> Out:
    """A detached copy of the root's mounts (open_tree), writable again by mount_setattr."""
    open_tree, clone, recursive = 428, 1, 0x8000
    return reached(open_tree, -100, b"/", clone | recursive, meaning="a detached copy of all mounts")


@escape
def move_mount(world: World) -> Out:
    """move_mount: a mount in another place."""
    return reached(429, -1, b"", -1, b"", 4 | 0x40, meaning="move_mount")


@escape
def new_file_system(world: World) -> Out:
    """fsopen: a new file system without `mount`."""
    return reached(430, b"tmpfs", 0, meaning="fsopen")


@escape
def pick_file_system(world: World) -> Out:
    """fspick: the settings of a mounted file system."""
    return reached(433, -100, b"/", 0, meaning="fspick")


@escape
def change_mount_attributes(world: World) -> None:
    """mount_setattr: the root without its read-only flag."""
    attributes = struct.pack("QQQQ", 0, MS_RDONLY, 0, 0)
    syscall(442, -100, b"/", 0, attributes, len(attributes))
    world.leave(world.canary)


@escape
def change_root(world: World) -> Out:
    """chroot: a directory of the program as the root of suid programs, and `..` above the old root."""
    os.chroot(world.workspace)
    return Out("the workspace is the root")


@escape
def pivot_root(world: World) -> Out:
    """pivot_root: another root for the whole wall."""
    return reached(155, b"/nowhere-at-all", b"/nowhere-at-all", meaning="pivot_root")


def _unshare(flags: int) -> None:
    check(LIBC.unshare(flags))


@escape
def new_user_namespace(world: World) -> Out:
    """All capabilities, in a new user namespace: most attacks on the kernel start there."""
    _unshare(NEWUSER)
    return Out("a user namespace with all capabilities")


@escape
def new_user_and_mount_namespace(world: World) -> None:
    """The root, mounted again for writing in new namespaces."""
    _unshare(NEWUSER | NEWNS)
    _mount("none", "/", "none", MS_REMOUNT | MS_BIND)
    world.leave(world.canary)


@escape
def new_mount_namespace(world: World) -> Out:
    """A mount namespace of its own."""
    _unshare(NEWNS)
    return Out("a mount namespace")


@escape
def new_network_namespace(world: World) -> Out:
    """A network namespace of its own."""
    _unshare(NEWNET)
    return Out("a network namespace")


@escape
def new_process_namespace(world: World) -> Out:
    """A process namespace of its own."""
    _unshare(NEWPID)
    return Out("a process namespace")


@escape
def new_control_group_namespace(world: World) -> Out:
    """A namespace of control groups: the way of the attack by release_agent."""
    _unshare(NEWCGROUP)
    return Out("a namespace of control groups")


def _clone_result(child: int) -> Out:
    """Return after a clone; the child ends at once."""
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return Out("a child in a new user namespace")


@escape
def clone_user_namespace(world: World) -> Out:
    """A child in a new user namespace, by clone."""
    return _clone_result(syscall(56, NEWUSER | SIGCHLD, 0, 0, 0, 0))


@escape
def clone3_user_namespace(world: World) -> Out:
    """A child in a new user namespace, by clone3, whose flags no filter can read."""
    arguments = struct.pack("8Q", NEWUSER, 0, 0, 0, SIGCHLD, 0, 0, 0)
    return _clone_result(syscall(435, arguments, len(arguments)))


@escape
def join_namespaces(world: World) -> None:
    """The mounts of the victim, by setns to its namespace."""
    namespace = os.open(f"/proc/{world.number('process')}/ns/mnt", os.O_RDONLY)
    check(LIBC.setns(namespace, NEWNS))
    world.leave(world.canary)


@escape
def join_namespaces_of_process(world: World) -> None:
    """The mounts of the victim, by setns to the process itself."""
    check(LIBC.setns(os.pidfd_open(world.number("process")), NEWNS))
    world.leave(world.canary)


@escape
def join_namespaces_of_first_process(world: World) -> None:
    """The mounts and the network of the first process seen inside, which may be older than the wall."""
    namespace = os.open("/proc/1/ns/mnt", os.O_RDONLY)
    check(LIBC.setns(namespace, NEWNS))
    world.leave(world.canary)


@escape
def nested_sandbox(world: World) -> None:
    """A sandbox inside the sandbox, with the root mounted for writing."""
    script = f"printf %s '{world.mark}' > '{world.canary}'"
    run("bwrap", "--dev-bind", "/", "/", "--", "sh", "-c", script)


@escape
def share_namespaces_by_program(world: World) -> None:
    """`unshare` as a program, with a map of users."""
    script = f"mount -o remount,bind,rw / ; printf %s '{world.mark}' > '{world.canary}'"
    run("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script)


@escape
def capabilities(world: World) -> Out:
    """Capabilities over the machine itself, which a wall must drop."""
    fields = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    whole = Path("/proc/self/uid_map").read_text().split() == ["0", "0", "4294967295"]
    if not int(fields["CapEff"], 16):
        raise PermissionError("no capability is in effect")
    if not whole:
        raise PermissionError("capabilities are those of a user namespace")
    return Out(f"capabilities {fields['CapEff']} over the machine")


@escape
def new_privileges(world: World) -> Out:
    """New privileges by a later exec: no_new_privs is off."""
    if LIBC.prctl(39, 0, 0, 0, 0):
        raise PermissionError("no_new_privs is set")
    return Out("programs may gain privileges")


@escape
def host_name(world: World) -> Out:
    """The name of the machine (set to what it is)."""
    name = os.uname().nodename.encode()
    check(LIBC.sethostname(name, len(name)))
    if Path("/proc/self/ns/uts").stat().st_ino != world.facts["uts"]:
        raise Impossible("the name is that of a namespace")
    return Out("the name of the machine may be changed")
