"""`devcontainer.json` of a project: read as its format says, used only with trust in its bytes, never more open."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.containers.images import WITH_BASH
from tests.sandbox import Sandbox as User
from tests.sandbox import bash, finish
from workbench.config.devcontainer import NAMES, content_of, devcontainer_in, files_of_project, parsed
from workbench.config.settings import ContainerSettings, load_settings, read_container
from workbench.errors import UsageError
from workbench.processes.spawn import ROOT
from workbench.sandbox.devcontainer import DevContainer, read_devcontainer
from workbench.sandbox.sandbox import Boundary
from workbench.view.approval.trust import brings, contents, trust_question

OWN = ContainerSettings(devcontainer="devcontainer")


def write(user: User, data: Mapping[str, Any] | str, name: str = NAMES[0]) -> Path:
    file = user.project / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(data if isinstance(data, str) else json.dumps(data))
    return file


def read(user: User, data: Mapping[str, Any] | str, own: ContainerSettings = OWN) -> DevContainer:
    """Return what is used of a file that the user trusts."""
    write(user, data)
    result = read_devcontainer(own, Boundary(user.project, user.locations, user.home), lambda files: True)
    assert result is not None
    return result


def trust(user: User) -> list[str]:
    """Say yes to the question about the project; return the files that it names, with what they do."""
    files = files_of_project(OWN, user.project)
    question = trust_question(user.locations, user.project, (), set(), files)
    assert question is not None
    question.answer(True)
    return [f"{name}: {question.kind_of(name)}" for name in question.names]


def run(user: User, command: str, *more: str) -> subprocess.CompletedProcess[str]:
    model = user.script(bash(command), finish())
    return user.ohw("run", "--json", "--model", model, "--mode", "high", "--container", "devcontainer", *more, "go")


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ('{"a": 1}', {"a": 1}),
        ('// first\n{"a": 1 /* in\nside */, // last\n}', {"a": 1}),
        ('{"url": "https://x/*y*/", "b": "a,}"}', {"url": "https://x/*y*/", "b": "a,}"}),
        (r'{"a": "\"// no comment", "b": [1, 2,],}', {"a": '"// no comment', "b": [1, 2]}),
        ('\ufeff{"a": ["x", // one\n ],}', {"a": ["x"]}),
    ],
)
def test_json_with_comments_is_read_and_strings_are_left_alone(text: str, data: Mapping[str, Any]):
    assert parsed(text.encode()) == data


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", "{/* open }", '{"a": 1,,}', "{,}", '{"a": [,]}', '{"a": NaN}', "{'a': 1}", '{"a": "x\ny"}', "\xff"],
)
def test_what_is_no_json_with_comments_is_refused(text: str):
    with pytest.raises(UsageError, match="JSON"):
        parsed(text.encode("latin-1"))


def test_the_file_of_the_project_is_found_in_both_places(local_sandbox: User):
    assert devcontainer_in(OWN, local_sandbox.project) == local_sandbox.project / NAMES[0]
    second = write(local_sandbox, {}, NAMES[1])
    assert devcontainer_in(OWN, local_sandbox.project) == second
    first = write(local_sandbox, {})
    assert devcontainer_in(OWN, local_sandbox.project) == first
    named = ContainerSettings(devcontainer="ci/dev.json")
    assert devcontainer_in(named, local_sandbox.project) == local_sandbox.project / "ci/dev.json"
    assert devcontainer_in(ContainerSettings(image="x", devcontainer="y"), local_sandbox.project) is None


def test_the_flag_asks_for_the_file_in_place_of_an_image(local_sandbox: User):
    file = local_sandbox.locations.settings_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('[container]\nimage = "old"\nnetwork = "none"\n')

    def flag(value: str) -> ContainerSettings:
        return read_container(load_settings(local_sandbox.locations, local_sandbox.env, container=value).container)

    asked = flag("devcontainer")
    assert (asked.image, asked.devcontainer, asked.network) == ("", "devcontainer", "none")
    file.write_text('[container]\ndevcontainer = "ci/dev.json"\n')
    assert flag("devcontainer").devcontainer == "ci/dev.json"
    assert (flag("other").image, flag("other").devcontainer) == ("other", "")
    assert not flag("").is_used


def test_image_variables_and_user_are_used_and_own_settings_override_them(local_sandbox: User):
    data = {
        "name": "Project",
        "image": "node:22",
        "containerEnv": {"A": "1", "B": "${containerWorkspaceFolder}/b", "KEY": "${localEnv:SECRET_KEY}"},
        "containerUser": "root",
        "remoteUser": "node",
        "customizations": {"vscode": {}},
    }
    own = ContainerSettings(devcontainer="devcontainer", env={"A": "2"}, network="none", memory="1g")
    result = read(local_sandbox, data, own)
    used = result.settings
    assert (used.image, used.user, used.network, used.memory) == ("node:22", "node", "none", "1g")
    assert used.env == {"A": "2", "B": f"{local_sandbox.project}/b"}
    (notice,) = result.notices
    assert notice.startswith(".devcontainer/devcontainer.json: containerEnv without KEY")
    assert read(local_sandbox, data, ContainerSettings(devcontainer="devcontainer", user="me")).settings.user == "me"


def test_what_is_not_run_and_not_used_is_named(local_sandbox: User):
    data = {
        "image": "x",
        "postCreateCommand": "npm ci",
        "initializeCommand": ["rm", "-rf", "/"],
        "features": {"ghcr.io/devcontainers/features/docker-in-docker:2": {}},
        "runArgs": ["--privileged"],
        "privileged": True,
        "init": False,
        "forwardPorts": [],
        "workspaceFolder": "/workspaces/project",
    }
    assert [each.partition(": ")[2] for each in read(local_sandbox, data).notices] == [
        "not run: initializeCommand, postCreateCommand",
        "not used: features, privileged, runArgs",
        "workspaceFolder is not used: the workspace has the same path inside as outside",
    ]
    same = {"image": "x", "workspaceFolder": "${localWorkspaceFolder}"}
    assert read(local_sandbox, same).notices == ()


@pytest.mark.parametrize(
    ("mount", "says"),
    [
        ("source=${localEnv:HOME}/.ssh,target=/keys,type=bind,readonly", "may contain keys"),
        ("source=${localEnv:HOME},target=/host,type=bind", "may contain keys"),
        ("source=${localEnv:HOME}/engine.sock,target=/var/run/docker.sock,type=bind", "sockets"),
        ("source=/tmp,target=/host,type=bind,ro", "workspace"),
        ("source=${localWorkspaceFolder}/.devcontainer,target=/git,type=bind", "workspace"),
        ("source=${localEnv:HOME}/data,target=${localWorkspaceFolder}/.git/hooks,type=bind", "workspace"),
        ("source=${localEnv:HOME}/absent,target=/data,type=bind", "there is no"),
        ("source=cache,target=/cache,type=volume", "type=bind"),
        ("source=data,target=/data,type=bind", "absolute"),
        ("source=${localEnv:SECRET},target=/data,type=bind", "absolute"),
        ({"source": "/", "target": "/host", "type": "bind"}, "workspace"),
    ],
)
def test_mounts_that_would_open_the_container_are_not_mounted(
    local_sandbox: User, monkeypatch: pytest.MonkeyPatch, mount: object, says: str
):
    (local_sandbox.home / ".ssh").mkdir()
    (local_sandbox.home / "data").mkdir()
    with socket.socket(socket.AF_UNIX) as engine:
        monkeypatch.chdir(local_sandbox.home)
        engine.bind("engine.sock")
        result = read(local_sandbox, {"image": "x", "mounts": [mount]})
    assert result.settings.mounts == ()
    (notice,) = result.notices
    assert "not mounted" in notice
    assert says in notice


def test_other_mounts_follow_the_rules_of_own_ones(local_sandbox: User):
    data = local_sandbox.home / "data"
    data.mkdir()
    mounts = [f"src={data},dst=/one,type=bind,readonly", {"source": str(data), "target": "/two", "type": "bind"}]
    own = ContainerSettings(devcontainer="devcontainer", mounts=("/usr:/three:ro",))
    result = read(local_sandbox, {"image": "x", "mounts": mounts}, own)
    assert result.settings.mounts == (f"{data}:/one:ro", f"{data}:/two", "/usr:/three:ro")


@pytest.mark.parametrize(
    "source", ["/proc", "/proc/sys", "/dev", "/dev/shm", "/sys", "/sys/fs/cgroup", "/run", "/var/run"]
)
@pytest.mark.parametrize("option", ["", ",readonly"])
def test_nothing_of_the_kernels_directories_is_mounted(local_sandbox: User, source: str, option: str):
    result = read(local_sandbox, {"image": "x", "mounts": [f"source={source},target=/host,type=bind{option}"]})
    assert result.settings.mounts == ()
    (notice,) = result.notices
    assert "not mounted: /host: /" in notice


@pytest.mark.parametrize(
    "source",
    [
        *("/etc", "/usr", "/usr/lib", "/var", "/opt", "~/bin", "~/.nvm", "~/link"),
        *(ROOT, f"{ROOT}/workbench", sys.prefix, f"{sys.prefix}/lib", str(Path(pytest.__file__).parent)),
    ],
)
def test_directories_of_the_system_and_of_programs_are_not_mounted_writable(
    local_sandbox: User, monkeypatch: pytest.MonkeyPatch, source: str
):
    for name in ("bin", ".nvm"):
        (local_sandbox.home / name).mkdir()
    (local_sandbox.home / "link").symlink_to("/etc")
    monkeypatch.setenv("PATH", f"{local_sandbox.home}/bin", prepend=os.pathsep)
    source = source.replace("~", str(local_sandbox.home))
    writable = read(local_sandbox, {"image": "x", "mounts": [f"source={source},target=/host,type=bind"]})
    assert writable.settings.mounts == ()
    (notice,) = writable.notices
    assert f"not mounted: /host: commands may not write {os.path.realpath(source)}: " in notice


def test_a_file_is_mounted_read_only_alone(local_sandbox: User):
    file = local_sandbox.home / "data.csv"
    file.touch()
    mount = f"source={file},target=/data.csv,type=bind"
    result = read(local_sandbox, {"image": "x", "mounts": [mount, f"{mount},readonly"]})
    assert result.settings.mounts == (f"{file}:/data.csv:ro",)
    assert "a file is mounted only read-only" in result.notices[0]


def test_a_link_is_mounted_as_what_it_led_to_when_it_was_checked(local_sandbox: User):
    (local_sandbox.home / "data").mkdir()
    (local_sandbox.home / "link").symlink_to("data")
    mount = {"source": "${localEnv:HOME}/link", "target": "/data", "type": "bind"}
    result = read(local_sandbox, {"image": "x", "mounts": [mount]})
    assert result.settings.mounts == (f"{local_sandbox.home}/data:/data",)


@pytest.mark.parametrize("own", [(), ("~/data:/data",)], ids=["of the file", "of the user"])
def test_nothing_is_mounted_from_where_commands_could_put_a_link(local_sandbox: User, own: tuple[str, ...]):
    (local_sandbox.home / "data/inner").mkdir(parents=True)
    of_file = [{"source": "${localEnv:HOME}/data", "target": "/data", "type": "bind"}] if not own else []
    inner = "source=${localEnv:HOME}/data/inner,target=/inner,type=bind,readonly"
    settings = ContainerSettings(devcontainer="devcontainer", mounts=own)
    result = read(local_sandbox, {"image": "x", "mounts": [inner, *of_file]}, settings)
    assert [each.rpartition(":")[2] for each in result.settings.mounts] == ["/data"]
    assert "not mounted: /inner: " in result.notices[0]
    assert "which commands write" in result.notices[0]


@pytest.mark.parametrize("mount", ["source=/a\0b,target=/x,type=bind", f"source=/{'x' * 200_000},target=/x,type=bind"])
def test_a_mount_without_a_possible_path_is_named_like_any_other(local_sandbox: User, mount: str):
    result = read(local_sandbox, {"image": "x", "mounts": [mount]})
    assert result.settings.mounts == ()
    assert "not mounted" in result.notices[0]


SIZE = 1_000_000 - 10
HOSTILE = {
    "escaped quotes": '"' + '\\"' * (SIZE // 2),
    "quotes": '"a" ' * (SIZE // 4),
    "open comments": "/*" * (SIZE // 2),
    "lines": "//" * (SIZE // 2),
    "slashes": "/" * SIZE,
    "white space": "1" + " " * SIZE,
    "commas": "1, " * (SIZE // 3),
    "brackets": "[" * SIZE,
    "digits": "9" * SIZE,
    "variables": json.dumps({"image": "${" * (SIZE // 2 - 10)}),
    "a long name": json.dumps({"build": {"dockerfile": "a/" * (SIZE // 2 - 30)}}),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_million_bytes_take_time_proportional_to_their_length(local_sandbox: User, text: str):
    write(local_sandbox, text)
    start = time.process_time()
    files = files_of_project(OWN, local_sandbox.project)
    assert trust_question(local_sandbox.locations, local_sandbox.project, (), set(), files) is not None
    with pytest.raises(UsageError):
        read(local_sandbox, text)
    # That is half a second at most on an idle machine, and hours if the time grew with the square of the length.
    assert time.process_time() - start < 5


def as_endless_device(file: Path) -> None:
    file.symlink_to("/dev/zero")


def as_pipe(file: Path) -> None:
    os.mkfifo(file)


def as_link_out(file: Path) -> None:
    (file.parents[2] / "outside").write_text('{"image": "secret of outside"}')
    file.symlink_to(file.parents[2] / "outside")


def as_large_file(file: Path) -> None:
    file.write_text('{"image": "x"}' + " " * 1_000_000)


IMPOSSIBLE = pytest.mark.parametrize("make", [as_endless_device, as_pipe, as_link_out, as_large_file])


@IMPOSSIBLE
def test_only_a_regular_small_file_of_the_project_is_read_before_and_after_trust(
    local_sandbox: User, make: Callable[[Path], None]
):
    file = write(local_sandbox, "")
    file.unlink()
    make(file)
    files = files_of_project(OWN, local_sandbox.project)
    assert files == (file,)
    assert trust_question(local_sandbox.locations, local_sandbox.project, (), set(), files) is None
    with pytest.raises(OSError, match=r"link|no file|larger"):
        read_devcontainer(OWN, Boundary(local_sandbox.project, local_sandbox.locations, local_sandbox.home), bool)


@IMPOSSIBLE
def test_the_same_is_true_of_a_dockerfile_and_of_what_is_shown_of_it(local_sandbox: User, make: Callable[[Path], None]):
    file = write(local_sandbox, {"build": {"dockerfile": "Dockerfile"}})
    dockerfile = write(local_sandbox, "FROM scratch", ".devcontainer/Dockerfile")
    question = trust_question(
        local_sandbox.locations, local_sandbox.project, (), set(), files_of_project(OWN, local_sandbox.project)
    )
    assert question is not None
    assert "FROM scratch" in contents(question)
    dockerfile.unlink()
    make(dockerfile)
    text = contents(question)
    assert ("cannot be read" in text, "secret of outside" in text) == (True, False)
    files = files_of_project(OWN, local_sandbox.project)
    assert files[0] == file
    with pytest.raises((OSError, UsageError), match=r"link|no file|larger|outside"):
        read_devcontainer(OWN, Boundary(local_sandbox.project, local_sandbox.locations, local_sandbox.home), bool)


@pytest.mark.parametrize("name", ["/etc/passwd", "../../outside"])
def test_a_dockerfile_outside_the_workspace_is_neither_read_nor_shown(local_sandbox: User, name: str):
    (local_sandbox.project.parent / "outside").write_text("root:secret")
    file = write(local_sandbox, {"build": {"dockerfile": name}})
    files = files_of_project(OWN, local_sandbox.project)
    assert files == (file,)
    question = trust_question(local_sandbox.locations, local_sandbox.project, (), set(), files)
    assert question is not None
    assert "root:" not in contents(question)


def test_a_pipe_that_takes_the_place_of_the_file_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    os.mkfifo(tmp_path / "devcontainer.json")
    monkeypatch.setattr(Path, "is_file", lambda path: True)
    with pytest.raises(OSError, match="no file"):
        content_of(tmp_path / "devcontainer.json")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({}, "neither an `image` nor"),
        ({"image": "--privileged"}, "not accepted"),
        ({"image": "x", "remoteUser": "--privileged"}, "not accepted"),
        ({"image": "x", "containerEnv": {"A B": "x"}}, "name of a variable"),
        ({"image": "x", "containerEnv": {"A": 1}}, "strings"),
        ({"image": "x", "containerEnv": {"A": "\0"}}, "null byte"),
        ({"build": {"dockerfile": "\0"}}, "neither an `image` nor"),
        ({"dockerComposeFile": "compose.yml", "service": "x"}, "Compose"),
        ({"build": {"dockerfile": "../../Dockerfile"}}, "outside the workspace"),
        ({"build": {"dockerfile": "Dockerfile", "context": "../.."}}, "outside the workspace"),
        ("{", "JSON"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_the_reason(
    local_sandbox: User, data: Mapping[str, Any] | str, says: str
):
    write(local_sandbox, "FROM scratch", ".devcontainer/Dockerfile")
    with pytest.raises(UsageError, match=says):
        read(local_sandbox, data)


def test_an_image_is_built_with_the_arguments_and_the_stage_of_the_file(user: User):
    data = """{
        // comments are read
        "build": { "dockerfile": "Dockerfile", "context": "..", "target": "two", "args": { "WHO": "me" } },
        "containerEnv": { "GREETING": "hello" },
        "postCreateCommand": "touch /never",
    }"""
    write(user, data)
    stages = f"FROM {WITH_BASH} AS two\nARG WHO\nCOPY context-file /\nRUN echo $WHO > /who\nFROM scratch\n"
    (user.project / ".devcontainer/Dockerfile").write_text(stages)
    (user.project / "context-file").write_text("of the context\n")
    untrusted = run(user, "true")
    assert (untrusted.returncode, "without your trust" in untrusted.stdout + untrusted.stderr) == (1, True)
    assert trust(user) == [
        ".devcontainer/devcontainer.json: the container: image, variables, mounts",
        ".devcontainer/Dockerfile: what the image of the container is built from",
    ]
    done = run(user, "cat /who /context-file; echo $GREETING; ls /never; echo x > .devcontainer/Dockerfile")
    assert done.returncode == 3, "the Dockerfile is protected"
    done = run(user, "cat /who /context-file; echo $GREETING; ls /never")
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(each in done.stdout for each in ("me", "of the context", "hello"))
    assert "No such file" in done.stdout
    assert "not run: postCreateCommand" in done.stdout + done.stderr


@pytest.mark.parametrize("changed", ["devcontainer.json", "Dockerfile"])
def test_a_changed_file_is_used_only_after_trust_in_it_is_given_again(user: User, changed: str):
    write(user, {"build": {"dockerfile": "Dockerfile"}})
    dockerfile = user.project / ".devcontainer/Dockerfile"
    dockerfile.write_text(f"FROM {WITH_BASH}\n")
    trust(user)
    assert trust_question(user.locations, user.project, (), set(), files_of_project(OWN, user.project)) is None
    assert run(user, "true").returncode == 0
    with (user.project / ".devcontainer" / changed).open("a") as file:
        file.write("\n")
    again = run(user, "true")
    assert (again.returncode, "without your trust" in again.stdout + again.stderr) == (1, True)
    trust(user)
    assert run(user, "true").returncode == 0


def test_an_image_of_the_file_is_used_after_trust(user: User):
    write(user, {"image": WITH_BASH, "containerEnv": {"FROM_FILE": "yes"}}, NAMES[1])
    assert run(user, "true").returncode == 1
    question = trust_question(user.locations, user.project, (), set(), files_of_project(OWN, user.project))
    assert question is not None
    assert brings(question) == "its own .devcontainer.json"
    trust(user)
    assert "yes" in run(user, "echo $FROM_FILE").stdout


def test_a_project_without_the_file_says_where_it_is_looked_for(user: User):
    done = run(user, "true")
    assert (done.returncode, ".devcontainer/devcontainer.json" in done.stdout + done.stderr) == (1, True)


def test_root_in_the_container_does_not_have_the_users_programs(user: User):
    programs = user.home / "bin"
    programs.mkdir()
    mount = {"source": "${localEnv:HOME}/bin", "target": "/host", "type": "bind"}
    write(user, {"image": WITH_BASH, "remoteUser": "root", "mounts": [mount]})
    trust(user)
    user.env["PATH"] = f"{programs}{os.pathsep}{user.env['PATH']}"
    done = run(user, "ls /host")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No such file" in done.stdout
    assert "not mounted: /host: commands may not write" in done.stdout + done.stderr


def test_a_pipe_in_place_of_the_file_ends_the_start_with_the_reason(user: User):
    as_pipe(write(user, "").with_name("devcontainer.json.new"))
    (user.project / ".devcontainer/devcontainer.json.new").rename(user.project / NAMES[0])
    done = run(user, "true")
    assert (done.returncode, "there is no file" in done.stdout + done.stderr) == (1, True)
