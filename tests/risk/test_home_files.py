"""Files of the home directory that run something: each is protected in every mode and compared around each action."""

from pathlib import Path

import pytest

from workbench.risk import home_files
from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext
from workbench.risk.protected_changes import changes
from workbench.risk.protected_files import ProtectedFiles
from workbench.risk.protected_names import code_reason

FILES = sorted(
    {
        *home_files.HOME_FILES,
        *(f".config/{name}" for name in home_files.CONFIG_FILES),
        *(f"{name}/new" for name in home_files.HOME_DIRECTORIES),
        *(f".config/{name}/new" for name in home_files.CONFIG_DIRECTORIES),
    }
)


def is_protected(home: Path, name: str) -> bool:
    context = PathContext(str(home / "work"), str(home))
    part = assess_command(f"echo x > ~/{name}", context)
    return part.risk == "HIGH" and any(each.protected for each in part.parts)


def test_each_file_is_protected_by_its_name(tmp_path: Path):
    assert len(FILES) > 200
    assert [name for name in FILES if not is_protected(tmp_path, name)] == []


def test_each_path_of_settings_is_written_in_lower_case():
    assert [path for path in home_files.PROGRAM_SETTINGS if path != path.lower() or not code_reason(f"/h/{path}")] == []


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize("existing", [False, True], ids=["new", "changed"])
def test_each_file_is_compared(tmp_path: Path, existing: bool):
    home, work = tmp_path / "home", tmp_path / "work"
    for directory in (home, work):
        directory.mkdir()
    for name in FILES if existing else ():
        write(home / name, "own")
    protected = ProtectedFiles(str(work), str(home))
    before = protected.scan()
    for name in FILES:
        write(home / name, "other text")
    found = {change.path for change in changes(before, protected.scan())}
    assert {str(home / name) for name in FILES} - found == set()


@pytest.mark.parametrize("name", ["notes.txt", ".config/app/settings.ini", ".cache/x", ".local/share/app/data"])
def test_other_files_of_the_home_directory_are_not_protected(tmp_path: Path, name: str):
    assert not is_protected(tmp_path, name)
