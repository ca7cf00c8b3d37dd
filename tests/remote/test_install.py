"""Where ohw is missing on the other machine, one question offers to install it there."""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.remote.far_machine import FarMachine
from tests.remote.screens import opened, quit_when_finished, send, session_there
from tests.sandbox import finish
from workbench import __version__
from workbench.client.own_wheel import WHEEL_NAME, write_wheel

PROJECT = Path(__file__).parents[2]
ABSENT, QUESTION = "ohw is not installed on far", "[y/N]"
UV = """echo "$@" >> "$HOME/uv-commands"
for wheel; do :; done
mkdir -p "$HOME/tool" "$HOME/.local/bin"
{python} -m zipfile -e "$wheel" "$HOME/tool" || exit 2
printf '#!/bin/sh\\nPYTHONPATH="%s" exec {python} -m workbench "$@"\\n' "$HOME/tool" > "$HOME/.local/bin/ohw"
chmod +x "$HOME/.local/bin/ohw"
echo "Installed 1 executable: ohw"
"""


def uv_commands(far: FarMachine) -> list[str]:
    """Return the arguments of each run of uv there."""
    file = far.user.home / "uv-commands"
    return file.read_text().splitlines() if file.exists() else []


def packed_names() -> set[str]:
    """Return the names of the files in our wheel."""
    file = io.BytesIO()
    write_wheel(file)
    with zipfile.ZipFile(file) as wheel:
        return set(wheel.namelist())


def test_ohw_is_installed_after_a_yes_and_the_session_opens(far: FarMachine):
    far.uninstall()
    far.add("uv", UV.format(python=sys.executable))
    with opened(far, far.url, "--model", far.user.script(finish("All done."))) as terminal:
        assert ABSENT in terminal.wait_for(QUESTION)
        assert uv_commands(far) == []
        terminal.type("y\n")
        terminal.wait_for("What should we work on?")
        send(terminal, "begin")
        quit_when_finished(terminal)
    (command,) = uv_commands(far)
    assert command.startswith("tool install --force ")
    assert Path(command.split()[-1]).name == WHEEL_NAME
    assert not Path(command.split()[-1]).exists()
    assert session_there(far).ended == "finished"
    there = far.user.home / "tool"
    assert {str(path.relative_to(there)) for path in there.rglob("*") if path.suffix == ".md"} == {
        name for name in packed_names() if name.endswith(".md")
    }


def test_nothing_is_installed_without_a_yes(far: FarMachine):
    far.uninstall()
    far.add("uv", UV.format(python=sys.executable))
    with opened(far, far.url) as terminal:
        terminal.wait_for(QUESTION)
        terminal.type("\n")
        assert terminal.wait_exit() == 2
        assert ABSENT in terminal.text()
        assert "uv tool install ." in terminal.text()
    assert uv_commands(far) == []
    assert not (far.user.home / "tool").exists()


def test_a_failed_installation_is_reported_with_what_uv_says(far: FarMachine):
    far.uninstall()
    far.add("uv", "cat > /dev/null; echo 'error: no Python was found' >&2; exit 2")
    with opened(far, far.url) as terminal:
        terminal.wait_for(QUESTION)
        terminal.type("y\n")
        assert terminal.wait_exit() == 2
        assert "ohw: error: no Python was found" in terminal.text()
        assert terminal.text().count(QUESTION) == 1


def test_without_uv_the_commands_are_named_and_nothing_is_asked(far: FarMachine):
    far.uninstall()
    with opened(far, far.url) as terminal:
        assert terminal.wait_exit() == 2
        assert ABSENT in terminal.text()
        assert "pip install --user uv" in terminal.text()
        assert "uv tool install ." in terminal.text()
        assert QUESTION not in terminal.text()


def installed(wheel: Path, target: Path) -> Path:
    """Install a wheel without its requirements into a directory; return that."""
    uv = shutil.which("uv")
    assert uv
    install = [uv, "pip", "install", "--offline", "--no-deps", "--quiet", "--target", target, wheel]
    subprocess.run(install, check=True, capture_output=True)
    return target


def wheel_of(directory: Path, wheel: Path) -> Path:
    """Let the package in a directory write its wheel; return that."""
    wheel.parent.mkdir()
    program = f"from workbench.client.own_wheel import write_wheel; write_wheel(open({str(wheel)!r}, 'wb'))"
    env = {**os.environ, "PYTHONPATH": str(directory), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "-c", program], check=True, cwd=directory, env=env)
    return wheel


def record_of(wheel: Path) -> list[list[str]]:
    """Return the lines of the list of files in a wheel."""
    with zipfile.ZipFile(wheel) as packed:
        listed = packed.read(f"workbench-{__version__}.dist-info/RECORD").decode()
    return list(csv.reader(io.StringIO(listed)))


def test_the_wheel_has_the_package_its_themes_and_its_command(tmp_path: Path):
    target = installed(wheel_of(PROJECT, tmp_path / "wheel" / WHEEL_NAME), tmp_path / "target")
    assert (target / "workbench/themes/ohw-dark.toml").is_file()
    ran = subprocess.run([target / "bin/ohw", "--version"], capture_output=True, text=True, env={})
    assert ran.stdout.startswith("ohw ")


def test_the_wheel_has_every_file_of_the_package_that_is_in_version_control():
    listed = subprocess.run(
        ["git", "ls-files", "-z", "workbench"], cwd=PROJECT, check=True, capture_output=True, text=True
    ).stdout.split("\0")
    assert set(filter(None, listed)) <= packed_names()


def test_the_wheel_of_a_checkout_has_no_other_files_and_lists_a_name_with_a_comma(tmp_path: Path):
    package = tmp_path / "checkout/workbench"
    shutil.copytree(PROJECT / "workbench", package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("my notes, secret.txt", "notes.md", ".env", ".hidden.py", "demo/project/mine.txt", "tui/it.tcss.orig"):
        (package / name).write_text("secret\n")
    (package / "one, two.py").touch()
    wheel = wheel_of(package.parent, tmp_path / "wheel" / WHEEL_NAME)
    record = record_of(wheel)
    with zipfile.ZipFile(wheel) as packed:
        assert [line[0] for line in record] == packed.namelist()
    assert {len(line) for line in record} == {3}
    assert {line[0] for line in record} == packed_names() | {"workbench/one, two.py"}
    assert (installed(wheel, tmp_path / "target") / "workbench/one, two.py").exists()


def test_an_installation_writes_the_wheel_that_it_was_installed_from(tmp_path: Path):
    first = wheel_of(PROJECT, tmp_path / "first" / WHEEL_NAME)
    target = installed(first, tmp_path / "target")
    (target / "workbench/stray.py").write_text("secret\n")
    second = wheel_of(target, tmp_path / "second" / WHEEL_NAME)
    assert second.read_bytes() == first.read_bytes()
