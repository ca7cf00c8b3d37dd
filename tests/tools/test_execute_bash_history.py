"""The shell neither reads nor writes the user's history, however it ends, and its own holds none of our code."""

from pathlib import Path

import pytest

from tests.tools.shells import Bash

OLD = "export TOKEN=of-the-user"


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the history file of a home directory in which a user has typed a secret."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".bash_history").write_text(f"{OLD}\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("HISTFILE", str(home / ".bash_history"))
    return home / ".bash_history"


@pytest.mark.parametrize(
    "command", ["history", "fc -l -100", "history -r; history", "bash -i -c 'history'", "echo '!-1'"]
)
def test_commands_do_not_see_the_users_shell_history(tmp_path, history, command):
    bash = Bash(tmp_path)
    output = bash(command).output
    bash.tool.close()
    assert "TOKEN" not in output
    assert "ohw" not in output


@pytest.mark.parametrize("ending", ["exit", "history -a; history -w; true", "kill -HUP $$", "kill -9 $$", "true"])
def test_agents_commands_are_not_added_to_the_history(tmp_path, history, ending):
    before = history.stat().st_mtime_ns
    bash = Bash(tmp_path)
    bash("echo of-the-agent")
    bash(ending)
    bash.tool.close()
    assert (history.read_text(), history.stat().st_mtime_ns) == (f"{OLD}\n", before)
    assert [path.name for path in history.parent.iterdir()] == [".bash_history"]


@pytest.mark.parametrize("command", ["history", "fc -l -20; true", "fc -ln -1; true"])
def test_a_history_that_the_agent_switches_on_holds_none_of_our_code(tmp_path, history, command):
    bash = Bash(tmp_path)
    bash("set -o history")
    bash("echo of-the-agent")
    result = bash(command)
    bash.tool.close()
    assert "ohw" not in result.output
    assert "TOKEN" not in result.output
    assert result.exit_code == 0
