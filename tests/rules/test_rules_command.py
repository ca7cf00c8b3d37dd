"""`ohw rules` and `ohw rules test`."""

import json
from pathlib import Path

import pytest

from workbench.cli.main import main


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    file = tmp_path / "config/ohw/rules.toml"
    file.parent.mkdir(parents=True)
    return file


def test_rules_are_listed_with_their_origin(rules, capsys):
    assert main(["rules"]) == 0
    assert f"Write some to {rules}" in capsys.readouterr().out
    rules.write_text(
        f'[[allow]]\ncommand = "pytest *"\n[[deny]]\npath = "keys"\nfolder = {json.dumps(str(Path.cwd()))}\n'
    )
    assert main(["rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"allow $ pytest *  {rules}", f"deny in keys      {rules}, in {Path.cwd()}"]


def test_file_with_errors_is_reported_and_sets_the_exit_code(rules, capsys):
    rules.write_text('[[allow]]\ncomand = "pytest"\n')
    assert main(["rules"]) == 1
    out, errors = capsys.readouterr()
    assert (out, errors.count("\n")) == ("", 1)
    assert f"{rules}: rule 1 (allow): there is no key 'comand' (did you mean 'command'?)" in errors


def test_rules_of_an_untrusted_directory_are_listed_and_ignored(rules, capsys):
    (Path.cwd() / ".ohw").mkdir()
    (Path.cwd() / ".ohw/rules.toml").write_text('[[deny]]\ncommand = "make"\n')
    assert main(["rules", "test", "make"]) == 0
    assert "is asked about" in capsys.readouterr().out
    main(["rules"])
    assert "the directory is not trusted" in capsys.readouterr().out
    (rules.parent / "settings.toml").write_text(f"trusted = [{json.dumps(str(Path.cwd()))}]\n")
    assert main(["rules", "test", "make"]) == 0
    assert "is denied" in capsys.readouterr().out


def test_rules_test_tries_commands_without_running_them(rules, capsys, tmp_path):
    rules.write_text('[[allow]]\ncommand = "touch *"\n[[deny]]\ncommand = "git push *"\n')
    assert main(["rules", "test", "touch made", "git push", "rm -rf ~", "ls"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("    ") or " by " in line]
    assert lines[0].split()[:2] == ["runs", "MEDIUM"]
    assert lines[1].strip() == "by rule allow $ touch *"
    assert lines[2].startswith("is denied")
    assert lines[4].startswith("is asked about  HIGH")
    assert lines[5].strip() == 'by mode "Ask (medium+)"'
    assert lines[6].split()[:2] == ["runs", "LOW"]
    assert not (Path.cwd() / "made").exists()


def test_rules_command_refuses_an_unknown_action(rules, capsys):
    assert main(["rules", "tst"]) == 2
    assert "choose from" in capsys.readouterr().err


def test_rules_test_tries_a_tool_call_on_a_path(rules, capsys):
    rules.write_text('[[deny]]\npath = "secrets/"\n')
    assert main(["rules", "test", "--path", "secrets/key"]) == 0
    assert capsys.readouterr().out.startswith("is denied")
    assert main(["rules", "test", "--tool", "grep"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("is asked about")
    assert "may reach what `deny in secrets/` names" in out
    assert main(["rules", "test", "--tool", "grep", "--path", "src"]) == 0
    assert capsys.readouterr().out.split()[:2] == ["runs", "LOW"]
    assert main(["rules", "test", "--tool", "gerp"]) == 2
    assert "did you mean 'grep'?" in capsys.readouterr().err


def test_misspelled_tool_is_reported_beside_the_list(rules, capsys):
    rules.write_text('[[deny]]\ntool = "gerp"\n')
    assert main(["rules"]) == 1
    assert "there is no tool named 'gerp' (did you mean 'grep'?)" in capsys.readouterr().err
