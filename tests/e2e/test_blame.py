"""`ohw blame` says who wrote each line of a file, whatever the user, a shell or git did to it since."""

from __future__ import annotations

import json
from typing import Any

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
    done = sandbox.ohw("run", prompt, "--json", "--mode", "never", "--model", f"scripted/{own}")
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
