"""A crash is one line that names a report, and the report contains nothing of the user's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from tests.sandbox import Sandbox, wait_for
from workbench import __version__
from workbench.config.settings import Settings
from workbench.engine.launch import Launch
from workbench.files.crash_reports import crash_directory, crash_line

SECRET = "sk-proj-" + "Ab3dEf9hIj2kLm5nOp8q" * 2
CONTENT = "the content of a file"
BOOM = f"""
import sys
def boom(*_, **__):
    secret = {SECRET!r}
    try:
        open("/home/me/private/{SECRET}.txt")
    except OSError as error:
        raise LookupError("{CONTENT} \\x1b[31m " + secret) from error
"""


def reports(sandbox: Sandbox) -> list[Path]:
    directory = crash_directory(sandbox.locations)
    return sorted(directory.iterdir()) if directory.is_dir() else []


def only_report(sandbox: Sandbox) -> str:
    """Return the text of the one report, after the checks that hold for each."""
    (report,) = reports(sandbox)
    text = report.read_text()
    assert report.stat().st_mode & 0o077 == 0
    assert report.parent.stat().st_mode & 0o077 == 0
    assert not any(part in text for part in (SECRET, CONTENT, "private", "sandbox", str(sandbox.home), "\x1b"))
    assert f"ohw       {__version__}" in text
    assert "builtins.LookupError\n" in text
    assert "because of builtins.FileNotFoundError (ENOENT)\n" in text
    assert "code that is not part of ohw" in text
    assert "textual 8." in text
    return text


def test_command_that_crashes_prints_one_line_and_writes_a_report(sandbox: Sandbox):
    code = (
        f"{BOOM}\nimport workbench.cli.risk as m; m.risk = boom\nfrom workbench.__main__ import main; sys.exit(main())"
    )
    words = ["-c", code, "risk", "rm -rf sandbox"]
    done = subprocess.run(
        [sys.executable, *words], env=sandbox.env, cwd=sandbox.project, capture_output=True, text=True, timeout=60
    )
    text = only_report(sandbox)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith("ohw: a fault of the workbench itself: LookupError: ")
    assert f"crashes/{reports(sandbox)[0].name}" in done.stderr
    assert SECRET not in done.stderr
    assert "\x1b" not in done.stderr
    assert "part      risk\n" in text
    assert "workbench/cli/main.py:" in text


def test_screen_that_crashes_prints_one_line_without_values_and_restores_the_terminal(sandbox: Sandbox):
    code = (
        f"{BOOM}\nfrom workbench.tui import app; app.QuitGuard.copy_or_quit = boom\n"
        "from workbench.__main__ import main; sys.exit(main())"
    )
    env = {**sandbox.env, "TERM": "xterm-256color"}
    words = ["-c", code, "--model", "scripted/demo"]
    screen = pexpect.spawn(
        sys.executable, words, env=env, cwd=str(sandbox.project), dimensions=(30, 200), encoding="utf-8", timeout=40
    )
    screen.expect_exact("Ask anything")
    screen.send("\x03")
    screen.expect(pexpect.EOF)
    screen.close()
    _, _, after = screen.before.rpartition("\x1b[?1049l")
    assert screen.exitstatus == 1
    assert "ohw: a fault of the workbench itself: LookupError: " in after
    assert reports(sandbox)[0].name in after.replace("\r\n", "")
    assert SECRET not in screen.before
    assert "Traceback" not in screen.before
    text = only_report(sandbox)
    assert "part      screen\n" in text
    assert "  textual/" in text


def test_engine_that_crashes_at_its_start_refuses_with_that_line(sandbox: Sandbox):
    code = f"{BOOM}\nimport workbench.engine.process as p; p.start_session = boom\np.run()"
    launch = Launch(sandbox.locations, Settings(model="scripted/demo"), "20261129-x-0000", str(sandbox.project), True)
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=launch.to_json(),
        env=sandbox.env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "part      engine\n" in only_report(sandbox)
    assert '"kind":"refused"' in done.stdout
    assert reports(sandbox)[0].name in done.stdout
    assert SECRET not in done.stdout


def test_step_that_fails_is_reported_in_the_session(sandbox: Sandbox):
    launch = Launch(sandbox.locations, Settings(model="scripted/demo"), "20261129-x-0000", str(sandbox.project), True)
    code = (
        f"{BOOM}\nimport workbench.engine.process as p, workbench.session.session as s\ns.Session.step = boom\np.run()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=sandbox.env, text=True
    )
    try:
        process.stdin.write(launch.to_json())
        process.stdin.close()
        assert '"kind":"hello"' in process.stdout.readline()
        wait_for(lambda: reports(sandbox), "a report")
        process.terminate()
        process.wait(60)
    finally:
        process.kill()
        process.stdout.close()
    assert "part      engine\n" in only_report(sandbox)


def test_only_the_newest_reports_are_kept(sandbox: Sandbox):
    for number in range(25):
        crash_line(f"part{number}", ValueError("x"), sandbox.locations)
    names = [each.name for each in reports(sandbox)]
    assert len(names) == 20
    assert names[-1].endswith("part24.txt")


def test_report_that_cannot_be_written_is_no_second_crash(sandbox: Sandbox):
    crash_directory(sandbox.locations).parent.mkdir(parents=True)
    crash_directory(sandbox.locations).touch()
    line = crash_line("risk", ValueError("x"), sandbox.locations)
    assert line.startswith("a fault of the workbench itself: ValueError: x; no report could be written: ")


@pytest.mark.parametrize("depth", [1, 900])
def test_long_tracebacks_are_shortened(sandbox: Sandbox, depth: int):
    def recurse(remaining: int) -> None:
        if remaining:
            recurse(remaining - 1)
        raise ArithmeticError

    with pytest.raises(ArithmeticError) as caught:
        recurse(depth)
    crash_line("run", caught.value, sandbox.locations)
    text = reports(sandbox)[0].read_text()
    assert text.count("\n") < 100
    assert ("frames …" in text) == (depth == 900)
