"""Escapes from the sandbox: nothing gets out of any wall of this machine, while ordinary work goes on inside.

Without a wall the same escapes get out, so each of them checks something.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.system_packages import found_or_installed
from tests.walls.escapes.attempt import REGISTRY
from tests.walls.escapes.catalog import NAMES
from tests.walls.outside import (
    ANOTHER_USER,
    Outside,
    Verdict,
    _judge,
    as_user,
    enter,
    outside,
    python_for,
    run,
    without_wall,
    work,
)
from workbench.risk.paths import words
from workbench.sandbox.partial_sandbox import absence

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the escapes are those of Linux")

USERS = {"root": 0, "another user": ANOTHER_USER} if os.getuid() == 0 else {"this user": os.getuid()}

NEEDS_ROOT = words(
    "kernel_messages loop_devices file_system_in_user_space virtual_machines network_tunnels console core_pattern "
    "kernel_settings hardware_settings release_agent new_control_group join_control_group preload_library "
    "system_program crontab leave_program_with_capabilities password_file secret_by_handle accounting clock kernel_log "
    "reboot swap_file user_faults user_faults_device watch_file_system bind_outside bind_over_protection "
    "change_mount_attributes change_root clone_mount mount_disk mount_processes move_mount new_file_system "
    "pick_file_system pivot_root remount_protection_writable remount_root_writable unmount_hiding unmount_protection "
    "join_namespaces join_namespaces_of_process new_control_group_namespace new_mount_namespace new_network_namespace "
    "new_process_namespace capabilities host_name packet_socket raw_socket paste_into_console type_into_other_terminal "
    "other_sockets program_of_parents memory_of_parents descriptors_of_parents"
)
"""The escapes that no user but root can make, wall or not."""
NEEDS_KERNEL = words(
    # what it may be built without
    "at_job binary_formats cipher_socket debug_file_system trace_file_system kernel_modules kernel_modules_from_file "
    "memory_of_kernel memory_of_machine module_loader new_memory_node other_kernel ports run_at system_request "
    "tcp_by_shared_memory uevent_helper x32_calls old_calls socket_by_old_calls machine_socket machine_socket_connects "
    "tcp_by_many_paths tcp_to_loopback_of_version_6 bpf io_uring io_uring_register perf_events user_faults "
    "user_faults_device compare_processes posix_queue "
    # what administrators switch off: tracing (Yama), typing into terminals, user namespaces, keyrings, links
    "memory_of_victim change_memory_of_victim copy_memory_of_victim copy_into_memory_of_victim trace_victim "
    "seize_victim copied_descriptor_of_victim type_into_terminal type_past_filter type_into_standard_input "
    "steal_other_terminal new_user_namespace new_user_and_mount_namespace clone_user_namespace clone3_user_namespace "
    "nested_sandbox share_namespaces_by_program secret_of_kernel_keyring key_of_kernel_changed key_of_kernel_added "
    "new_keyring request_key hard_link_into_workspace secret_by_hard_link change_attributes_outside "
    # what machines that are containers or guests, or have no network, lack
    "disk new_disk_node join_namespaces_of_first_process through_root_of_first_process tcp_out udp_out "
    "proxy_to_own_network network_of_machine name_resolution name_server run_suid_program"
)
"""The escapes that depend on how the kernel was built and set up, and on the machine that the tests run on."""


OPEN = {
    "named_pipe": "a pipe outside can be written in spite of a read-only mount; Landlock would refuse it",
}
"""What gets out today, and why: a list that only shrinks."""
OPEN_TO_ROOT: dict[str, str] = {}
_NO_SUBTREE = "Landlock cannot take a protected path out of the workspace; the change is compared after the action"
_ANY_PROCESS = "without a namespace for processes, /proc lists all of them and their command lines"
_SHARED_MEMORY = "Python's pools of processes need /dev/shm, and there is only one"
OPEN_IN_PART = {
    "change_mode_outside": "Landlock does not handle permissions",
    "change_times_outside": "Landlock does not handle times",
    "write_shared_memory_file": _SHARED_MEMORY,
    "shared_memory_file": _SHARED_MEMORY,
    "listen_for_outside": "a server on the loopback interface is that of the machine, and only that is allowed",
    "other_command_lines": _ANY_PROCESS,
    "arguments_of_victim": _ANY_PROCESS,
    "list_processes": _ANY_PROCESS,
    **dict.fromkeys(
        words(
            "moved_hooks moved_git_directory linked_hooks config_of_submodule moved_modules redirected_worktree "
            "config_of_nested_repository config_of_linked_repository moved_parent_of_repository mcp_servers_moved "
            "moved_editor_settings exchanged_editor_settings moved_parent_of_workflows moved_own_settings "
            "agent_instructions_replaced agent_settings_through_link"
        ),
        _NO_SUBTREE,
    ),
}
"""What gets out of the partial sandbox, and why: a list that only shrinks."""
HINDERED_IN_PART = {
    "temporary_files": "there is only one /tmp; TMPDIR names the session's own directory",
    "own_terminal": "the terminals of other programs are where a new one would be",
}
"""The work that cannot be done in the partial sandbox, and why."""


def verdicts_of(run: str, tmp_path_factory: pytest.TempPathFactory, make: Callable[[], dict[str, Verdict]]):
    """Return the verdicts of a run, which one of the test workers makes for all.

    Only one run is made at a time on a machine: without a wall, some escapes reach the world of another run.
    """
    directory = tmp_path_factory.getbasetemp()
    directory = directory.parent if "PYTEST_XDIST_WORKER" in os.environ else directory
    stored = directory / f"walls-{run}.json"
    with (Path(tempfile.gettempdir()) / f"ohw-tests-walls-{os.getuid()}").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stored.exists():
            stored.write_text(json.dumps([asdict(verdict) for verdict in make().values()]))
    return {verdict.name: verdict for verdict in (Verdict(**each) for each in json.loads(stored.read_text()))}


@pytest.fixture(scope="module", params=USERS)
def user(request):
    """The name of a user of the wall, who can run Python."""
    if python_for(USERS[request.param]) is None:
        pytest.skip(f"{request.param} can run no Python here")
    return request.param


@contextlib.contextmanager
def world_of(user: str) -> Iterator[Outside]:
    with outside(USERS[user], python_for(USERS[user]) or "") as world:
        yield world


@pytest.fixture(scope="module")
def free(user, tmp_path_factory):
    """The verdicts of a run without a wall."""

    def make() -> dict[str, Verdict]:
        with world_of(user) as world:
            return without_wall(world)

    return verdicts_of(f"free-{USERS[user]}", tmp_path_factory, make)


@pytest.mark.parametrize("name", NAMES)
def test_an_escape_gets_out_where_there_is_no_wall(user, free, name):
    verdict = free[name]
    if verdict.outcome != "out" and (name in NEEDS_KERNEL or (name in NEEDS_ROOT and user != "root")):
        pytest.skip(f"{verdict.outcome}: {verdict.reason}")
    assert verdict.outcome == "out", verdict.reason


ROOT = Path(__file__).parent.parent.parent


def module(user: int, name: str) -> list[str]:
    """Return the command with which a user runs a module of ours."""
    python = sys.executable if user == os.getuid() else python_for(user)
    path = f"{ROOT}:{sysconfig.get_path('purelib')}"
    return ["env", f"PYTHONPATH={path}", "PYTHONDONTWRITEBYTECODE=1", str(python), "-m", name]


def command_of_user(world: Outside) -> list[str]:
    """`ohw sandbox run`, which has no network."""
    return [*module(world.user, "workbench"), "sandbox", "run", "--workspace", str(world.workspace), "--"]


def session(world: Outside) -> list[str]:
    """The sandbox of a session, whose user allows every host."""
    return [*module(world.user, "tests.walls.permissive_session"), "whole", str(world.workspace)]


def partial_session(world: Outside) -> list[str]:
    """The sandbox of a session where bubblewrap does not work."""
    return [*module(world.user, "tests.walls.permissive_session"), "partial", str(world.workspace)]


WALLS = {"command": command_of_user, "session": session, "partial session": partial_session}


@pytest.fixture(scope="module", params=WALLS)
def wall(request, user):
    """The name of a wall that holds on this machine for the user."""
    if request.param == "partial session":
        if reason := absence():
            pytest.skip(reason)
    else:
        found_or_installed(lambda: shutil.which("bwrap"), "bubblewrap")
    imports = [*module(USERS[user], "workbench"), "--version"]
    if subprocess.run(imports, capture_output=True, cwd="/", **as_user(USERS[user]), check=False).returncode:
        pytest.skip(f"{user} cannot run this program: its files, or its Python, are private")
    return request.param


@pytest.fixture(scope="module")
def walled(wall, user, tmp_path_factory):
    """The verdicts of a run in a wall."""

    def make() -> dict[str, Verdict]:
        with world_of(user) as world:
            return run(world, WALLS[wall](world))

    return verdicts_of(f"{wall.replace(' ', '-')}-{USERS[user]}", tmp_path_factory, make)


@pytest.mark.parametrize("name", NAMES)
def test_a_wall_holds(wall, user, walled, name):
    verdict = walled[name]
    still_open = OPEN_IN_PART if wall == "partial session" else {**OPEN, **(OPEN_TO_ROOT if user == "root" else {})}
    if name in still_open:
        assert verdict.outcome == "out", f"this is held now, remove its entry: {verdict.reason}"
    else:
        assert verdict.outcome in ("held", "impossible here"), verdict.reason


def test_a_wall_lets_ordinary_work_be_done(wall, user):
    with world_of(user) as world:
        results = work(world, WALLS[wall](world))
    assert len(results) >= 20
    hindered = HINDERED_IN_PART if wall == "partial session" else {}
    assert {each.name for each in results.values() if each.outcome != "done"} == set(hindered)


def test_a_wall_leaves_nothing_of_its_own_in_the_workspace(wall, user):
    with world_of(user) as world:
        before = {path: path.lstat().st_mode for path in world.workspace.rglob("*")}
        enter(world, WALLS[wall](world))
        assert {path: path.lstat().st_mode for path in world.workspace.rglob("*")} == before


def test_most_escapes_are_shown_to_get_out_where_there_is_no_wall(free):
    assert sum(verdict.outcome == "out" for verdict in free.values()) >= 200


def test_ordinary_work_is_done_where_there_is_no_wall(user):
    with world_of(user) as world:
        results = work(world, [])
    assert len(results) >= 20
    assert [each for each in results.values() if each.outcome != "done"] == []


def test_every_escape_says_what_would_be_reached():
    assert len(NAMES) >= 60
    assert [name for name, escape in REGISTRY.items() if not escape.__doc__] == []


@pytest.fixture
def world():
    return Outside(0, "python3", *[Path("/nowhere")] * 5, secrets={"walls-secret-1": "a key"})


@pytest.mark.parametrize(
    ("outcome", "detail", "marks", "verdict"),
    [
        ("held", "refused", {}, "held"),
        ("held", "refused", {"escape": "a victim received it"}, "out"),
        ("held", "it has walls-secret-1", {}, "out"),
        ("tried", "", {}, "held"),
        ("tried", "", {"escape": "a victim received it"}, "out"),
        ("tried", "inode 1:2", {}, "held"),
        ("out", "the call is answered", {}, "out"),
        ("broken", "TypeError", {}, "broken"),
    ],
)
def test_what_is_seen_outside_counts_more_than_the_word_of_the_program(world, outcome, detail, marks, verdict):
    assert _judge(world, {"name": "escape", "outcome": outcome, "detail": detail}, marks).outcome == verdict
