"""`go` downloads and runs another release of itself if go.mod or go.work requires a newer one, so it is not LOW
then.
"""

from pathlib import Path

import pytest

from workbench.files import recorded_stat
from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext

LOOKS = ("go version", "go env GOPATH", "go help build", "go doc fmt")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project on a machine with Go 1.22.3, which is in PATH as a link."""
    for name in ("code/inner", "home", "goroot/bin", "bin"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "goroot/VERSION").write_text("go1.22.3\ntime 2024-05-01T19:49:47Z\n")
    (tmp_path / "goroot/bin/go").touch()
    (tmp_path / "bin/go").symlink_to("../goroot/bin/go")
    monkeypatch.setenv("PATH", f"{tmp_path}/nowhere:{tmp_path}/bin:/usr/bin")
    return tmp_path / "code"


def risk(command: str, project: Path) -> str:
    return assess_command(command, PathContext(str(project), str(project.parent / "home")), str(project)).risk


@pytest.mark.parametrize("command", LOOKS)
@pytest.mark.parametrize("name", ["go.mod", "go.work", "../go.mod"])
@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("go 1.22", "LOW"),
        ("go 1.22.3", "LOW"),
        ("go 1.20\ntoolchain go1.22.3", "LOW"),
        ("toolchain default", "LOW"),
        ("// toolchain go1.99.0\ngo 1.22", "LOW"),
        ("go 1.22.4", "MEDIUM"),
        ("go 1.100", "MEDIUM"),
        ("go 1.22\r\ntoolchain go1.23.0\r", "MEDIUM"),
        ("go 1.20\n\ntoolchain  go1.23.0 // newer", "MEDIUM"),
        ("go 1.22\ntoolchain go1.21.0-evil", "MEDIUM"),
        ("go 1.23rc1", "MEDIUM"),
        ("\t toolchain go1.23.0", "MEDIUM"),
        pytest.param("//\n" * 70_000 + "toolchain go1.99.0", "MEDIUM", id="long"),
    ],
)
def test_go_is_low_only_if_the_installed_release_is_used(command, name, asked, expected, project):
    (project / name).write_text(f"module x\n\n{asked}\n")
    assert risk(command, project) == expected


@pytest.mark.parametrize("command", LOOKS)
def test_the_directory_in_which_go_runs_decides(command, project):
    (project / "inner/go.mod").write_text("module x\ntoolchain go1.99.1\n")
    assert risk(command, project) == "LOW"
    assert risk(f"cd inner && {command}", project) == "MEDIUM"
    assert risk(f'cd "$x" && {command}', project) != "LOW"


@pytest.mark.parametrize("asked", ["go 1.21", "go 1.22.3", "toolchain go1.21.0"])
def test_go_is_not_low_if_the_installed_release_is_not_known(asked, project, monkeypatch):
    (project / "go.mod").write_text(asked)
    monkeypatch.setenv("PATH", "/nowhere")
    assert risk("go version", project) == "MEDIUM"


def test_a_reused_rating_does_not_outlive_a_changed_go_mod(project):
    (project / "go.mod").write_text("go 1.22\n")
    with recorded_stat.recording() as answers:
        assert risk("go version", project) == "LOW"
    assert answers.hold()
    (project / "go.mod").write_text("go 1.22\ntoolchain go1.99.0\n")
    assert not answers.hold()
