"""Writing files outside the workspace: directly, through links and descriptors, by rename, by other system calls."""

from __future__ import annotations

import ctypes
import os
import shutil
import stat
from pathlib import Path

from .attempt import LIBC, Impossible, Out, World, check, escape, identity, run

RENAME_EXCHANGE = 2
AT_FDCWD = -100


def _copy(world: World) -> Path:
    """Return a new file in the workspace that has the mark in it."""
    path = world.workspace / f"new-{world.name}"
    world.leave(path)
    return path


@escape
def write_outside(world: World) -> None:
    """A file of the user outside the workspace."""
    world.leave(world.canary)


@escape
def append_outside(world: World) -> None:
    """The end of a file of the user outside the workspace."""
    world.append(world.canary)


@escape
def create_outside(world: World) -> None:
    """A new file in a directory outside the workspace."""
    world.leave(world.canary.parent / f"new-{world.name}")


@escape
def make_directory_outside(world: World) -> None:
    """A new directory outside the workspace, with a file in it."""
    path = world.canary.parent / f"directory-{world.name}"
    path.mkdir()
    world.leave(path / "file")


@escape
def unlink_outside(world: World) -> None:
    """The removal of a file outside the workspace."""
    world.canary.unlink()


@escape
def truncate_outside(world: World) -> None:
    """The contents of a file outside the workspace, by its path, without opening it."""
    os.truncate(world.canary, 0)


@escape
def change_mode_outside(world: World) -> None:
    """The permissions of a file outside the workspace."""
    world.canary.chmod(0o777)


@escape
def change_times_outside(world: World) -> None:
    """The times of a file outside the workspace, on which builds depend."""
    os.utime(world.canary, (1, 1))


@escape
def change_attributes_outside(world: World) -> None:
    """The extended attributes of a file outside the workspace."""
    os.setxattr(world.canary, "user.escaped", world.mark.encode())


@escape
def rename_over_outside(world: World) -> None:
    """The replacement of a file outside by one of the workspace."""
    _copy(world).rename(world.canary)


@escape
def rename_into_workspace(world: World) -> None:
    """A file outside, moved into the workspace, where it may be changed."""
    world.canary.rename(world.workspace / f"moved-{world.name}")


@escape
def exchange_with_outside(world: World) -> None:
    """The exchange of a file outside with one of the workspace (renameat2)."""
    old, new = os.fsencode(world.canary), os.fsencode(_copy(world))
    check(LIBC.renameat2(AT_FDCWD, new, AT_FDCWD, old, RENAME_EXCHANGE))


@escape
def hard_link_into_workspace(world: World) -> None:
    """A file outside, under a second name in the workspace."""
    link = world.workspace / f"link-{world.name}"
    os.link(world.canary, link)
    world.leave(link)


@escape
def hard_link_outside(world: World) -> None:
    """A file of the workspace, under a second name outside."""
    os.link(_copy(world), world.canary.parent / f"link-{world.name}")


@escape
def through_planted_link(world: World) -> None:
    """The directory outside to which a link of the repository leads."""
    world.leave(world.workspace / "link-outwards" / world.name)


@escape
def through_new_link(world: World) -> None:
    """A file outside, through a link that is made inside."""
    link = world.workspace / f"link-{world.name}"
    link.symlink_to(world.canary)
    world.leave(link)


@escape
def through_dangling_link(world: World) -> None:
    """A missing file outside, created through a link of the repository that leads nowhere."""
    world.leave(world.workspace / "link-to-missing")


@escape
def through_parent_directory(world: World) -> None:
    """A file outside, by `..` from a descriptor of the workspace."""
    directory = os.open(world.workspace, os.O_RDONLY)
    path = os.path.relpath(world.canary, world.workspace)
    os.write(os.open(path, os.O_WRONLY, dir_fd=directory), world.mark.encode())


@escape
def through_own_root(world: World) -> None:
    """A file outside, through /proc/self/root."""
    world.leave(f"/proc/self/root{world.canary}")


@escape
def through_root_of_first_process(world: World) -> None:
    """A file outside, through the root of the first process that is seen inside."""
    world.leave(f"/proc/1/root{world.canary}")


@escape
def through_root_of_parents(world: World) -> None:
    """A file outside, through the root of each process that the program can see."""
    for root in Path("/proc").glob("[0-9]*/root"):
        try:
            world.leave(f"{root}{world.canary}")
        except OSError:
            continue


@escape
def through_working_directory_of_parents(world: World) -> None:
    """A file outside, relative to the working directory of each process that the program can see."""
    path = os.path.relpath(world.canary, world.workspace)
    for cwd in Path("/proc").glob("[0-9]*/cwd"):
        try:
            world.leave(f"{cwd}/{path}")
        except OSError:
            continue


@escape
def reopen_for_writing(world: World) -> None:
    """A file outside that was opened for reading, opened again for writing through /proc/self/fd."""
    world.leave(f"/proc/self/fd/{os.open(world.canary, os.O_RDONLY)}")


@escape
def through_path_descriptor(world: World) -> None:
    """A directory outside, through a descriptor opened with O_PATH."""
    directory = os.open(world.canary.parent, os.O_PATH)
    world.leave(f"/proc/self/fd/{directory}/{world.name}")


@escape
def map_for_writing(world: World) -> None:
    """A file outside, through a shared mapping that is made writable later."""
    descriptor = os.open(world.canary, os.O_RDWR)
    LIBC.mmap.restype = ctypes.c_void_p
    size, shared, both = 4096, 1, 3
    start = LIBC.mmap(None, ctypes.c_size_t(size), both, shared, descriptor, ctypes.c_long(0))
    ctypes.memmove(start, world.mark.encode(), os.fstat(descriptor).st_size)


@escape
def link_unnamed_file(world: World) -> None:
    """A new file outside, linked from an unnamed file of the workspace."""
    descriptor = os.open(world.workspace, os.O_TMPFILE | os.O_RDWR)
    os.write(descriptor, world.mark.encode())
    target = os.fsencode(world.canary.parent / f"link-{world.name}")
    check(LIBC.linkat(AT_FDCWD, b"/proc/self/fd/%d" % descriptor, AT_FDCWD, target, 0x400))


@escape
def move_workspace(world: World) -> None:
    """The name of the workspace itself: the user's next command would run in another directory."""
    moved = world.home / f"moved-{world.name}"
    world.workspace.rename(moved)
    world.workspace.mkdir()
    world.leave(world.workspace / world.name)
    world.workspace.rename(world.home / f"replaced-{world.name}")
    moved.rename(world.workspace)


@escape
def write_other_repository(world: World) -> None:
    """Another repository of the user, beside the workspace."""
    world.leave(world.home / "other-project" / f"new-{world.name}")


@escape
def write_temporary_files_of_others(world: World) -> None:
    """A file that another program has in /tmp."""
    world.leave(Path(world.facts["temporary"]) / world.name)


@escape
def write_var_tmp(world: World) -> None:
    """A file that another program has in /var/tmp."""
    world.leave(Path(world.facts["var_tmp"]) / world.name)


@escape
def write_shared_memory_file(world: World) -> None:
    """A file that another program has in /dev/shm."""
    world.leave(Path(world.facts["shm"]) / world.name)


@escape
def write_runtime_directory(world: World) -> None:
    """The runtime directory of the user, in which sockets of the desktop are."""
    world.leave(Path(world.facts["runtime"]) / f"new-{world.name}")


def _can_add_file(directory: str) -> str:
    """Try to create an unnamed file there, which leaves nothing behind; its device shows outside which directory it
    is.
    """
    if not Path(directory).is_dir():
        raise Impossible(f"{directory} is missing")
    os.close(os.open(directory, os.O_TMPFILE | os.O_WRONLY))
    return identity(os.open(directory, os.O_RDONLY))


@escape
def preload_library(world: World) -> str:
    """/etc/ld.so.preload and /etc/profile.d: code that each program of the machine runs."""
    return _can_add_file("/etc")


@escape
def system_program(world: World) -> str:
    """/usr/local/bin: a program that is found before that of the system."""
    return _can_add_file("/usr/local/bin")


@escape
def crontab(world: World) -> str:
    """The crontabs of all users."""
    return _can_add_file("/var/spool/cron/crontabs" if Path("/var/spool/cron/crontabs").is_dir() else "/etc/cron.d")


@escape
def at_job(world: World) -> str:
    """The queue of `at`, whose jobs run outside."""
    return _can_add_file("/var/spool/cron/atjobs")


@escape
def run_at(world: World) -> None:
    """A job that the daemon of `at` runs outside."""
    run("at", "now", given=f"printf %s '{world.mark}' > '{world.canary}'")


@escape
def leave_suid_program(world: World) -> None:
    """A program of the workspace that runs as its owner for every user (for root: a way to root)."""
    path = world.workspace / "suid-program"
    shutil.copy("/bin/true", path)
    path.chmod(stat.S_ISUID | 0o755)


@escape
def create_suid_program(world: World) -> None:
    """The same without chmod: the bit is set by the call that creates the file."""
    descriptor = os.open(world.workspace / "created-suid-program", os.O_WRONLY | os.O_CREAT, stat.S_ISUID | 0o755)
    os.write(descriptor, Path("/bin/true").read_bytes())
    if not os.fstat(descriptor).st_mode & stat.S_ISUID:
        os.fchmod(descriptor, stat.S_ISUID | 0o755)


@escape
def leave_program_with_capabilities(world: World) -> None:
    """A program of the workspace that has capabilities for every user."""
    path = world.workspace / "program-with-capabilities"
    shutil.copy("/bin/true", path)
    version_2_effective, net_raw = 0x02000001, 1 << 13
    value = b"".join(word.to_bytes(4, "little") for word in (version_2_effective, net_raw, 0, 0, 0))
    os.setxattr(path, "security.capability", value)


@escape
def run_suid_program(world: World) -> Out:
    """The rights of root, through a program that runs as root."""
    if os.getuid() == 0 or not world.facts["suid_program"]:
        raise Impossible("the user is root" if os.getuid() == 0 else "only root can prepare such a program")
    user = run(world.facts["suid_program"], "-u").strip()
    if user == "0":
        return Out("the program runs as root")
    raise PermissionError(f"the program runs as {user}")


def _start_file(world: World, name: str) -> None:
    path = world.home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    world.leave(path)


@escape
def shell_start_file(world: World) -> None:
    """~/.bashrc, which each new shell of the user runs."""
    world.append(world.home / ".bashrc")


@escape
def login_start_file(world: World) -> None:
    """~/.profile, which each login runs."""
    world.append(world.home / ".profile")


@escape
def missing_start_file(world: World) -> None:
    """~/.zshenv, which is missing: what each new zsh would run."""
    _start_file(world, ".zshenv")


@escape
def autostart(world: World) -> None:
    """~/.config/autostart: a program that each login to the desktop starts."""
    _start_file(world, ".config/autostart/escaped.desktop")


@escape
def user_service(world: World) -> None:
    """~/.config/systemd/user: a service that each login starts."""
    _start_file(world, ".config/systemd/user/escaped.service")


@escape
def git_settings_of_user(world: World) -> None:
    """~/.gitconfig, which makes git run programs in each repository."""
    world.append(world.home / ".gitconfig")


@escape
def authorized_keys(world: World) -> None:
    """~/.ssh/authorized_keys: who may log in."""
    _start_file(world, ".ssh/authorized_keys")


@escape
def program_of_user(world: World) -> None:
    """~/.local/bin: a program that is found before that of the system."""
    _start_file(world, ".local/bin/git")


@escape
def python_start_file(world: World) -> None:
    """A module that each Python of the user imports at its start."""
    _start_file(world, ".local/lib/python3.11/site-packages/usercustomize.py")
