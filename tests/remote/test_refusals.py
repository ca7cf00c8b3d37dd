"""What cannot be opened over ssh is refused in one line, before anything of the screen is shown."""

from __future__ import annotations

import msgspec
import pytest

from tests.remote.far_machine import FarMachine
from tests.remote.screens import opened, quit_screen, quit_when_finished, send, session_there, started
from tests.sandbox import Sandbox, finish
from workbench.client.ssh_url import SshUrl
from workbench.errors import UsageError
from workbench.protocol.commands import VERSION
from workbench.protocol.remote import OpenRequest

SCREEN = "0" * 32


@pytest.mark.parametrize(
    "text",
    [
        "ssh://-oProxyCommand=touch%20x/srv",
        "ssh://-oProxyCommand=x@far/srv",
        "ssh://far;touch x/srv",
        "ssh://far$(id)/srv",
        "ssh://a b/srv",
        "ssh://far:0/srv",
        "ssh://far:65536/srv",
        "ssh://far:-1/srv",
        "ssh://user:secret@far/srv",
        "ssh:///srv",
        "ssh://far",
        "ssh://far/srv%0Ax",
        "ssh://far/%FF",
        "ssh://far/" + "x" * 5_000,
        "http://far/srv",
    ],
)
def test_a_url_that_ssh_could_misread_is_refused(text: str):
    with pytest.raises(UsageError):
        SshUrl.parse(text)


@pytest.mark.parametrize(
    ("text", "destination", "port", "path"),
    [
        ("ssh://far/srv/app", "far", 0, "/srv/app"),
        ("ssh://me@far.example:2222/srv", "me@far.example", 2222, "/srv"),
        ("ssh://me@[::1]:22/srv", "me@::1", 22, "/srv"),
        ("ssh://far/~", "far", 0, "~"),
        ("ssh://far/~/my%20app", "far", 0, "~/my app"),
        ("ssh://far/-rf $(id) 'x'", "far", 0, "/-rf $(id) 'x'"),
    ],
)
def test_the_parts_of_a_url_come_back_as_the_same_url(text: str, destination: str, port: int, path: str):
    url = SshUrl.parse(text)
    assert (url.destination, url.port, url.path) == (destination, port, path)
    assert SshUrl.parse(str(url)) == url


def test_no_part_of_a_url_is_an_option_of_ssh_or_a_word_of_the_command_there():
    command = SshUrl.parse("ssh://me@far:2222/-oProxyCommand=x $(id)").command("-o", "A=b", script="exec ohw")
    assert command == ["ssh", "-T", "-o", "A=b", "-p", "2222", "--", "me@far", "exec sh -c 'exec ohw'"]


def refused(sandbox: Sandbox, *args: str) -> tuple[int, str]:
    done = sandbox.ohw(*args)
    return done.returncode, done.stderr


def request(far: FarMachine, **fields: object) -> str:
    """Return what `ohw engine --stdio` there answers to a request with these fields."""
    plain = msgspec.to_builtins(OpenRequest(screen=SCREEN, directory=str(far.user.project), open="new", session="a-1"))
    line = msgspec.json.encode(plain | fields).decode()
    done = far.user.ohw("engine", "--stdio", stdin=f"{line}\n")
    assert done.returncode == 2, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"protocol": VERSION + 1, "ohw": "9.0"}, "the screen is ohw 9.0 with protocol"),
        ({"screen": "../../x"}, "the screen has no name"),
        ({"directory": "relative"}, "is not absolute"),
        ({"directory": "/does/not/exist"}, "does not exist"),
        ({"directory": "~someone/x"}, "is not absolute"),
        ({"session": "../../etc/passwd"}, "is not the id of a session"),
        ({"flags": {"api_key": "x"}}, "there is no flag for 'api_key'"),
        ({"flags": {"mode": "yolo"}}, "yolo"),
        ({"flags": {}}, "no model is set up there"),
        ({"open": "named", "session": "nothing"}, "there is no session 'nothing'"),
        ({"open": "last"}, "there is no session in"),
        ({"open": "other"}, "no request of a screen"),
    ],
)
def test_the_other_machine_checks_what_a_screen_asks_for(far: FarMachine, fields: dict[str, object], reason: str):
    answer = request(far, **({"flags": {"model": "scripted/none.toml"}} | fields))
    assert answer.startswith('{"remote":"refused"')
    assert reason in answer
    assert not list(far.user.locations.sessions.glob("*"))


def test_the_mode_that_never_asks_is_not_taken_over_ssh(far: FarMachine):
    with opened(far, far.url, "--mode", "never", "--model", far.user.script(finish("All done."))) as terminal:
        assert "Ask (medium+)" in terminal.wait_for("over ssh, Don't ask is chosen")
        quit_screen(terminal)


def test_a_screen_that_is_refused_says_why_and_leaves_nothing(far: FarMachine):
    with opened(far, f"{far.url}/absent", "--model", "scripted/x.toml") as terminal:
        assert terminal.wait_exit() == 2
        assert "far: the directory" in terminal.text()
    assert not far.near.locations.sessions.exists()
    assert not far.user.locations.sessions.exists()


def test_another_version_is_refused_with_both_versions(far: FarMachine):
    program = """read line; echo '{"remote":"refused","ohw":"9.0","reason":"the screen is ohw 0.1.0, this is 9.0"}'"""
    far.install(program)
    with opened(far, far.url) as terminal:
        assert terminal.wait_exit() == 2
        assert "the screen is ohw 0.1.0, this is 9.0" in terminal.text()
    far.install("""read line; echo '{"remote":"welcome","ohw":"9.0"}'""")
    with opened(far, far.url) as terminal:
        assert terminal.wait_exit() == 2
        assert "install the same version on both" in terminal.text()


def test_what_a_login_prints_is_ignored_and_endless_output_refused(far: FarMachine):
    ohw = (far.programs / "ohw").read_text().partition("\n")[2]
    far.install(f"echo 'Welcome to far!'; echo '{{}}'; {ohw}")
    with started(far, far.user.script(finish("All done."))) as terminal:
        send(terminal, "begin")
        quit_when_finished(terminal)
    assert session_there(far).ended == "finished"
    far.install("exec yes | tr -d '\\n'")
    with opened(far, far.url) as terminal:
        assert terminal.wait_exit() == 2
        assert "answers something else than ohw" in terminal.text()


@pytest.mark.parametrize("command", ["attach", "demo"])
def test_commands_that_work_here_alone_say_so(sandbox: Sandbox, command: str):
    code, line = refused(sandbox, command, "ssh://far/srv")
    assert code == 2
    assert f"`ohw {command}` works on this machine only" in line


def test_a_screen_without_a_terminal_is_refused_before_a_connection_is_made(far: FarMachine):
    for words in ((far.url,), (far.url, "--plain")):
        code, line = refused(far.near, *words)
        assert (code, line) == (2, "ohw: not a terminal; use `ohw run PROMPT` for scripts\n")


@pytest.mark.parametrize("words", [["--container-copy", "/app"], ["--container-copy", "/app", "--patch", "x"]])
def test_a_run_there_takes_no_copy_of_a_container_here(sandbox: Sandbox, words: list[str]):
    code, line = refused(sandbox, "run", "task", "ssh://far/srv", *words)
    assert code == 2
    assert "--container-copy works on this machine only" in line


def test_a_run_there_is_refused_as_a_screen_is(far: FarMachine):
    code, line = refused(far.near, "run", "task", f"{far.url}/absent", "--model", "scripted/x.toml")
    assert (code, line.count("\n")) == (2, 1)
    assert "far: the directory" in line
    assert refused(far.near, "run", " ", far.url) == (2, "ohw: there is nothing to do: give a PROMPT\n")
    assert refused(far.near, "run", "/exit", far.url) == (0, "ohw: /exit ends a run; none was started\n")
    assert refused(far.near, "run", "task", far.url, "--workspace", ".")[0] == 2
    far.link.cut()
    code, line = refused(far.near, "run", "task", far.url)
    assert (code, "Connection refused" in line) == (2, True)
    assert not far.near.locations.sessions.exists()
    assert not far.user.locations.sessions.exists()


def test_the_same_home_is_not_copied_onto_itself(far: FarMachine):
    home = {name: far.near.env[name] for name in ("HOME", "XDG_RUNTIME_DIR", "TMPDIR")}
    far.set(**home)
    with opened(far, far.url, "--model", far.near.script(finish("All done."))) as terminal:
        assert terminal.wait_exit() == 2
        assert "is a session of this machine" in terminal.text()
