"""Trust can be seen and revoked: in the settings that named a directory, with `ohw trust`, and permanently."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.sandbox import Sandbox, finish
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.tools.trust import (
    AGENTS,
    COMMANDS,
    SERVERS,
    TOOLS,
    agree,
    agreed,
    agreements,
    brought,
    fingerprint,
    is_trusted,
    refreshed,
    revoke,
)
from workbench.tools.trust import RULES as RULES_FILE
from workbench.tui.settings.settings_model import SettingsModel
from workbench.view.approval.trust_list import trust_rows

RULES = '[[deny]]\ncommand = "git push *"\n'


@pytest.fixture
def where(tmp_path: Path) -> Locations:
    return Locations.from_environment({"HOME": str(tmp_path / "home")})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project/.ohw").mkdir(parents=True)
    (tmp_path / "project/.ohw/rules.toml").write_text(RULES)
    return tmp_path / "project"


def test_directory_removed_from_the_settings_is_no_longer_trusted(where, project):
    named = [str(project)]
    assert is_trusted(project, agreed(where, named))
    assert not is_trusted(project, agreed(where, []))
    assert [standing for _, standing in agreements(where, [])] == ["not in settings"]
    assert is_trusted(project, agreed(where, named)), "named again with the same files"
    (project / ".ohw/rules.toml").write_text("")
    agreed(where, [])
    assert not is_trusted(project, agreed(where, named)), "named again with others, which are asked about"


def test_answer_about_a_named_directory_ends_with_its_entry(where, project):
    named = [str(project)]
    agreed(where, named)
    (project / ".ohw/rules.toml").write_text("")
    agree(where, project, fingerprint(project), named)
    assert is_trusted(project, agreed(where, named))
    assert not is_trusted(project, agreed(where, []))


def test_users_answer_needs_no_settings(where, project):
    agree(where, project, fingerprint(project))
    assert is_trusted(project, agreed(where))
    assert is_trusted(project, agreed(where, [str(project)]))
    assert is_trusted(project, agreed(where, []))


@pytest.mark.parametrize("is_named", [True, False], ids=["named", "asked"])
def test_revoked_trust_stays_revoked_until_the_user_agrees_again(where, project, is_named):
    named = [str(project)] if is_named else []
    agreed(where, named)
    agree(where, project, fingerprint(project), named)
    revoke(where, [str(project)], named)
    for later in (named, [], named):
        assert not is_trusted(project, agreed(where, later))
    agree(where, project, fingerprint(project), named)
    assert is_trusted(project, agreed(where, named))


OLD = {
    "content alone": lambda content: content,
    "no date": lambda content: {"content": content, "by": "user"},
    "no origin": lambda content: {"content": content},
}


@pytest.mark.parametrize("stored", OLD.values(), ids=OLD)
def test_agreements_of_unknown_origin_count_only_while_the_settings_name_the_directory(where, project, stored):
    where.data.mkdir(parents=True)
    (where.data / "trusted.json").write_text(json.dumps({str(project): stored(fingerprint(project))}))
    named = [str(project)]
    assert not is_trusted(project, agreed(where, []))
    assert [standing for _, standing in agreements(where, [])] == ["not in settings"]
    assert is_trusted(project, agreed(where, named))
    assert not is_trusted(project, agreed(where, []))
    agree(where, project, fingerprint(project))
    assert is_trusted(project, agreed(where, []))


def test_agreements_of_unknown_origin_do_not_cover_other_files(where, project):
    where.data.mkdir(parents=True)
    (where.data / "trusted.json").write_text(json.dumps({str(project): fingerprint(project)}))
    (project / ".ohw/rules.toml").write_text("")
    assert not is_trusted(project, agreed(where, [str(project)]))


def test_trust_revoked_elsewhere_is_removed_from_a_running_screen(where, project):
    agree(where, project, fingerprint(project))
    trusted = refreshed(where, ())
    assert is_trusted(project, trusted)
    revoke(where, [str(project)])
    assert not is_trusted(project, refreshed(where, trusted))


def test_removing_a_directory_on_the_settings_screen_revokes_it_at_once(where, project):
    where.config.mkdir(parents=True)
    where.settings_file.write_text(f'trusted = ["{project}"]\n')
    settings = Settings(trusted=refreshed(where, [str(project)]))
    model = SettingsModel(where, settings, {})
    assert is_trusted(project, model.settings.trusted)
    model.write({("trusted",): []})
    assert not is_trusted(project, model.settings.trusted)


@pytest.mark.parametrize(
    ("files", "brings"),
    [
        ([".agents/agents/tester.md"], ("rules", "1 sub-agent")),
        ([".agents/agents/tester.md", ".ohw/agents/writer.md"], ("rules", "2 sub-agents")),
        ([".ohw/tools/greet.py", ".mcp.json"], ("1 file of tools", "rules", "MCP servers")),
        ([".ohw/tools/greet.py", ".ohw/agents/writer.md"], ("1 file of tools", "rules", "1 sub-agent")),
        ([".ohw/commands/a.md"], ("rules", "1 command")),
        ([".claude/commands/a/b.md", ".agents/commands/c.md"], ("rules", "2 commands")),
        ([], ("rules",)),
    ],
    ids=["agent", "agents", "tools", "both", "command", "commands", "rules"],
)
def test_row_counts_what_the_directory_brings(where, project, files, brings):
    for name in files:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("")
    agree(where, project, fingerprint(project))
    (row,) = trust_rows(where, ())
    assert (row.standing, row.brings) == ("trusted", brings)


@pytest.mark.parametrize(
    "name", [TOOLS + "/a.py", RULES_FILE, SERVERS, *(f"{each}/a.md" for each in (*AGENTS, *COMMANDS))]
)
def test_no_file_that_trust_is_about_is_left_out_of_the_row(where, tmp_path, name):
    directory = tmp_path / "alone"
    (directory / name).parent.mkdir(parents=True)
    (directory / name).write_text("")
    assert [path.relative_to(directory).as_posix() for path in brought(directory)] == [name]
    agree(where, directory, fingerprint(directory))
    (row,) = trust_rows(where, ())
    assert len(row.brings) == 1
    assert "no files" not in row.about


@pytest.mark.parametrize("is_revoked", [False, True], ids=["trusted", "revoked"])
def test_named_directory_that_does_not_exist_is_listed_and_can_be_revoked(where, tmp_path, is_revoked):
    directory = tmp_path / "later"
    named = [str(directory)]
    (row,) = trust_rows(where, named)
    assert (row.path, row.standing, row.is_used) == (str(directory), "not there yet", False)
    assert row.about == "no files · named in your settings"
    if is_revoked:
        revoke(where, [row.path], named)
    (directory / ".ohw").mkdir(parents=True)
    (directory / ".ohw/rules.toml").write_text(RULES)
    assert is_trusted(directory, agreed(where, named)) is not is_revoked
    (row,) = trust_rows(where, named)
    assert row.standing == ("revoked" if is_revoked else "trusted")
    assert ("rules · revoked by you on 2" in row.about) is is_revoked


def test_names_in_the_settings_that_are_no_directories_are_not_trusted(where, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "circle").symlink_to("circle")
    named = [str(tmp_path / "file"), str(tmp_path / "circle"), "relative", "~nobody-of-this-name/x", "a\0b"]
    assert agreed(where, named) == ()
    assert not any(row.is_used for row in trust_rows(where, named))


def test_command_lists_and_revokes(sandbox: Sandbox):
    rules, named = sandbox.project / ".ohw/rules.toml", sandbox.home / "named\x1b[31m"
    rules.parent.mkdir()
    rules.write_text(RULES)
    (named / ".ohw/tools").mkdir(parents=True)
    (named / ".ohw/tools/greet.py").write_text("")
    settings_file = sandbox.locations.settings_file
    settings_file.parent.mkdir(parents=True, exist_ok=True)
    settings_file.write_text(f"trusted = [{json.dumps(str(named))}]\n")
    assert "No longer trusted" not in sandbox.command("trust").stdout
    agree(sandbox.locations, sandbox.project, fingerprint(sandbox.project))
    page = sandbox.command("trust", "list").stdout
    assert "\x1b" not in page
    assert f"● {sandbox.project}  trusted\n    rules · agreed by you on 2" in page
    assert "1 file of tools · agreed by your settings" in page
    entries = [json.loads(line) for line in sandbox.command("trust", "--json").stdout.splitlines()]
    assert {entry["path"]: entry["state"] for entry in entries} == {
        str(named): "trusted",
        str(sandbox.project): "trusted",
    }
    done = sandbox.command("trust", "revoke", str(sandbox.home / "never"))
    assert (done.returncode, "is not trusted; `ohw trust` lists" in done.stderr) == (2, True)
    assert "`ohw trust revoke PATH`" in sandbox.command("trust", "revoke").stderr
    done = sandbox.ohw("trust", "revoke", ".", str(named))
    assert f"No longer trusted: {sandbox.project}\n" in done.stdout
    assert f"Still named under `trusted` in {settings_file}: 1." in done.stdout
    sandbox.env["OHW_MODEL"] = sandbox.script(finish())
    assert "the rules in" in sandbox.agent("run", "go").stderr
    (row,) = (json.loads(line) for line in sandbox.command("trust", "--json").stdout.splitlines())
    assert (row["path"], row["state"]) == (str(named), "revoked")
    settings_file.write_text("")
    sandbox.command("trust", "revoke", "--all")
    assert sandbox.command("trust").stdout.startswith("No directory is trusted.")


@pytest.mark.parametrize("words", [("--all",), ("list", "--all"), ("list", "."), ("list", ".", "--json")], ids=" ".join)
def test_listing_with_what_only_revokes_is_refused_and_revokes_nothing(sandbox: Sandbox, words):
    (sandbox.project / ".ohw").mkdir()
    (sandbox.project / ".ohw/rules.toml").write_text(RULES)
    agree(sandbox.locations, sandbox.project, fingerprint(sandbox.project))
    done = sandbox.command("trust", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "`ohw trust revoke --all`" in done.stderr
    assert is_trusted(sandbox.project, agreed(sandbox.locations))
