"""Files that an approved command deletes and no snapshot holds are copied first; `ohw restore` brings them back."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.sandbox import Sandbox, bash, finish
from tests.subagent_scripts import delegating
from tests.terminal.terminal import Terminal


def events(sandbox: Sandbox, command: str, mode: str = "never") -> list[dict]:
    model = sandbox.script(bash("touch begun"), bash(command), finish())
    done = sandbox.agent("run", "go", "--json", "--mode", mode, "--model", model)
    assert done.stdout, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def built(sandbox: Sandbox) -> None:
    (sandbox.project / ".gitignore").write_text("build/\n*.log\n")
    (sandbox.project / "build/deep").mkdir(parents=True)
    for number in range(3):
        (sandbox.project / f"build/deep/{number}.o").write_bytes(bytes(range(number, 256)))


def test_deleted_ignored_directory_is_restored(sandbox: Sandbox):
    built(sandbox)
    log = events(sandbox, "rm -rf build")
    assert not (sandbox.project / "build").exists()
    reasons = [reason for event in log if event["kind"] == "action_assessed" for reason in event["reasons"]]
    assert "deletes 3 files in build/ (can be undone: backup of 3 files)" in reasons
    assert any("`ohw restore" in event["notice"] for event in log if event["kind"] == "version_taken")

    listed = sandbox.command("restore").stdout
    assert "rm -rf build" in listed
    assert "3 files" in listed
    done = sandbox.ohw("restore", listed.split()[0])
    assert "3 files restored" in done.stdout, done.stderr
    assert (sandbox.project / "build/deep/2.o").read_bytes() == bytes(range(2, 256))
    assert "as it was" in sandbox.command("restore", listed.split()[0]).stdout


def test_hidden_character_does_not_hide_deletions_or_prevent_copies(sandbox: Sandbox):
    built(sandbox)
    log = events(sandbox, "rm -rf build; echo 'p\u0430x\u200b'")
    asked = [event for event in log if event["kind"] == "action_assessed" and len(event["segments"]) > 1]
    assert [(one["risk"], one["reason"]) for one in asked[0]["segments"]] == [
        ("HIGH", "contains control or invisible characters"),
        ("MEDIUM", "deletes 3 files in build/ (can be undone: backup of 3 files)"),
        ("LOW", ""),
    ]
    listed = sandbox.command("restore").stdout
    assert "echo 'p\\u0430x\\u200b'" in listed
    sandbox.command("restore", listed.split()[0])
    assert (sandbox.project / "build/deep/2.o").read_bytes() == bytes(range(2, 256))


def test_newer_content_is_overwritten_only_with_force(sandbox: Sandbox):
    built(sandbox)
    log = sandbox.project / "own.log"
    log.write_text("old\n")
    events(sandbox, "echo new > own.log")
    name = sandbox.command("restore").stdout.split()[0]
    log.write_text("newer work\n")
    refused = sandbox.command("restore", name)
    assert (refused.returncode, log.read_text()) == (1, "newer work\n")
    assert "own.log" in refused.stderr
    assert sandbox.command("restore", name, "--force").returncode == 0
    assert log.read_text() == "old\n"


def test_files_already_in_a_version_are_restored_the_same_way(sandbox: Sandbox):
    (sandbox.project / "src").mkdir()
    (sandbox.project / "src/a.py").write_text("x = 1\n")
    log = events(sandbox, "rm -rf src")
    reasons = [reason for event in log if event["kind"] == "action_assessed" for reason in event["reasons"]]
    assert "deletes 1 file in src/ (can be undone: backup of 1 file)" in reasons
    copy = sandbox.command("restore").stdout.split()[0]
    assert "1 file restored" in sandbox.command("restore", copy).stdout
    assert (sandbox.project / "src/a.py").read_text() == "x = 1\n"


def odd_files(directory: Path) -> None:
    """Create files that a diff does not restore: binary, large, linked, encoded, private, oddly named; empty
    directories.
    """
    (directory / "deep/empty").mkdir(parents=True)
    (directory / "deep/empty").chmod(0o700)
    (directory / "deep/binary.bin").write_bytes(bytes(range(256)) * 50)
    (directory / "large.txt").write_text("line\n" * 500_000)
    (directory / "latin.txt").write_bytes("caf\u00e9\r\n".encode("latin-1"))
    (directory / "wide.txt").write_bytes("caf\u00e9\r\n".encode("utf-16"))
    (directory / "key.pem").write_text("private\n")
    (directory / "key.pem").chmod(0o600)
    (directory / "run").write_text("#!/bin/sh\n")
    (directory / "run").chmod(0o750)
    (directory / "link").symlink_to("deep/binary.bin")
    (directory / "dangling").symlink_to("nowhere")
    (directory / "to-directory").symlink_to("deep", target_is_directory=True)
    (directory / "in-a-circle").symlink_to("in-a-circle")
    (directory / "absolute").symlink_to("/nonexistent/\u00e9\n")
    (directory / "fixed").mkdir()
    (directory / "fixed/read-only").write_bytes(b"\x00" * 5_000)
    (directory / "fixed/read-only").chmod(0o444)
    (directory / "fixed").chmod(0o555)
    (directory / "shared").mkdir()
    (directory / "shared").chmod(0o1777)
    (directory / "nothing").touch()
    (directory / "unreadable").write_text("x")
    (directory / "unreadable").chmod(0o000)
    (directory / "no-end").write_text("no line end")
    (directory / "mixed").write_bytes(b"a\r\nb\nc\rd\x00\xff\xfe")
    (directory / "twin").write_text("two names\n")
    os.link(directory / "twin", directory / "hard-link")
    for name in (
        "-rf",
        " blank ",
        "tab\t",
        "quote'\"$(x)`",
        "\u00e9",
        "e\u0301",
        "\u202egnp",
        ".hidden",
        "\\n",
        "x" * 250,
    ):
        (directory / name).write_text(f"{name}\n")
    (directory / "/".join(["deeper"] * 30)).mkdir(parents=True)
    (directory / "/".join(["deeper"] * 30) / "end").write_text("end\n")
    (directory / "a name\n*[x]").write_text("odd\n")
    Path(os.fsdecode(os.fsencode(directory) + b"/caf\xe9")).write_text("no UTF-8\n")
    for number in range(450):
        (directory / f"many-{number}").write_text(f"{number}\n")


def tree_of(directory: Path) -> dict[str, object]:
    """Return kind, permissions and content of everything below a directory, by name."""
    entries: dict[str, object] = {}
    for path in sorted(directory.rglob("*")):
        mode = path.lstat().st_mode
        content = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None
        entries[str(path.relative_to(directory))] = (
            stat.S_IFMT(mode),
            0 if path.is_symlink() else stat.S_IMODE(mode),
            content,
        )
    return entries


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf src",
        "python3 -c \"import shutil; shutil.rmtree('sr' + 'c')\"",  # it is unknown beforehand what it deletes
        "mv src ../gone",
        "mv src ../gone && rm -rf ../gone",
        "mv src other && rm -rf other",
        "mkdir other && mv src/* src/.[!.]* other && rmdir src && rm -rf other",
        "find src -depth -delete",
    ],
    ids=["rm", "python", "mv", "mv-rm", "rename-rm", "mv-all", "find"],
)
def test_every_deleted_file_is_restored_byte_for_byte(sandbox: Sandbox, command: str):
    odd_files(sandbox.project / "src")
    before = tree_of(sandbox.project / "src")
    events(sandbox, command)
    assert not (sandbox.project / "src").exists()
    listed = sandbox.command("restore").stdout.splitlines()
    assert len(listed) == 1, "one command has one copy of all it deletes"
    copy = listed[0].split()[0]
    done = sandbox.command("restore", copy)
    assert done.returncode == 0, done.stderr
    assert tree_of(sandbox.project / "src") == before
    assert "as it was" in sandbox.command("restore", copy).stdout


def test_any_path_of_any_version_is_restored(sandbox: Sandbox):
    odd_files(sandbox.project / "src")
    before = tree_of(sandbox.project / "src")
    log = events(
        sandbox, "chmod 644 src/key.pem; echo other > src/latin.txt; rm src/link; rm -r src/deep; rm src/many-*"
    )
    assert tree_of(sandbox.project / "src") != before
    first = sandbox.command("restore", "--versions").stdout.splitlines()[-1].split()[0]
    listed = [file for event in log if event["kind"] == "version_taken" for file in event["files"]]
    assert len(listed) > 450, "files beyond those whose texts an event holds are listed too"
    assert sandbox.command("restore", first, "src/many-449").returncode == 0
    assert (sandbox.project / "src/many-449").read_text() == "449\n"
    assert "name the files" in sandbox.command("restore", first).stderr
    assert "contains nothing at nosuch" in sandbox.command("restore", first, "nosuch").stderr
    assert "not in" in sandbox.command("restore", first, "../elsewhere").stderr
    assert "1 file restored" in sandbox.command("restore", first, "src/link").stdout
    assert "have changed since: src/latin.txt" in sandbox.command("restore", first, "src").stderr
    done = sandbox.command("restore", first, "src", "--force")
    assert "restored" in done.stdout, done.stderr
    assert tree_of(sandbox.project / "src") == before


def test_file_too_large_for_a_copy_is_reported_in_advance(sandbox: Sandbox):
    (sandbox.project / ".gitignore").write_text("build/\n")
    (sandbox.project / "build").mkdir()
    with (sandbox.project / "build/large").open("wb") as file:
        file.truncate(150_000_000)
    log = events(sandbox, "rm -rf build")
    reasons = [reason for event in log if event["kind"] == "action_assessed" for reason in event["reasons"]]
    assert any("can NOT be restored" in reason for reason in reasons)
    assert (sandbox.project / "build/large").exists(), "it was not asked about"


def test_unknown_copy_is_reported(sandbox: Sandbox):
    done = sandbox.command("restore", "abc")
    assert (done.returncode, "name the files" in done.stderr) == (2, True)
    done = sandbox.command("restore", "abcdef12", ".")
    assert (done.returncode, "there is no version abcdef12" in done.stderr) == (1, True)


def test_git_history_is_deleted_only_after_a_question(sandbox: Sandbox):
    inner = sandbox.project / "vendor/lib"
    inner.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(inner)], check=True)
    (inner / "a.c").write_text("int a;\n")
    log = events(sandbox, "rm -rf vendor")
    reasons = [reason for event in log if event["kind"] == "action_assessed" for reason in event["reasons"]]
    assert any("with git history, which can NOT be restored" in reason for reason in reasons), reasons
    assert [event["needs_decision"] for event in log if event["kind"] == "action_assessed"] == [False, True]
    assert (inner / "a.c").read_text() == "int a;\n"


def test_private_file_is_restored_as_private_and_its_secret_is_not_listed(sandbox: Sandbox):
    (sandbox.project / ".gitignore").write_text(".env\n")
    private = sandbox.project / ".env"
    private.write_text("A=1\n")
    private.chmod(0o600)
    events(sandbox, "rm .env")
    assert sandbox.command("restore", sandbox.command("restore").stdout.split()[0]).returncode == 0
    assert (private.read_text(), private.stat().st_mode & 0o777) == ("A=1\n", 0o600)


def test_sub_agents_command_has_a_copy_that_the_parent_reports(sandbox: Sandbox):
    built(sandbox)
    model = delegating(sandbox.home / "script.toml", {"cleaner": [bash("rm -rf build", "HIGH"), finish("clean")]})
    done = sandbox.agent("run", "go", "--json", "--mode", "never", "--model", model)
    log = [json.loads(line) for line in done.stdout.splitlines()]
    (copied,) = [event for event in log if event["kind"] == "version_taken" and event["copy_id"]]
    assert "a copy of 3 files is kept" in copied["notice"]
    assert sandbox.command("restore", copied["copy_id"]).returncode == 0
    assert (sandbox.project / "build/deep/2.o").exists()


def test_key_on_the_action_page_restores_the_copy(sandbox: Sandbox):
    built(sandbox)
    model = sandbox.script(bash("touch begun"), bash("rm -rf build"), finish())
    arguments = ("go", "--mode", "never", "--model", model, "--workspace", str(sandbox.project))
    with Terminal(arguments, 120, 34, sandbox.env) as terminal:
        terminal.never_ask()
        terminal.wait_for("✓ Finished")
        terminal.press("f2", "up")
        terminal.wait_for("›✓ $ rm")
        terminal.press("enter")
        terminal.wait_for("b Restore the copy")
        terminal.press("b")
        terminal.wait_for("3 files restored")
        assert (sandbox.project / "build/deep/2.o").exists()
        terminal.press("ctrl+q")


FORGED = ("{}", "no JSON", "[" * 10_000, "null", "\udcff", '{"id": 5}')


def test_forged_list_of_copies_is_harmless(sandbox: Sandbox):
    built(sandbox)
    events(sandbox, "rm -rf build")
    (store,) = sandbox.locations.data.glob("versions/*/copies.jsonl")
    whole = store.read_text()
    copy = json.loads(whole)
    wrong = ({"id": 5}, {"at": None}, {"modes": {"a": "b"}}, {"version": "--upload-pack=touch evil", "id": "--up"})
    lines = [*FORGED, *(json.dumps(copy | each) for each in wrong), whole]
    store.write_text("\n".join(lines), errors="surrogateescape")
    done = sandbox.command("restore")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1), done.stderr
    outside = sandbox.home / "victim"
    outside.mkdir()
    (sandbox.project / "build").symlink_to(outside)
    refused = sandbox.command("restore", copy["id"])
    assert (refused.returncode, refused.stderr) == (
        1,
        "ohw: these files have changed since: build; --force overwrites them\n",
    )
    replaced = sandbox.command("restore", copy["id"], "--force")
    assert (replaced.returncode, (sandbox.project / "build").is_symlink()) == (0, False), replaced.stderr
    assert not list(outside.iterdir())
    store.unlink()
    os.mkfifo(store)
    listed = sandbox.command("restore")
    assert (listed.returncode, copy["id"] in listed.stdout) == (0, False), listed.stderr
