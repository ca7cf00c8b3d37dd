"""Checks what the kernel reports about a new container's first process: that the container is closed where it must
be.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from workbench.processes.mount_check import differs, encoded
from workbench.risk.paths import within
from workbench.sandbox.container_runtime import BindMount

_LOOPBACK = "lo"
_MEMORY_FILES = (("memory", "/memory", "memory.limit_in_bytes"), ("", "", "memory.max"))
"""For each version of control groups: the controller in the list of a process's groups, where its groups are, and the
file with the limit."""
_NO_LIMIT = 1 << 62


def what_is_open(process: int, mounts: Sequence[BindMount], workspace: str, *, reaches_hosts: bool) -> str:
    """Return what a container lets through that it should not; empty if nothing.

    `process` is the pid of the container's first process. It is not examined if it belongs to another user, as with
    docker for an ordinary user. Of the `mounts`, those in the workspace are compared, because programs there could
    replace paths with links, and those others whose targets have no links. With `reaches_hosts`, the network is not
    checked.
    """
    directory = Path(f"/proc/{process}")
    if not os.access(directory / "root", os.X_OK):
        return ""
    try:
        status = dict(line.split(":", 1) for line in (directory / "status").read_text().splitlines())
        has_network = _has_network(directory / "net")
    except OSError:
        return "it has ended"
    if status.get("NoNewPrivs", "").strip() != "1":
        return "programs in it could gain rights"
    if not reaches_hosts and has_network:
        return "it has a network"
    compared = [each for each in mounts if within(each.target, workspace) or _is_real(each.target)]
    order = encoded((each.source, each.target, not each.is_writable) for each in compared)
    if differs(process, order, has_own_root=True):
        return "files of the workspace are not mounted as they should be"
    return ""


def _is_real(path: str) -> bool:
    """Return whether no part of a path is a link."""
    return os.path.realpath(path) == path


def _has_network(directory: Path) -> bool:
    """Return whether there is a route other than loopback, given `/proc/PID/net`; interfaces that are down have no
    routes.
    """
    _, *lines = (directory / "route").read_text().splitlines()
    interfaces = [line.split()[0] for line in lines]
    with suppress(FileNotFoundError):  # without IPv6
        interfaces += [line.split()[-1] for line in (directory / "ipv6_route").read_text().splitlines()]
    return bool(set(interfaces) - {_LOOPBACK})


def has_memory_limit(process: int) -> bool:
    """Return whether the kernel limits the memory of a process's control group; True if that is not known.

    Podman ignores the option for an ordinary user where the system does not hand control groups to users.
    """
    try:
        groups = [line.split(":", 2)[1:] for line in Path(f"/proc/{process}/cgroup").read_text().splitlines()]
    except OSError:
        return True
    for controllers, path in groups:
        for controller, directory, file in _MEMORY_FILES:
            if controller in controllers.split(",") and (at := Path(f"/sys/fs/cgroup{directory}{path}")).is_dir():
                return _is_number(at / file)
    return True


def _is_number(file: Path) -> bool:
    """Return whether a file has a number below that which version 1 of control groups has for no limit."""
    try:
        text = file.read_text().strip()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return text.isdigit() and int(text) < _NO_LIMIT
