"""The real directory of the shell: question and result name it, not the value of a variable or a link."""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.shells import Bash, eventually
from workbench.session.actions.fingerprint import fingerprint
from workbench.tools.execute_bash import rc
from workbench.tools.execute_bash import shells as place


@pytest.fixture
def bash(tmp_path: Path) -> Iterator[Bash]:
    (tmp_path / "work/sub").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    shell = Bash(tmp_path / "work", no_change_timeout=3)
    yield shell
    shell.tool.close()


def where(bash: Bash) -> str:
    assert bash.tool.executor is not None
    return bash.tool.executor.working_dir()


LIES = (
    "PWD=/nowhere",
    "declare -n ref=PWD; ref=/nowhere",
    "cd() { builtin cd sub; PWD=/nowhere; }; cd x",
    "pwd() { echo /nowhere; }; alias pwd='echo /nowhere'",
    "readonly PWD=/nowhere",
    "unset PWD OLDPWD",
    "__ohw_folder=/nowhere; readonly __ohw_folder",
    "pushd sub >/dev/null; popd >/dev/null; PWD=/nowhere",
    "CDPATH=$PWD/../other:$PWD/..; cd other >/dev/null",
)


@pytest.mark.parametrize("line", LIES)
def test_no_variable_function_or_alias_changes_the_reported_directory(bash: Bash, line: str) -> None:
    seen = bash(line)
    really = bash("/bin/pwd -P").output.strip()
    assert seen.metadata.working_dir == where(bash) == really


MOVED = {
    "a shell started elsewhere": ("env -C ../other bash --norc -i", ()),
    "a shell that moved": ("bash --norc -i", ("cd ../other",)),
    "a shell in a shell": ("sh -i", ("bash --norc -i", "cd ../other")),
    "an interpreter that moved": (f"{sys.executable} -qi", ("import os; os.chdir('../other')",)),
    "a program in a subshell": ("(cd ../other && cat)", ()),
}


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("way", MOVED)
def test_input_is_typed_in_the_directory_of_the_program_that_reads_it(bash: Bash, tmp_path: Path, way: str) -> None:
    line, typed = MOVED[way]
    bash(line, timeout=1)
    for text in typed:
        bash(text, is_input=True, timeout=1)
    eventually(lambda: where(bash) == str(tmp_path / "other"), f"the directory of {way}, not {where(bash)}")
    bash("C-d", is_input=True, timeout=1)
    while bash("", timeout=1).exit_code == -1 and where(bash) != str(tmp_path / "work"):
        bash("C-d", is_input=True, timeout=1)
    assert where(bash) == str(tmp_path / "work")


def test_shell_determines_its_directory_without_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "working_directory", lambda _pid: "")
    whole = rc.rc_text
    monkeypatch.setattr(rc, "rc_text", lambda: whole().replace("/proc/$$/cwd", "/proc/none"))
    (tmp_path / "sub").mkdir()
    bash = Bash(tmp_path, no_change_timeout=3)
    try:
        assert bash("cd sub; PWD=/nowhere").metadata.working_dir == str(tmp_path / "sub")
    finally:
        bash.tool.close()


def test_parent_of_a_link_is_the_parent_of_its_target(bash: Bash, tmp_path: Path) -> None:
    bash("ln -s ../other link && cd link")
    assert where(bash) == str(tmp_path / "other")
    bash("cd ..")
    assert where(bash) == str(tmp_path)


def test_directory_renamed_or_deleted_under_the_shell_is_reported(bash: Bash, tmp_path: Path) -> None:
    bash("cd sub")
    (tmp_path / "work/sub").rename(tmp_path / "moved")
    assert where(bash) == str(tmp_path / "moved")
    (tmp_path / "moved").rmdir()
    assert where(bash) == f"{tmp_path}/moved (deleted)"


def test_approval_is_bound_to_the_directory_itself(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    before = fingerprint("execute_bash", {"command": "make"}, str(work), ())
    assert fingerprint("execute_bash", {"command": "make"}, str(work), ()) == before
    work.rename(tmp_path / "aside")
    os.mkdir(work)  # noqa: PTH102 - another directory of the same name
    assert fingerprint("execute_bash", {"command": "make"}, str(work), ()) != before


def test_shell_always_has_a_temporary_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    bash = Bash(tmp_path, no_change_timeout=3)
    try:
        assert bash('cd "$TMPDIR" && pwd').output.strip() == os.path.realpath(tempfile.gettempdir())
    finally:
        bash.tool.close()
