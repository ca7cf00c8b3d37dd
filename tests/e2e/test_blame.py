"""`ohw blame` says who wrote each line of a file, whatever the user, a shell or git did to it since."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema

from tests.e2e.test_replay import git
from tests.sandbox import Sandbox, bash, finish

HEAD = ["# shop: prices and their taxes", "import decimal"]
GROSS = ["def gross(price, rate):", "    return price * (1 + rate)"]
LABEL = ["def label(name, price):", "    return f'{name}: {price}'"]
SHELL = ["COUNTRIES = ['at', 'de', 'fr']", "CURRENCIES = ['eur', 'usd']"]
OURS = ["def mine(amount):", "    return decimal.Decimal(amount)"]


def text(*parts: list[str]) -> str:
    return "".join(f"{line}\n" for part in parts for line in part)


def edit(sandbox: Sandbox, command: str, **arguments: str) -> dict[str, Any]:
    path = str(sandbox.project / arguments.pop("name", "shop.py"))
    return {
        "tool": "str_replace_editor",
        "risk": "LOW",
        "summary": f"{command} it",
        "arguments": {"command": command, "path": path, **arguments},
    }


def run(sandbox: Sandbox, prompt: str, *turns, model: str = "one") -> str:
    """Let an agent with this model play these turns; return the id of its session."""
    script = sandbox.script(*turns, finish()).removeprefix("scripted/")
    own = sandbox.home / f"{model}.toml"
    own.write_text((sandbox.home / "script.toml").read_text())
    assert script
    done = sandbox.agent("run", prompt, "--json", "--mode", "never", "--model", f"scripted/{own}")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[0])["id"]


def blame(sandbox: Sandbox, file: str = "shop.py") -> dict[str, Any]:
    done = sandbox.command("blame", file, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def by_line(sandbox: Sandbox, file: str = "shop.py") -> list[tuple[str, str]]:
    """Each line with its writer: the user's prompt for an action, else who it was."""
    data = blame(sandbox, file)
    writers = data["writers"]
    return [(line["text"], _named(writers[line["writer"]])) for line in data["lines"]]


def _named(writer: dict[str, Any]) -> str:
    if writer["by"] != "agent":
        return writer["by"]
    return f"{writer['prompt']} / {writer['model'].rpartition('/')[2].removesuffix('.toml')}"


def owned(who: str, *parts: list[str]) -> list[tuple[str, str]]:
    return [(line, who) for part in parts for line in part]


def test_file_of_two_models_the_user_and_a_shell_command_with_a_rebase_in_between(sandbox: Sandbox):
    shop = sandbox.project / "shop.py"
    git(sandbox, "init", "-qb", "main")
    shop.write_text(text(HEAD))
    git(sandbox, "add", "-A")
    git(sandbox, "commit", "-qm", "head")
    run(
        sandbox,
        "Write gross",
        edit(sandbox, "insert", insert_line=2, new_str=text(GROSS)),
        bash(f'printf \'%s\\n\' "{SHELL[0]}" "{SHELL[1]}" >> shop.py'),
    )
    shop.write_text(text(HEAD, GROSS, OURS, SHELL))
    git(sandbox, "switch", "-qc", "topic")
    git(sandbox, "commit", "-qam", "topic")
    second = run(sandbox, "Write label", edit(sandbox, "insert", insert_line=4, new_str=text(LABEL)), model="two")
    git(sandbox, "commit", "-qam", "label")
    git(sandbox, "switch", "-q", "main")
    shop.write_text(text(["#!/usr/bin/env python3 -- from upstream"], HEAD))
    git(sandbox, "commit", "-qam", "upstream")
    git(sandbox, "rebase", "-q", "main", "topic")
    assert by_line(sandbox) == [
        *owned("user", ["#!/usr/bin/env python3 -- from upstream"]),
        *owned("before", HEAD),
        *owned("Write gross / one", GROSS),
        *owned("Write label / two", LABEL),
        *owned("user", OURS),
        *owned("Write gross / one", SHELL),
    ]
    git(sandbox, "mv", "shop.py", "store.py")
    run(sandbox, "Look around", bash("git commit -qam moved; ls"))
    moved = by_line(sandbox, "store.py")
    assert moved[3:5] == owned("Write gross / one", GROSS), "a file that was renamed outside of a session"
    shop = sandbox.project / "store.py"
    shop.write_text(shop.read_text().replace("1 + rate", "1 + rate / 100"))
    changed = by_line(sandbox, "store.py")
    assert changed[4] == ("    return price * (1 + rate / 100)", "user")
    assert [line for line in changed if line not in moved] == [changed[4]]
    label = next(each for each in blame(sandbox, "store.py")["writers"] if each["prompt"] == "Write label")
    assert (label["session"], label["approved"]) == (second, 'by mode "Don\'t ask"')


SCHEMA = json.loads(Path(__file__).with_name("agent_trace_schema.json").read_text())


def trace(sandbox: Sandbox, file: str) -> dict[str, Any]:
    done = sandbox.command("blame", file, "--format", "agent-trace")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(record)
    return record


def test_agent_trace_record_has_the_ranges_of_each_contributor_at_the_commit(sandbox: Sandbox):
    git(sandbox, "init", "-qb", "main")
    (sandbox.project / "src").mkdir()
    shop = sandbox.project / "src/shop.py"
    shop.write_text(text(HEAD))
    git(sandbox, "add", "-A")
    git(sandbox, "commit", "-qm", "head")
    session = run(sandbox, "Write", edit(sandbox, "insert", name="src/shop.py", insert_line=1, new_str=text(GROSS)))
    shop.write_text(shop.read_text() + text(OURS))
    git(sandbox, "commit", "-qam", "all")
    record = trace(sandbox, "src/shop.py")
    assert record["vcs"] == {"type": "git", "revision": git(sandbox, "rev-parse", "HEAD").strip()}
    (file,) = record["files"]
    assert file["path"] == "src/shop.py"
    by_type = {each["contributor"]["type"]: each for each in file["conversations"]}
    spans = {kind: [(one["start_line"], one["end_line"]) for one in each["ranges"]] for kind, each in by_type.items()}
    assert spans == {"unknown": [(1, 1), (4, 4)], "ai": [(2, 3)], "human": [(5, 6)]}
    assert by_type["ai"]["url"] == f"ohw://session/{session}"
    assert by_type["ai"]["contributor"]["model_id"].endswith("one.toml")
    digest = hashlib.sha256(text(GROSS).encode()).hexdigest()
    assert by_type["ai"]["ranges"][0]["content_hash"] == f"sha256:{digest}"
    shop.write_text("changed\n")
    assert trace(sandbox, "src/shop.py")["metadata"] == {"ohw": {"uncommitted": True}}
    run(sandbox, "Write", edit(sandbox, "create", name="src/new.py", file_text=text(GROSS)))
    assert trace(sandbox, "src/new.py")["metadata"] == {"ohw": {"uncommitted": True}}, "not in git yet"


def test_agent_trace_record_of_a_directory_that_is_no_repository_names_no_revision(sandbox: Sandbox):
    run(sandbox, "Write", edit(sandbox, "create", file_text=text(GROSS)))
    assert "vcs" not in trace(sandbox, "shop.py")


def refused(sandbox: Sandbox, *words: str) -> str:
    done = sandbox.command("blame", *words)
    assert (done.returncode, done.stdout) == (2, ""), done.stdout
    return done.stderr.removeprefix("ohw: ").strip()


def test_files_without_lines_to_blame_are_refused_with_the_reason(sandbox: Sandbox):
    (sandbox.project / "a.txt").write_text("one\n")
    assert refused(sandbox, "a.txt").startswith("no session has worked in ")
    run(sandbox, "go", edit(sandbox, "create", file_text=text(GROSS)))
    (sandbox.project / "blob.bin").write_bytes(bytes(range(256)))
    (sandbox.project / "huge.txt").write_text("line\n" * 1_200_000)
    (sandbox.project / "link").symlink_to("/etc/hostname")
    assert refused(sandbox, "blob.bin") == "blob.bin is not text, so it has no lines to blame"
    assert refused(sandbox, "huge.txt") == "huge.txt is larger than 5 MB; the file versions omit such files"
    assert refused(sandbox, "gone.txt").startswith("there is no file gone.txt in ")
    assert refused(sandbox, "~$doc.txt").startswith("there is no file ~$doc.txt in ")
    assert refused(sandbox, ".").endswith(". is a directory; name a file in it")
    assert refused(sandbox, "") == "name a file of the workspace"
    assert "is outside" in refused(sandbox, "../secret.txt")
    assert "is outside" in refused(sandbox, "link")
    assert refused(sandbox, "shop.py:2-9") == "shop.py has 2 lines; there is no range 2-9"
    assert refused(sandbox, "shop.py:0") == "shop.py has 2 lines; there is no range 0"
    assert refused(sandbox, "shop.py:2-1") == "shop.py has 2 lines; there is no range 2-1"


def test_range_and_empty_file_are_blamed(sandbox: Sandbox):
    run(sandbox, "go", edit(sandbox, "create", file_text=text(GROSS, LABEL)), bash("touch empty.txt 'a:3'"))
    data = json.loads(sandbox.command("blame", "shop.py:2-3", "--format", "json").stdout)
    assert [line["line"] for line in data["lines"]] == [2, 3]
    assert blame(sandbox, "empty.txt")["lines"] == blame(sandbox, "a:3")["lines"] == []
    assert sandbox.command("blame", "empty.txt").returncode == 0


def test_ignored_file_has_the_agents_edits_and_the_rest_is_not_traced(sandbox: Sandbox):
    git(sandbox, "init", "-q")
    (sandbox.project / ".gitignore").write_text("*.log\n")
    (sandbox.project / "other.log").write_text("something\n")
    run(
        sandbox,
        "go",
        edit(sandbox, "create", name="a.log", file_text=text(GROSS)),
        bash(f'echo "{SHELL[0]}" >> a.log'),
    )
    assert refused(sandbox, "other.log").startswith("other.log is ignored by git")
    assert by_line(sandbox, "a.log") == [*owned("go / one", GROSS), *owned("unknown", SHELL[:1])]
    assert "git ignores this file" in sandbox.command("blame", "a.log").stdout


def test_lines_of_pruned_versions_and_damaged_sessions_are_called_not_traced(sandbox: Sandbox):
    shop = sandbox.project / "shop.py"
    shop.write_text(text(HEAD))
    first = run(sandbox, "first", edit(sandbox, "insert", insert_line=2, new_str=text(GROSS)))
    shop.write_text(shop.read_text() + text(OURS))
    run(sandbox, "second", edit(sandbox, "insert", insert_line=4, new_str=text(LABEL)))
    whole = by_line(sandbox)
    assert [who for _, who in whole] == ["before"] * 2 + ["first / one"] * 2 + ["second / one"] * 2 + ["user"] * 2
    shutil.rmtree(sandbox.locations.data / "versions")
    assert by_line(sandbox) == whole, "the logs have the lines too"
    file = sandbox.locations.sessions / f"{first}.session"
    raw = file.read_bytes()
    file.write_bytes(raw[: len(raw) // 2])
    done = sandbox.command("blame", "shop.py")
    assert done.returncode == 0
    assert f"the session {first} cannot be read" in done.stderr, done.stderr
    assert by_line(sandbox)[4:6] == owned("second / one", LABEL)
    file.unlink()
    assert {who for _, who in by_line(sandbox)} == {"before", "second / one"}


def test_blob_that_is_gone_is_not_traced(sandbox: Sandbox):
    """Texts over the limit of a log are in the file versions alone."""
    big = sandbox.project / "big.txt"
    big.write_text("".join(f"line number {number:06} of a big file\n" for number in range(12_000)))
    run(
        sandbox, "go", bash("echo 'the first line that was added' >> big.txt"), bash("echo 'and the second' >> big.txt")
    )
    tail = by_line(sandbox, "big.txt")[-3:]
    assert [who for _, who in tail] == ["before", "go / one", "go / one"]
    for path in (sandbox.locations.data / "versions").glob("*/objects/*/*"):
        path.unlink()
    data = blame(sandbox, "big.txt")
    assert {writer["by"] for writer in data["writers"]} == {"unknown"}
    assert "pruned" in data["writers"][0]["reason"]
