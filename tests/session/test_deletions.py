"""The files that a command deletes come from the assessment's data, not from its wording, and are copied."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.session.test_snapshots import repository
from workbench.config.locations import Locations
from workbench.protocol.deletion_list import MOST_LISTED
from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext
from workbench.session.workspace.deletions import FOR_GOOD, DeletionSurvey
from workbench.session.workspace.repository import SnapshotRepository


@pytest.fixture
def losses(tmp_path, monkeypatch):
    monkeypatch.setattr("workbench.session.workspace.deletions._QUERY_LIMIT", 60.0)
    made = repository(tmp_path)
    directory = made.workspace
    (directory / ".gitignore").write_text("*.log\nbuild/\n")
    (directory / "a.log").write_text("a")
    (directory / "tracked.txt").write_text("tracked")
    (directory / "build").mkdir()
    (directory / "build" / "b.log").write_text("b")
    made.snapshot()
    return DeletionSurvey(made)


@pytest.fixture
def assessed(losses, tmp_path):
    return lambda command: assess_command(command, PathContext(str(tmp_path / "work"), str(tmp_path)))


@pytest.mark.parametrize(
    ("command", "count"),
    [
        ("rm a.log", 1),
        ("shred a.log", 1),
        ("echo new > a.log", 1),
        ("curl -s https://example.org -o a.log", 1),
        ("find build -exec rm {} +", 1),
        ("git clean -fdX", 4),  # outside of a repository, git cannot tell what it would spare
        ("touch a.log", 0),
        ("chmod 600 a.log", 0),
        ("cat a.log", 0),
        ("mkdir build/c", 0),
        ("for f in *.log; do rm $f; done", 2),
        ("ls *.log | xargs rm", 2),
        ('for f in b; do rm "build/$f.log"; done', 1),
        ("rm build/{a,b}.log", 1),
        ("find . -name '*.log' -exec rm {} +", 2),
        ("find build -name '*.log' -delete", 1),
        ("python3 -c 'import shutil; shutil.rmtree(where)'", 2),
        ("tar -xf new.tar -C build", 1),
        ("echo new > $where", 2),
        ("rm /elsewhere/$f", 0),
        ("perl -pi -e s/a/b/ a.log", 1),
        ("zip -qm new.zip a.log", 1),
        ("sqlite3 a.log 'delete from t'", 1),
        ("curl -O https://example.org/files/a.log?raw=1", 1),
        ("split a.log build/b", 1),
        ("gcc main.c -oa.log", 1),
        ("yq -i '.a = 1' a.log", 1),
        ("iconv main.c --output=a.log", 1),
        ("gpg -o a.log -d main.gpg", 1),
        ("cp elsewhere/b.log build", 1),
        ("mytool -t build elsewhere/b.log", 1),
        ("mytool *.log", 1),
        ("mytool '*.log'", 0),
        ("truncate -s 0 a.log", 1),
        ("ls | tee a.log", 1),
        ("dd if=/dev/zero of=a.log", 1),
        ("install new.log build/b.log", 1),
        ("rsync -a --delete new/ build", 1),
        ("unzip -o new.zip", 2),
        ("git archive -o a.log HEAD", 1),
        ("python3 -m json.tool new.json a.log", 1),
        ("/usr/bin/time -o a.log true", 1),
        ("printf 'rm a.log' | sh", 2),
        ("python3 -c \"connect('a.log')\"", 1),
        ("rm a.log # \u202e", 1),
        ("rm -rf build; echo 'x\u200b'", 1),
        ("rm a.log; echo '\u200b", 2),
        ("eval " * 9 + "rm a.log", 2),
        ("rm build", 0),
        ("rm tracked.txt", 1),
    ],
)
def test_every_deleted_file_is_copied(losses, assessed, command, count):
    copy = losses.keep(assessed(command), command, "one")
    assert (copy.count if copy else 0) == count


def test_file_changed_after_the_last_version_is_copied_as_it_is(losses, assessed, tmp_path):
    """Times and size of the file do not matter: another program may write it at any moment before the command."""
    file = tmp_path / "work/tracked.txt"
    times = file.stat().st_mtime_ns
    for text, restored in (("edited", "edited"), ("TRACKED", "TRACKED")):
        file.write_text(text)
        os.utime(file, ns=(times, times))
        for command in ("rm tracked.txt", "rm -r .", "rm $f", "for f in *; do rm $f; done"):
            reason, doubt = reason_of(losses, assessed, command)
            assert ("can be undone" in reason, doubt) == (True, ""), (command, reason)
            copy = losses.keep(assessed(command), command, "one")
            file.unlink()
            losses.copies.restore(copy.id)
            assert file.read_text() == restored
            os.utime(file, ns=(times, times))


def test_files_outside_the_workspace_are_not_copied_and_that_is_reported(losses, assessed, tmp_path):
    inside, outside = tmp_path / "work", tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "a.txt").write_text("a")
    (inside / "link").symlink_to(outside)
    for command in (f"rm -r {outside}", "rm link/a.txt"):
        reason, doubt = reason_of(losses, assessed, command)
        assert reason.startswith("deletes 1 file ")
        assert (reason.endswith("(outside the workspace: no copy is saved)"), doubt) == (True, "")
        assert losses.keep(assessed(command), command, "one") is None


def test_file_behind_a_link_is_copied(losses, assessed, tmp_path):
    (tmp_path / "work/link.log").symlink_to("a.log")
    (tmp_path / "work/folder").symlink_to("build")
    for command, named in (("echo > link.log", "a.log"), ("rm folder/b.log", "build/b.log")):
        copy = losses.keep(assessed(command), command, "one")
        assert named in {change.path for change in losses.copies._repository.files_of(copy.version)}


def test_file_that_cannot_be_copied_is_named_beside_the_commands_own_reason(losses, assessed, tmp_path):
    with (tmp_path / "work/model.log").open("wb") as file:
        file.truncate(150_000_000)
    explanation = losses.explain(assessed("mytool model.log"))
    reason = explanation.assessment.parts[0].reason
    assert reason.startswith("unknown command; may change 1 file (model.log) (")
    assert ("can NOT be restored" in reason, explanation.doubt) == (True, "")


def test_deletion_of_files_already_held_is_reported_too(losses, assessed):
    assert reason_of(losses, assessed, "rm tracked.txt")[0].endswith("(tracked.txt) (can be undone: backup of 1 file)")
    assert "can be undone: backup of 2 files" in reason_of(losses, assessed, "rm tracked.txt a.log")[0]


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("git checkout -- large.bin", {"large.bin"}),
        ("git checkout .", {"large.bin"}),
        ("git reset --hard", {"large.bin"}),
        ("git stash", {"large.bin"}),
        ("git clean -fd", {"new.bin"}),
        ("git checkout -f other", {"large.bin", "a.log"}),
        ("git reset", set()),
        ("git status", set()),
    ],
)
def test_files_overwritten_by_git_are_copied_if_no_version_holds_them(losses, assessed, tmp_path, command, files):
    work = tmp_path / "work"

    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=work, check=True, capture_output=True)

    def write(name: str, sign: bytes) -> None:
        (work / name).write_bytes(sign * 5_000_001)

    git("init", "-q", "-b", "main")
    write("large.bin", b"a")
    git("add", "-A")
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    git(*author, "commit", "-qm", "one")
    git("checkout", "-qb", "other")
    git("add", "-f", "a.log")
    git(*author, "commit", "-qm", "with a log")
    git("checkout", "-q", "main")
    (work / "a.log").write_text("of mine")
    write("large.bin", b"b")
    write("new.bin", b"c")
    losses.copies._repository.snapshot()
    copy = losses.keep(assessed(command), command, "one")
    copied_files = losses.copies._repository.files_of(copy.version) if copy else []
    assert {change.path for change in copied_files} - {"new.bin"} | ({"new.bin"} & files) == files


def test_many_files_and_odd_names_are_all_copied(losses, assessed, tmp_path):
    for number in range(1_150):
        (tmp_path / "work" / f"{number}.log").write_text("x")
    (tmp_path / "work" / "d[raw].log").write_text("x")
    for command, count in (("rm -f [0-9]*.log", 1_150), ("rm 'd[raw].log'", 1)):
        copy = losses.keep(assessed(command), command, "one")
        assert copy.count == count, command


def test_reason_names_what_is_deleted_even_if_the_command_does_not(losses, assessed):
    assessment = losses.explain(assessed("git clean -fdX")).assessment
    assert assessment.parts[0].reason.startswith("deletes ")
    assert "can be undone: backup of " in assessment.parts[0].reason


def test_files_of_a_directory_with_git_history_are_copied_and_the_history_is_asked_about(losses, assessed, tmp_path):
    inner = tmp_path / "work/vendor/lib"
    (inner / ".git").mkdir(parents=True)
    (inner / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (inner / "a.c").write_text("int a;\n")
    reason, doubt = reason_of(losses, assessed, "rm -rf vendor")
    assert "with git history, which can NOT be restored" in reason
    assert doubt == "what it deletes could not be restored"
    assert losses.keep(assessed("rm -rf vendor"), "rm -rf vendor", "one").count == 1


def reason_of(losses, assessed, command: str) -> tuple[str, str]:
    assessment, doubt, _ = losses.explain(assessed(command))
    return next(part.reason for part in assessment.parts if part.deletes), doubt


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("for f in *.log; do rm $f; done", "deletes files in ./ only known at run time"),
    ],
)
def test_unknown_deletions_copy_and_report_everything_git_does_not_hold(losses, assessed, command, reason):
    count = "2 files" if "./" in reason else "1 file"
    assert reason_of(losses, assessed, command) == (
        f"{reason} (can be undone: backup of the {count} that git does not contain)",
        "",
    )


def test_smallest_files_are_copied_if_there_are_too_many_and_others_named(losses, assessed, tmp_path):
    with (tmp_path / "work/data.log").open("wb") as file:
        file.truncate(150_000_000)
    (tmp_path / "work/node_modules").mkdir()
    (tmp_path / "work/node_modules/made.js").write_text("x")
    command = "for f in *.log; do rm $f; done"
    reason, doubt = reason_of(losses, assessed, command)
    assert "backup of the 2 files" in reason
    assert "NOT of data.log: too large" in reason
    assert doubt == "what it deletes could not be restored"
    assert losses.keep(assessed(command), command, "one").count == 2


@pytest.mark.parametrize("command", ["rm a.log", "rm $f", "rm -r build", "ls | xargs rm"])
@pytest.mark.parametrize("fault", ["damaged", "no git"])
def test_failed_copy_is_reported_and_asks(losses, assessed, monkeypatch, command, fault):
    if fault == "damaged":
        Path(losses.copies._repository.directory / "index-one").write_bytes(b"DIRC damaged")
    else:
        monkeypatch.setenv("PATH", "/nowhere")
    reason, doubt = reason_of(losses, assessed, command)
    assert reason.startswith("deletes ")
    assert "(no copy could be made: git" in reason
    assert doubt == "what it deletes could not be restored"


def test_generated_and_merely_changed_files_are_no_reason_to_ask(losses, assessed, tmp_path):
    directory = tmp_path / "work/node_modules"
    directory.mkdir()
    with (directory / "large").open("wb") as file:
        file.truncate(150_000_000)
    reason, doubt = reason_of(losses, assessed, "rm -rf node_modules")
    assert ("can NOT be restored" in reason, doubt) == (True, "")
    shutil.rmtree(losses.copies._repository.directory)
    assert losses.explain(assessed("echo new > a.log")).doubt == ""


def test_git_clean_and_find_delete_exactly_what_they_name(losses, assessed, tmp_path):
    work = tmp_path / "work"
    (work / "docs" / ".old").mkdir(parents=True)
    for name in ("docs/kept.md", "docs/new.log", "docs/.old/deep.log", "docs/draft.md"):
        (work / name).write_text(name)
    for command in (["init", "-q"], ["add", "docs/kept.md", ".gitignore"]):
        subprocess.run(["git", *command], cwd=work, check=True, capture_output=True)
    for command, files in (
        ("git clean -fd docs", "1 file in docs/"),
        ("git clean -fdx docs", "3 files in docs/"),
        ("git clean -fdX docs", "2 files in docs/"),
        ("find docs -name '*.log' -delete", "2 files in docs/.old/deep.log, docs/new.log"),
        ("find docs -maxdepth 1 -name '*.log' -delete", "1 file (docs/new.log)"),
    ):
        reason, _ = reason_of(losses, assessed, command)
        assert reason.startswith(f"deletes {files} ("), (command, reason)


def test_copy_is_made_before_the_first_version_too(losses, assessed, tmp_path):
    locations = Locations.from_environment({"HOME": str(tmp_path / "home")})
    fresh = DeletionSurvey(SnapshotRepository(locations, losses.copies._repository.workspace, "two"))
    shutil.rmtree(losses.copies._repository.directory)
    assert fresh.explain(assessed("rm a.log")).doubt == ""
    assert fresh.keep(assessed("rm a.log"), "rm a.log", "two").count == 1


TAKES_HISTORY = """
find . -delete
find . -mindepth 1 -delete
find . -type f -delete
find . -mtime +1 -delete
find . ! -name .gitignore -delete
find . -not -path './build/*' -delete
fd -H . -X rm -rf
rm -rf .*
rm -rf .[a-z]*
rm -rf .??*
rm -rf {*,.*}
rm -rf ./.g*
rm -rf .git
rm -rf "$where"
rm -rf -- "$PWD"
ls -A | xargs rm -rf
ls -A | xargs -n1 rm -r
for f in $(ls -A); do rm -rf "$f"; done
rsync -a --delete empty/ ./
python3 -c 'import shutil; shutil.rmtree(where)'
node -e 'require("fs").rmSync(where, {recursive: true})'
""".strip().splitlines()
LEAVES_HISTORY = """
find . -name '*.log' -delete
find . -name __pycache__ -exec rm -rf {} +
find . -type d -empty -delete
find . -not -path './.git/*' -name '*.o' -delete
find . -not -path './.git/*' -type f -delete
find . -path ./.git -prune -o -type f -delete
find build -delete
rm -rf build
rm -rf *.log build
rm -f *
rm -f .*
ls *.log | xargs rm
ls *.log | xargs rm -f
for f in *.log; do rm "$f"; done
git clean -fdx
rsync -a --delete --exclude=.git/ new/ ./
python3 -c 'import os; [os.remove(f) for f in names]'
""".strip().splitlines()


@pytest.fixture
def with_history(losses, tmp_path):
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path / "work", check=True)
    return losses


@pytest.mark.parametrize("command", TAKES_HISTORY)
def test_deletion_that_takes_the_repository_is_asked_about_in_every_mode(with_history, assessed, command):
    explained = with_history.explain(assessed(command))
    assert explained.doubt == FOR_GOOD
    assert "with git history, which can NOT be restored" in " ".join(explained.assessment.reasons)


@pytest.mark.parametrize("command", LEAVES_HISTORY)
def test_deletion_that_leaves_the_repository_is_not(with_history, assessed, command):
    assert with_history.explain(assessed(command)).doubt == ""


@pytest.mark.parametrize("command", TAKES_HISTORY)
def test_deletion_in_a_directory_without_a_repository_is_not(losses, assessed, command):
    assert losses.explain(assessed(command)).doubt == ""


@pytest.mark.parametrize(
    ("command", "rows"),
    [
        ("rm a.log", [("deletes", "a.log", 1, "can be undone: backup of 1 file", True)]),
        ("rm -r build a.log", [("deletes", "build/", 2, "", True), ("deletes", "a.log", 1, "", True)]),
        ("rm *.log", [("deletes", "a.log", 1, "can be undone", True)]),
        ("rm $f", [("deletes", "./", None, "backup of the ", True)]),
        ("rm -r build ../elsewhere", [("", "elsewhere/", 1, "no copy is saved", False), ("", "build/", 2, "", True)]),
        ("touch a.log", []),
        ("mytool a.log", []),
    ],
)  # fmt: skip
def test_question_lists_every_place_and_whether_it_comes_back(losses, assessed, tmp_path, command, rows):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/notes.txt").write_text("x" * 2_000)
    (tmp_path / "work/build/c.log").write_text("c")
    explained = losses.explain(assessed(command))
    listed = [path for each in explained.deleted for path in each.paths]
    assert len(listed) == len(rows)
    for path, (verb, name, files, restorable, comes_back) in zip(listed, rows, strict=True):
        assert path.verb.startswith(verb)
        assert path.path.endswith(name)
        assert (path.files, path.comes_back) == (files, comes_back)
        assert restorable in path.restorable
        assert files is None or path.size == (2_000 if "elsewhere" in name else files)
    reasons = {part.reason for part in explained.assessment.parts}
    assert {each.reason for each in explained.deleted} <= reasons


def test_list_of_deleted_places_is_capped_and_counts_the_rest(losses, assessed, tmp_path):
    for number in range(MOST_LISTED + 10):
        (tmp_path / f"work/{number}.tmp").write_text("x")
    one, other = losses.explain(assessed("rm *.tmp && rm a.log")).deleted
    assert (len(one.paths), one.more, one.more_lost) == (MOST_LISTED, 10, 0)
    assert (len(other.paths), other.more) == (0, 1)
