"""What another `ohw` of the user's writes is not attributed to a command; what an agent's command writes is."""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.session.fake_agent import calls, says
from tests.session.test_integrity_guard import home as home
from tests.session.test_integrity_guard import made_repo as made_repo
from tests.session.test_integrity_guard import notices_of, observed_text
from tests.session.test_integrity_guard import repo as repo
from tests.session.test_integrity_guard import watched as watched
from workbench.config.locations import Locations
from workbench.files import state_files
from workbench.files.digests import sha256
from workbench.files.state_files import on_own_write, replace_file
from workbench.session.actions.integrity import IntegrityGuard
from workbench.session.actions.permits import NO_CHANGES
from workbench.session.storage.signed_writes import OwnWrites, sign_write
from workbench.tools.trust import agree, agreed

REVOKE = (sys.executable, "-m", "workbench", "trust", "revoke", "--all")


@pytest.fixture
def trusted(repo, home, monkeypatch) -> Path:
    """Trust a directory before the session starts, and return the file that says so."""
    monkeypatch.setattr(state_files, "_listeners", [])
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    locations = Locations.from_environment()
    agree(locations, repo.parent / "elsewhere", "sha256:1")
    return locations.data / "trusted.json"


@pytest.fixture
def elsewhere(trusted, monkeypatch) -> Locations:
    """Let the writes of this process be signed, but otherwise be those of another one."""
    monkeypatch.setattr(state_files, "note_digest", lambda path, digest: None)
    on_own_write(sign_write)
    return Locations.from_environment()


def revoke_as_user() -> None:
    """Run `ohw trust revoke` as the user does in another terminal."""
    subprocess.run(REVOKE, check=True, stdout=subprocess.DEVNULL)
    assert not agreed(Locations.from_environment())


def run_beside(watched, command: str, beside: Callable[[], object] = lambda: None):
    """Run a command, then something else that is not the agent's, then a second command."""
    one = watched(
        calls(("execute_bash", {"command": command})),
        lambda *_: (beside(), calls(("execute_bash", {"command": "git status"})))[1],
        says("done"),
    )
    one.session.send("go")
    one.run()
    return one


def test_trust_revoked_by_another_ohw_between_two_actions_is_not_reported(watched, trusted):
    one = run_beside(watched, "git status", revoke_as_user)
    assert notices_of(one) == ""
    assert one.session.question is None


def test_trust_revoked_by_another_ohw_during_an_action_is_not_reported(repo, trusted):
    guard = IntegrityGuard(str(repo))
    guard.begin(NO_CHANGES)
    revoke_as_user()
    assert guard.end(NO_CHANGES).paths == ()
    assert guard.question == ""


def test_trust_changed_by_another_program_is_reported(watched, trusted):
    one = run_beside(watched, "git status", lambda: trusted.write_text("{}"))
    assert "trusted.json" in notices_of(one)
    assert one.session.question is not None


@pytest.mark.parametrize("command", [shlex.join(REVOKE), "python3 -c \"open('{}', 'w')\""], ids=["ohw", "python"])
def test_trust_changed_by_a_command_is_reported(watched, repo, trusted, command):
    (repo / "rt.sh").write_text(command.format(trusted))
    one = run_beside(watched, "bash rt.sh > out 2>&1")
    assert not agreed(Locations.from_environment()), (observed_text(one), (repo / "out").read_text())
    assert "trusted.json" in notices_of(one)
    assert one.session.question is not None


def test_earlier_content_restored_with_its_note_is_reported(repo, trusted, elsewhere, tmp_path):
    guard = IntegrityGuard(str(repo))
    guard.begin(NO_CHANGES)
    agree(elsewhere, repo.parent / "two", "sha256:2")
    earlier = trusted.read_bytes()
    shutil.copytree(elsewhere.state / "writes", tmp_path / "notes")
    assert guard.end(NO_CHANGES).paths == ()
    revoke_as_user()
    assert guard.compare().paths == ()
    trusted.write_bytes(earlier)
    shutil.copytree(tmp_path / "notes", elsewhere.state / "writes", dirs_exist_ok=True)
    assert guard.compare().paths == (str(trusted),)


def test_note_is_for_one_file_and_one_content_after_the_start(elsewhere):
    early, late = elsewhere.config / "early.toml", elsewhere.config / "late.toml"
    replace_file(early, b"1")
    writes = OwnWrites()
    replace_file(late, b"2")
    digest = sha256(b"2")
    assert not writes.accept(str(early), sha256(b"1"))
    assert not writes.accept(str(early), digest)
    assert not writes.accept(str(late), sha256(b"3"))
    assert writes.accept(str(late), digest)
    assert not writes.accept(str(late), digest), "once"


def test_forged_or_damaged_note_is_worth_nothing(elsewhere):
    writes, file = OwnWrites(), elsewhere.config / "rules.toml"
    replace_file(file, b"1")
    note = max((elsewhere.state / "writes").iterdir(), key=lambda each: each.stat().st_mtime_ns)
    whole, digest = note.read_bytes(), sha256(b"1")
    for damaged in (b"", b"[]", b"\xff", whole.replace(b'"signature":"', b'"signature":"9'), whole[:-4]):
        note.write_bytes(damaged)
        assert not writes.accept(str(file), digest), damaged
    note.write_bytes(whole)
    assert writes.accept(str(file), digest)


def test_other_files_get_no_note(elsewhere):
    replace_file(elsewhere.state / "unsent" / "draft", b"x")
    assert not (elsewhere.state / "writes").exists()


def test_user_with_one_directory_for_everything_can_write_settings(tmp_path, monkeypatch):
    monkeypatch.setattr(state_files, "_listeners", [])
    for name in ("CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path))
    on_own_write(sign_write)
    on_own_write(sign_write)
    settings = Locations.from_environment().settings_file
    replace_file(settings, b"mode = 'ask'\n")
    assert settings.read_bytes() == b"mode = 'ask'\n"
    assert len(list((Locations.from_environment().state / "writes").iterdir())) == 1
