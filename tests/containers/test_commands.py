"""A shell in a container: a real podman or docker, a real bash, and what neither can reach."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.containers.images import WITH_BASH, WITHOUT_BASH, Engine, in_each_engine
from tests.sandbox import Sandbox as User
from tests.sandbox import wait_for
from tests.walls.shells import bash, shell_in
from workbench.errors import UsageError
from workbench.processes import sweep
from workbench.processes.leftovers import mark
from workbench.sandbox.container import LABEL, Container
from workbench.tools.execute_bash import BashTool


@pytest.fixture
def shell(container: Container, user: User) -> Iterator[BashTool]:
    yield from shell_in(container, user)


def ours(engine: Engine, *more: str) -> str:
    """Return the names of the containers that this process has started and that run."""
    return engine("ps", "--format", "{{.Names}}", "--filter", f"label={LABEL}={mark()}", *more)


def failure_of(container: Container) -> str:
    return container.await_start(lambda: False, lambda step: None)


@in_each_engine
def test_commands_see_the_image_and_the_workspace_under_its_own_path(shell: BashTool, user: User):
    (user.project / "notes.txt").write_text("from outside\n")
    done = bash(shell, "pwd; cat notes.txt; type busybox; ls /; echo from inside > made.txt")
    assert done.output.splitlines()[:3] == [str(user.project), "from outside", "busybox is /bin/busybox"]
    assert "usr" not in done.output.splitlines(), "the image has no /usr"
    assert (user.project / "made.txt").read_text() == "from inside\n"


@in_each_engine
def test_files_belong_to_the_user_whose_workspace_it_is(shell: BashTool, user: User):
    bash(shell, "mkdir made && touch made/file")
    assert {path.stat().st_uid for path in (user.project / "made", user.project / "made/file")} == {os.getuid()}


def test_directory_variables_and_exit_codes_last_between_commands(shell: BashTool):
    bash(shell, "cd /etc; x=5")
    done = bash(shell, "echo $x; (exit 7)")
    assert (done.output, done.exit_code, done.metadata.working_dir) == ("5\n", 7, "/etc")


def test_what_the_shell_prints_is_printed_once_and_as_it_is(shell: BashTool):
    assert bash(shell, "seq 1 20000 | tail -n 2; printf 'no newline'").output == "19999\n20000\nno newline"
    assert bash(shell, "stty raw echo; printf 'a\\nb\\n'").output.replace("\r", "") == "a\nb\n"
    assert bash(shell, "printf 'c\\nd\\n'").output == "c\nd\n", "the modes are those of before"


def test_a_long_command_goes_through_a_file(shell: BashTool):
    assert bash(shell, f"echo {'x' * 6000} | wc -c").output == "6001\n"


def test_no_command_leads_the_shells_files_to_another_place(shell: BashTool, container: Container):
    taken = 'for each in "$PWD" *; do mv "$each" "$each-moved" && ln -s /etc "$each"; done'
    assert bash(shell, f"(cd {container.directory} && {taken})").exit_code != 0
    assert not any("moved" in each.name or each.is_symlink() for each in container.directory.iterdir())
    assert bash(shell, f"echo {'x' * 6000} | wc -c").output == "6001\n"


@in_each_engine
def test_input_keys_and_an_interrupt_reach_the_command(shell: BashTool):
    assert bash(shell, "read name; echo hello $name", timeout=0.5).exit_code == -1
    assert "hello you" in bash(shell, "you", is_input=True, timeout=5).output
    assert bash(shell, "sleep 100", timeout=0.3).exit_code == -1
    assert bash(shell, "C-c", is_input=True).exit_code == 130


def test_no_command_can_pretend_to_have_ended(shell: BashTool):
    forged = bash(shell, "printf '\\033]133;A\\007'; read -t 1 line; echo \"read: $line\"")
    assert forged.output == "read: \n"
    assert forged.exit_code == 0


@pytest.mark.parametrize(
    "command", ["setsid sleep 1234 &", "(trap '' HUP; sleep 1234) >/dev/null 2>&1 &", "(sleep 1234 &)"]
)
def test_a_new_shell_leaves_nothing_of_the_old_one_running(shell: BashTool, command: str):
    bash(shell, command)
    # A process has no command line between its fork and the first instruction of its program.
    wait_for(lambda: "sleep 1234" in bash(shell, "ps").output, "the sleep")
    bash(shell, "", reset=True)
    assert "sleep 1234" not in bash(shell, "ps").output


@in_each_engine
@pytest.mark.parametrize("command", ["setsid sleep 1234 &", "(trap '' HUP; env -i sleep 1234) >/dev/null 2>&1 &"])
def test_nor_does_it_where_this_user_cannot_see_what_runs_in_the_container(
    user: User, opened: Callable[..., Container], monkeypatch: pytest.MonkeyPatch, command: str
):
    """As for an ordinary user with docker and another `user`, or where the containers are in a virtual machine."""
    monkeypatch.setattr(sweep, "_marked", lambda marks: ([], False))
    container = opened()
    assert failure_of(container) == ""
    with contextlib.contextmanager(shell_in)(container, user) as shell:
        bash(shell, command)
        wait_for(lambda: "sleep 1234" in bash(shell, "ps").output, "the sleep")
        bash(shell, "", reset=True)
        after = bash(shell, "ps").output
        assert "sleep 1234" not in after
        assert after.count("bash --noprofile") == 1, "only the new shell"


@pytest.mark.parametrize(
    "command",
    [
        "cat {home}/secret",
        "cat /proc/1/root{home}/secret",
        "ls {home}/.ssh",
        "mkdir -p /mnt && mount -t proc proc /mnt",
        "mkdir /m && mount --bind / /m",
        "chroot / true",
        "mknod /disk b 8 0",
        "kill -9 {pid}",
        "nsenter -t 1 -m true",
        "nc -w 3 127.0.0.1 {port} < /dev/null",
        "cat /var/run/docker.sock",
    ],
)
def test_nothing_of_this_machine_is_reached_but_the_workspace(shell: BashTool, user: User, command: str):
    (user.home / "secret").write_text("the secret")
    (user.home / ".ssh").mkdir(exist_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = bash(shell, command.format(home=user.home, pid=os.getpid(), port=port), timeout=10)
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert done.exit_code > 0
    assert "the secret" not in done.output


def test_what_is_written_outside_the_workspace_stays_in_the_container(shell: BashTool):
    directory = Path(f"/tmp/ohw-inside-{os.getpid()}")
    assert bash(shell, f"mkdir {directory} && echo inside > {directory}/file && cat {directory}/file").exit_code == 0
    assert not directory.exists()


@in_each_engine
def test_protected_paths_of_the_workspace_are_read_only(user: User, opened: Callable[..., Container]):
    subprocess.run(["git", "init", "-q", user.project], check=True)
    hooks = user.project / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    container = opened()
    for shell in shell_in(container, user):
        for command in (
            f"echo x > {hooks}/pre-commit",
            f"mv {hooks} {hooks}2",
            f"mv {user.project}/.git {user.project}/g",
        ):
            assert bash(shell, command).exit_code != 0, command
        assert bash(shell, "echo x > .git/ours").exit_code == 0
    assert not (hooks / "pre-commit").exists()


def test_what_covers_a_secret_is_not_exchanged_for_the_next_container(
    user: User, opened: Callable[..., Container], engine: Engine
):
    secret = user.project / "secrets"
    secret.mkdir()
    (secret / "key").write_text("the secret")
    container = opened(secrets=[str(secret)])
    for shell in shell_in(container, user):
        bash(shell, f"cd {container.directory} && for each in no-files; do rm -rf $each; ln -s {secret} $each; done")
        engine("kill", *ours(engine).split())
        bash(shell, "true", timeout=20)
        done = bash(shell, f"echo again; cat {secret}/key")
        assert "again" in done.output
        assert "the secret" not in done.output
    assert (secret / "key").read_text() == "the secret"


def test_the_home_directory_may_be_the_workspace_and_its_secrets_are_hidden(
    user: User, opened: Callable[..., Container]
):
    (user.home / ".ssh").mkdir(exist_ok=True)
    (user.home / ".ssh/config").write_text("Host secret\n")
    outputs = user.locations.state / "outputs"
    container = opened(workspace=user.home, outputs=outputs)
    assert failure_of(container) == ""
    (outputs / "earlier.txt").write_text("what a command printed\n")
    for shell in shell_in(container, user, user.home):
        done = bash(shell, f"ls -A {user.home}/.ssh {user.home}/.ssh/config; cat {outputs}/earlier.txt")
        assert "secret" not in done.output
        assert "what a command printed" in done.output
        assert bash(shell, f"touch {user.home}/new").exit_code == 0
        for command in (f"touch {user.home}/.ssh/new", f"mv {user.locations.state.parent} {user.home}/moved"):
            assert bash(shell, command).exit_code != 0, command


def test_a_full_disk_is_the_commands_trouble_and_not_the_shells(shell: BashTool):
    done = bash(shell, "dd if=/dev/zero of=/dev/shm/x bs=1M count=200; echo still here")
    assert "No space left on device" in done.output
    assert done.output.endswith("still here\n")
    assert bash(shell, "echo next").output == "next\n"


@in_each_engine
def test_a_command_that_uses_more_memory_than_the_container_may_is_killed_and_the_next_one_runs(
    user: User, opened: Callable[..., Container]
):
    for shell in shell_in(opened(memory="64m"), user):
        done = bash(shell, "head -c 200000000 /dev/zero | tail; echo ended $?")
        # The kernel may need memory before it has that of the killed program back, and end the shell too.
        assert done.output.endswith("ended 137\n") or "The shell ended with exit code 137" in done.text
        assert bash(shell, "head -c 2000000 /dev/zero | tail -c 1 | wc -c").output.strip() == "1"


OPEN = """#!/bin/sh
if [ "$1" = run ]; then
    shift
    for word; do
        shift
        case "$word" in {replaces}) set -- "$@" {by} ;; *) set -- "$@" "$word" ;; esac
    done
    exec {podman} run "$@"
fi
exec {podman} "$@"
"""


@pytest.mark.parametrize(
    ("replaces", "by", "says"),
    [
        ("no-new-privileges", "label=disable", "programs in it could gain rights"),
        ("none", "host", "it has a network"),
        ("*readonly", '"${word%,readonly}"', "not mounted as they should be"),
        ("--memory*", "--label", "does not enforce `memory = "),
        ("*.vscode*", '"$(echo "$word" | sed "s|source=[^,]*|source=/etc|")"', "not mounted as they should be"),
    ],
    ids=("rights", "network", "writable", "memory", "another directory"),
)
def test_a_container_that_is_more_open_than_it_should_be_is_not_used(
    user: User,
    opened: Callable[..., Container],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    replaces: str,
    by: str,
    says: str,
    engine: Engine,
):
    (user.project / ".vscode").mkdir()
    program = tmp_path / "podman"
    program.write_text(OPEN.format(podman=shutil.which("podman"), replaces=replaces, by=by))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    container = opened(network="none", memory="64m")
    assert says in failure_of(container)
    for shell in shell_in(container, user):
        assert bash(shell, "touch ran").is_error
    assert not (user.project / "ran").exists()
    assert wait_for(lambda: not ours(engine, "-a"), "the end of the container")


def test_one_command_may_run_on_this_machine(shell: BashTool, user: User):
    bash(shell, "cd /etc")
    done = bash(shell, "pwd; ls /usr > /dev/null && echo here", outside_sandbox=True, why="a test")
    assert done.output == f"{user.project}\nhere\n"
    assert bash(shell, "pwd").output == "/etc\n"


@in_each_engine
def test_a_container_ended_from_outside_is_named_and_replaced(shell: BashTool, container: Container, engine: Engine):
    bash(shell, "touch /installed")
    (name,) = ours(engine).split()
    assert bash(shell, "sleep 100", timeout=0.3).exit_code == -1
    engine("kill", name)
    done = bash(shell, "", timeout=20)
    assert f"the container of {WITH_BASH} was ended from outside" in done.text
    assert bash(shell, "ls /installed; echo again").output.splitlines()[-1] == "again"
    assert container.containment


def test_launches_that_find_the_container_ended_get_one_new_container(container: Container, user: User, engine: Engine):
    engine("kill", ours(engine))
    wait_for(lambda: not ours(engine), "the end of the container")
    at_once, refusals = threading.Barrier(6), []

    def launch() -> None:
        at_once.wait()
        try:
            with container.launch(["bash"], user.project, {}):
                pass
        except OSError as error:
            refusals.append(error.strerror)

    threads = [threading.Thread(target=launch) for _ in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(refusals) == 1
    assert len(ours(engine).splitlines()) == 1


def test_the_container_ends_with_the_session(opened: Callable[..., Container], engine: Engine):
    container = opened()
    assert failure_of(container) == ""
    assert ours(engine)
    container.close()
    assert ours(engine, "-a") == ""


@in_each_engine
def test_a_shell_ends_with_its_record_so_that_the_end_of_the_container_waits_for_nothing(
    container: Container, user: User, engine: Engine
):
    name = ours(engine)
    records = ("inspect", "--format", "{{len .ExecIDs}}", name)
    for shell in shell_in(container, user):
        bash(shell, "env -i sleep 1234 &")
        assert engine(*records) == "1"
        wait_for(lambda: "sleep 1234" in engine("exec", name, "ps"), "the sleep")
    assert engine(*records) == "0"
    assert "sleep 1234" not in engine("exec", name, "ps")


@in_each_engine
def test_a_session_that_is_closed_at_once_leaves_no_container(opened: Callable[..., Container], engine: Engine):
    container = opened()
    container.close()
    assert failure_of(container) == ""
    assert wait_for(lambda: not ours(engine, "-a"), "the end of the container")


SLOW = """#!/bin/sh
if [ "$1" = run ]; then
    shift
    {podman} create "$@"
    for name; do [ "$before" = --name ] && break; before=$name; done
    for _ in 1 2 3 4 5 6 7 8 9 10; do echo waiting; sleep 0.1; done
    exec {podman} start --attach --interactive "$name"
fi
exec {podman} "$@"
"""


def test_a_session_that_is_closed_during_a_slow_start_leaves_no_container(
    opened: Callable[..., Container], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: Engine
):
    program = tmp_path / "podman"
    program.write_text(SLOW.format(podman=shutil.which("podman")))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    container = opened()
    wait_for(lambda: ours(engine, "-a"), "the container that is created")
    container.close()
    assert ours(engine, "-a") == ""


@in_each_engine
def test_the_next_start_removes_the_containers_of_killed_processes(opened: Callable[..., Container], engine: Engine):
    dead = subprocess.Popen(["true"])
    dead.wait()
    label = f"{LABEL}={dead.pid}-{mark().partition('-')[2]}"
    engine("run", "-d", "--network", "none", "--label", label, WITH_BASH, "sleep", "1000")
    assert failure_of(opened()) == ""
    assert wait_for(lambda: not engine("ps", "-aq", "--filter", f"label={label}"), "the end of the leftover")


@in_each_engine
def test_an_image_without_bash_is_refused_by_name(opened: Callable[..., Container]):
    container = opened(WITHOUT_BASH)
    assert failure_of(container) == f"the image {WITHOUT_BASH} has no bash, which commands need"
    assert container.containment == ""


@in_each_engine
def test_a_user_who_cannot_read_the_files_is_named_with_what_to_do(opened: Callable[..., Container]):
    assert failure_of(opened(user="0:0")) == ""
    failure = failure_of(opened(user="1234:1234"))
    assert 'its user "1234:1234" cannot read your files' in failure
    assert f'`user = "{os.getuid()}:{os.getgid()}"`' in failure


@in_each_engine
def test_an_image_that_is_not_here_and_cannot_be_fetched_is_no_container(user: User, opened: Callable[..., Container]):
    container = opened("127.0.0.1:1/absent")
    assert "127.0.0.1" in failure_of(container)
    for shell in shell_in(container, user):
        done = bash(shell, "touch ran")
        assert done.is_error
        assert "the container cannot be started" in done.text
    assert not (user.project / "ran").exists(), "nothing runs on this machine instead"


@in_each_engine
def test_an_image_is_built_from_a_dockerfile_of_the_workspace(user: User, opened: Callable[..., Container]):
    (user.project / "Dockerfile").write_text(f"FROM {WITH_BASH}\nCOPY notes.txt /notes\nRUN echo built > /built\n")
    (user.project / "notes.txt").write_text("copied\n")
    steps: list[str] = []
    container = opened("", dockerfile="Dockerfile")
    assert container.await_start(lambda: False, steps.append) == ""
    assert container.image == "Dockerfile"
    assert any("STEP" in step.upper() for step in steps)
    for shell in shell_in(container, user):
        assert bash(shell, "cat /notes /built").output == "copied\nbuilt\n"


@pytest.mark.parametrize(
    ("content", "says"),
    [(None, "there is no file"), (f"FROM {WITH_BASH}\nRUN false\n", "the image was not built: ")],
    ids=("absent", "failing"),
)
@in_each_engine
def test_a_dockerfile_that_cannot_be_built_is_no_container(
    user: User, opened: Callable[..., Container], content: str | None, says: str, engine: Engine
):
    if content is not None:
        (user.project / "Dockerfile").write_text(content)
    before = engine("ps", "-aq")
    assert failure_of(opened("", dockerfile="Dockerfile")).startswith(says)
    assert engine("ps", "-aq") == before


def test_what_builds_an_image_reaches_no_host_and_only_an_open_network_lets_it(
    user: User, opened: Callable[..., Container]
):
    (user.project / "Dockerfile").write_text(f"FROM {WITH_BASH}\nRUN cat /proc/net/dev > /hosts-by\n")
    container = opened("", dockerfile="Dockerfile")
    assert failure_of(container) == ""
    for shell in shell_in(container, user):
        names = [line.partition(":")[0].strip() for line in bash(shell, "cat /hosts-by").output.splitlines()[2:]]
        assert names == ["lo"]


def test_no_image_is_built_in_a_directory_that_is_not_trusted(user: User, opened: Callable[..., Container]):
    (user.project / "Dockerfile").write_text(f"FROM {WITH_BASH}\n")
    failure = failure_of(opened("", dockerfile="Dockerfile", may_build=False))
    assert "without your trust" in failure


@pytest.mark.parametrize("name", ["Dockerfile", "there/Dockerfile"])
def test_no_image_is_built_from_a_link(user: User, opened: Callable[..., Container], tmp_path: Path, name: str):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "Dockerfile").write_text(f"FROM {WITH_BASH}\n")
    (user.project / "there").symlink_to(elsewhere)
    (user.project / "Dockerfile").symlink_to(elsewhere / "Dockerfile")
    assert "is a link or below one" in failure_of(opened("", dockerfile=name))


def test_no_command_changes_the_file_from_which_the_next_image_is_built(user: User, opened: Callable[..., Container]):
    (user.project / "build").mkdir()
    file = user.project / "build/Dockerfile"
    file.write_text(f"FROM {WITH_BASH}\n")
    container = opened("", dockerfile="build/Dockerfile")
    assert failure_of(container) == ""
    for shell in shell_in(container, user):
        for command in ("echo RUN false >> build/Dockerfile", "rm -f build/Dockerfile", "mv build other"):
            assert bash(shell, command).exit_code != 0, command
        assert bash(shell, "touch build/other").exit_code == 0
    assert file.read_text() == f"FROM {WITH_BASH}\n"


def test_without_podman_and_docker_the_start_says_what_to_install(
    opened: Callable[..., Container], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UsageError, match="there is no podman and no docker here"):
        opened()


def test_mounts_variables_and_read_only_ones(user: User, opened: Callable[..., Container], tmp_path: Path):
    data = tmp_path / "with space, and comma"
    data.mkdir()
    (data / "file").write_text("data\n")
    container = opened(mounts=(f"{data}:/data:ro",), env={"FLAVOR": "a b"})
    for shell in shell_in(container, user):
        done = bash(shell, "cat /data/file; echo $FLAVOR; touch /data/new")
        assert done.output.startswith("data\na b\n")
        assert done.exit_code != 0


@pytest.mark.parametrize(
    ("mounts", "contains"),
    [
        (("{data}:/data:ro",), True),
        (("{data}:/data",), False),
        (("{data}:/other:ro", "{data}:/data:rw"), False),
        (("{data}/with-socket:/data:ro",), False),
        (("{data}/with-socket/socket:/socket:ro",), False),
        (("~/:/data:ro",), False),
        (("/run:/data:ro",), False),
    ],
)
def test_what_runs_is_inside_only_if_nothing_mounted_leads_out(
    user: User, opened: Callable[..., Container], mounts: tuple[str, ...], contains: bool
):
    data = user.home / "data"
    (data / "with-socket").mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as listener, contextlib.chdir(data / "with-socket"):
        listener.bind("socket")
        container = opened(mounts=tuple(each.format(data=data) for each in mounts))
        assert failure_of(container) == ""
        assert bool(container.containment) == contains


def test_a_start_is_soon_and_a_command_takes_no_longer_than_elsewhere(shell: BashTool):
    bash(shell, "true")
    began = time.perf_counter()
    for _ in range(10):
        bash(shell, "true")
    assert time.perf_counter() - began < 5
