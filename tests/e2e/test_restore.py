"""What an approved command takes away, and no version holds, is copied before and comes back by `ohw restore`."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.sandbox import World, bash, finish
from tests.subagent_scripts import delegating
from tests.terminal.terminal import Terminal


def events(world: World, command: str, mode: str = "never") -> list[dict]:
    model = world.script(bash("touch begun"), bash(command), finish())
    done = world.ohw("run", "go", "--json", "--mode", mode, "--model", model)
    assert done.stdout, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def built(world: World) -> None:
    (world.project / ".gitignore").write_text("build/\n*.log\n")
    (world.project / "build/deep").mkdir(parents=True)
    for number in range(3):
        (world.project / f"build/deep/{number}.o").write_bytes(bytes(range(number, 256)))


def test_a_deleted_folder_that_is_ignored_comes_back(world: World):
    built(world)
    found = events(world, "rm -rf build")
    assert not (world.project / "build").exists()
    reasons = [reason for event in found if event["kind"] == "action_assessed" for reason in event["reasons"]]
    assert "deletes 3 files in build/ (not in git; a copy is kept)" in reasons
    assert any("`ohw restore" in event["notice"] for event in found if event["kind"] == "version_taken")

    listed = world.ohw("restore").stdout
    assert "rm -rf build" in listed
    assert "3 files" in listed
    done = world.ohw("restore", listed.split()[0])
    assert "3 files restored" in done.stdout, done.stderr
    assert (world.project / "build/deep/2.o").read_bytes() == bytes(range(2, 256))
    assert "as it was" in world.ohw("restore", listed.split()[0]).stdout


def test_a_sign_that_hides_takes_nothing_from_what_is_said_and_kept(world: World):
    built(world)
    found = events(world, "rm -rf build; echo 'p\u0430x\u200b'")
    asked = [event for event in found if event["kind"] == "action_assessed" and len(event["segments"]) > 1]
    assert [(one["risk"], one["reason"]) for one in asked[0]["segments"]] == [
        ("HIGH", "holds control codes or invisible signs"),
        ("MEDIUM", "deletes 3 files in build/ (not in git; a copy is kept)"),
        ("LOW", ""),
    ]
    listed = world.ohw("restore").stdout
    assert "echo 'p\\u0430x\\u200b'" in listed
    world.ohw("restore", listed.split()[0])
    assert (world.project / "build/deep/2.o").read_bytes() == bytes(range(2, 256))


def test_newer_work_is_overwritten_only_by_force(world: World):
    built(world)
    log = world.project / "own.log"
    log.write_text("old\n")
    events(world, "echo new > own.log")
    name = world.ohw("restore").stdout.split()[0]
    log.write_text("newer work\n")
    refused = world.ohw("restore", name)
    assert (refused.returncode, log.read_text()) == (1, "newer work\n")
    assert "own.log" in refused.stderr
    assert world.ohw("restore", name, "--force").returncode == 0
    assert log.read_text() == "old\n"


def test_what_the_versions_hold_comes_back_in_the_same_way(world: World):
    (world.project / "src").mkdir()
    (world.project / "src/a.py").write_text("x = 1\n")
    found = events(world, "rm -rf src")
    reasons = [reason for event in found if event["kind"] == "action_assessed" for reason in event["reasons"]]
    assert "deletes 1 file in src/ (`ohw restore` restores it)" in reasons
    copy = world.ohw("restore").stdout.split()[0]
    assert "1 file restored" in world.ohw("restore", copy).stdout
    assert (world.project / "src/a.py").read_text() == "x = 1\n"


def odd_files(folder: Path) -> None:
    """Files that a text cannot bring back: binary, large, linked, oddly named, encoded, private, empty directories."""
    (folder / "deep/empty").mkdir(parents=True)
    (folder / "deep/empty").chmod(0o700)
    (folder / "deep/binary.bin").write_bytes(bytes(range(256)) * 50)
    (folder / "large.txt").write_text("line\n" * 500_000)
    (folder / "latin.txt").write_bytes("caf\u00e9\r\n".encode("latin-1"))
    (folder / "wide.txt").write_bytes("caf\u00e9\r\n".encode("utf-16"))
    (folder / "key.pem").write_text("private\n")
    (folder / "key.pem").chmod(0o600)
    (folder / "run").write_text("#!/bin/sh\n")
    (folder / "run").chmod(0o750)
    (folder / "link").symlink_to("deep/binary.bin")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "a name\n*[x]").write_text("odd\n")
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9")).write_text("no UTF-8\n")
    for number in range(450):
        (folder / f"many-{number}").write_text(f"{number}\n")


def tree_of(folder: Path) -> dict[str, object]:
    """What is below a directory: kind, permissions and content by name."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        content = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(folder))] = (
            stat.S_IFMT(mode),
            0 if path.is_symlink() else stat.S_IMODE(mode),
            content,
        )
    return found


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf src",
        "python3 -c \"import shutil; shutil.rmtree('sr' + 'c')\"",  # nobody can foresee what it deletes
    ],
)
def test_whatever_a_command_deletes_comes_back_byte_for_byte(world: World, command: str):
    odd_files(world.project / "src")
    before = tree_of(world.project / "src")
    events(world, command)
    assert not (world.project / "src").exists()
    copy = world.ohw("restore").stdout.split()[0]
    done = world.ohw("restore", copy)
    assert done.returncode == 0, done.stderr
    assert tree_of(world.project / "src") == before
    assert "as it was" in world.ohw("restore", copy).stdout


def test_any_path_of_any_version_comes_back(world: World):
    odd_files(world.project / "src")
    before = tree_of(world.project / "src")
    log = events(world, "chmod 644 src/key.pem; echo other > src/latin.txt; rm src/link; rm -r src/deep; rm src/many-*")
    assert tree_of(world.project / "src") != before
    first = world.ohw("restore", "--versions").stdout.splitlines()[-1].split()[0]
    listed = [file for event in log if event["kind"] == "version_taken" for file in event["files"]]
    assert len(listed) > 450, "files beyond those whose texts an event holds are listed too"
    assert world.ohw("restore", first, "src/many-449").returncode == 0
    assert (world.project / "src/many-449").read_text() == "449\n"
    assert "name the files" in world.ohw("restore", first).stderr
    assert "holds nothing at nosuch" in world.ohw("restore", first, "nosuch").stderr
    assert "not in" in world.ohw("restore", first, "../elsewhere").stderr
    assert "1 file restored" in world.ohw("restore", first, "src/link").stdout
    assert "something else now: src/latin.txt" in world.ohw("restore", first, "src").stderr
    done = world.ohw("restore", first, "src", "--force")
    assert "restored" in done.stdout, done.stderr
    assert tree_of(world.project / "src") == before


def test_what_is_too_large_to_keep_is_said_before(world: World):
    (world.project / ".gitignore").write_text("build/\n")
    (world.project / "build").mkdir()
    with (world.project / "build/large").open("wb") as file:
        file.truncate(150_000_000)
    found = events(world, "rm -rf build")
    reasons = [reason for event in found if event["kind"] == "action_assessed" for reason in event["reasons"]]
    assert any("can NOT be restored" in reason for reason in reasons)
    assert (world.project / "build/large").exists(), "it was not asked about"


def test_a_copy_that_is_not_there_is_said(world: World):
    done = world.ohw("restore", "abc")
    assert (done.returncode, "name the files" in done.stderr) == (2, True)
    done = world.ohw("restore", "abcdef12", ".")
    assert (done.returncode, "there is no version abcdef12" in done.stderr) == (1, True)


def test_git_history_goes_only_when_it_was_asked_about(world: World):
    inner = world.project / "vendor/lib"
    inner.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(inner)], check=True)
    (inner / "a.c").write_text("int a;\n")
    found = events(world, "rm -rf vendor")
    reasons = [reason for event in found if event["kind"] == "action_assessed" for reason in event["reasons"]]
    assert any("with git history, which can NOT be restored" in reason for reason in reasons), reasons
    assert [event["needs_decision"] for event in found if event["kind"] == "action_assessed"] == [False, True]
    assert (inner / "a.c").read_text() == "int a;\n"


def test_a_private_file_comes_back_private_and_its_secret_is_in_no_list(world: World):
    (world.project / ".gitignore").write_text(".env\n")
    private = world.project / ".env"
    private.write_text("A=1\n")
    private.chmod(0o600)
    events(world, "rm .env")
    assert world.ohw("restore", world.ohw("restore").stdout.split()[0]).returncode == 0
    assert (private.read_text(), private.stat().st_mode & 0o777) == ("A=1\n", 0o600)


def test_a_sub_agents_command_has_its_copy_too_and_the_parent_says_so(world: World):
    built(world)
    model = delegating(world.home / "script.toml", {"cleaner": [bash("rm -rf build", "HIGH"), finish("clean")]})
    done = world.ohw("run", "go", "--json", "--mode", "never", "--model", model)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    (kept,) = [event for event in told if event["kind"] == "version_taken" and event["copy_id"]]
    assert "a copy of 3 files is kept" in kept["notice"]
    assert world.ohw("restore", kept["copy_id"]).returncode == 0
    assert (world.project / "build/deep/2.o").exists()


def test_a_key_on_the_actions_page_brings_the_copy_back(world: World):
    built(world)
    model = world.script(bash("touch begun"), bash("rm -rf build"), finish())
    given = ("go", "--mode", "never", "--model", model, "--workspace", str(world.project))
    with Terminal(given, 120, 34, world.env) as terminal:
        terminal.never_ask()
        terminal.wait_for("✓ Finished")
        terminal.press("f2", "up", "up")
        terminal.wait_for("›✓  2 $ rm")
        terminal.press("enter")
        terminal.wait_for("b restore the copy")
        terminal.press("b")
        terminal.wait_for("3 files restored")
        assert (world.project / "build/deep/2.o").exists()
        terminal.press("ctrl+q")


FORGED = ("{}", "no JSON", "[" * 10_000, "null", "\udcff", '{"id": 5}')


def test_a_list_of_copies_that_somebody_forged_harms_nothing(world: World):
    built(world)
    events(world, "rm -rf build")
    (store,) = world.locations.data.glob("versions/*/copies.jsonl")
    whole = store.read_text()
    copy = json.loads(whole)
    wrong = ({"id": 5}, {"at": None}, {"modes": {"a": "b"}}, {"version": "--upload-pack=touch evil", "id": "--up"})
    lines = [*FORGED, *(json.dumps(copy | each) for each in wrong), whole]
    store.write_text("\n".join(lines), errors="surrogateescape")
    done = world.ohw("restore")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1), done.stderr
    outside = world.home / "victim"
    outside.mkdir()
    (world.project / "build").symlink_to(outside)
    for words in ((), ("--force",)):
        refused = world.ohw("restore", copy["id"], *words)
        assert refused.returncode == 1
        assert "Traceback" not in refused.stderr
    assert not list(outside.iterdir())
    store.unlink()
    os.mkfifo(store)
    listed = world.ohw("restore")
    assert (listed.returncode, copy["id"] in listed.stdout) == (0, False), listed.stderr
