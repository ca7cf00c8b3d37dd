"""What a command takes away is read from its data, whatever the reason for its risk says; a copy of it can be had."""

import pytest

from tests.session.test_versions import repository
from workbench.security.places import Places
from workbench.security.shell.scan import assess_command
from workbench.session.versions.losses import Losses


@pytest.fixture
def losses(tmp_path):
    made = repository(tmp_path)
    folder = made.workspace
    (folder / ".gitignore").write_text("*.log\nbuild/\n")
    (folder / "a.log").write_text("a")
    (folder / "build").mkdir()
    (folder / "build" / "b.log").write_text("b")
    made.take()
    return Losses(made)


@pytest.fixture
def assessed(losses, tmp_path):
    return lambda command: assess_command(command, Places(str(tmp_path / "work"), str(tmp_path)))


@pytest.mark.parametrize(
    ("command", "count"),
    [
        ("rm a.log", 1),
        ("shred a.log", 1),
        ("echo new > a.log", 1),
        ("curl -s https://example.org -o a.log", 1),
        ("find build -exec rm {} +", 1),
        ("git clean -fdX", 2),
        ("touch a.log", 0),
        ("chmod 600 a.log", 0),
        ("cat a.log", 0),
        ("mkdir build/c", 0),
    ],
)
def test_a_copy_is_kept_of_what_no_version_holds(losses, assessed, command, count):
    kept = losses.keep(assessed(command), command, "one")
    assert (kept.count if kept else 0) == count


def test_many_files_and_odd_names_are_all_kept(losses, assessed, tmp_path):
    for number in range(1_150):
        (tmp_path / "work" / f"{number}.log").write_text("x")
    (tmp_path / "work" / "d[raw].log").write_text("x")
    for command, count in (("rm -f [0-9]*.log", 1_150), ("rm 'd[raw].log'", 1)):
        kept = losses.keep(assessed(command), command, "one")
        assert kept.count == count, command


def test_the_reason_says_what_is_deleted_though_its_own_words_do_not(losses, assessed):
    told = losses.explained(assessed("git clean -fdX"))
    assert told.parts[0].reason.startswith("deletes ")
    assert "a copy is kept" in told.parts[0].reason
