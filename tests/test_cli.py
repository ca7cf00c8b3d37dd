import os
import re
import shlex
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from tests.sandbox import Sandbox
from workbench import __version__
from workbench import cli as commands
from workbench.cli.arguments import parser_of, settings_with_flags
from workbench.cli.command_help import COMMANDS, SETTINGS_OF, SUBCOMMANDS
from workbench.cli.main import main
from workbench.config.locations import Locations
from workbench.protocol.events import RunEnded, SessionStarted, UserMessage
from workbench.session.session_names import new_id, session_path
from workbench.session.storage.store import Store


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Namespace]]:
    calls: list[tuple[str, Namespace]] = []
    monkeypatch.setattr("workbench.cli.main.function_of", lambda name: lambda args: calls.append((name, args)) or 0)
    return calls


def test_every_command_in_help_has_a_function(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["--help"])
    names = re.findall(r"^  ohw (\w+)", capsys.readouterr().out, re.MULTILINE)
    assert "export" in names
    assert all(callable(commands.function_of(name)) for name in ("", *names))


@pytest.mark.parametrize(
    ("words", "command", "prompt"),
    [
        ([], "", None),
        (["fix it"], "", "fix it"),
        (["--model", "run", "fix it"], "", "fix it"),
        (["--", "demo"], "", "demo"),
        (["demo"], "demo", None),
        (["run", "fix it"], "run", "fix it"),
        (["--mode", "ask", "run", "fix it"], "run", "fix it"),
        (["run", "-"], "run", "-"),
        (["run", "--", "demo"], "run", "demo"),
    ],
)
def test_first_plain_word_is_the_command(called: list, words: list[str], command: str, prompt: str | None):
    assert main(words) == 0
    ((name, arguments),) = called
    assert name == command
    assert getattr(arguments, "prompt", None) == prompt


def test_all_settings_are_read_for_a_run(called: list):
    options = [
        "--model",
        "m",
        "--api-base",
        "u",
        "--theme",
        "t",
        "--workspace",
        "w",
        "--mode",
        "ask",
        "--max-steps",
        "3",
        "--token-limit",
        "5000",
        "--max-observe",
        "900",
        "--tool-choice",
        "none",
    ]
    main(["run", "x", *options])
    arguments = called[0][1]
    assert [arguments.model, arguments.api_base, arguments.theme] == ["m", "u", "t"]
    assert [arguments.workspace, arguments.mode, arguments.max_steps] == ["w", "ask", "3"]
    assert [arguments.token_limit, arguments.max_observe, arguments.tool_choice] == ["5000", "900", "none"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [("sesions", "sessions"), ("resme", "resume"), ("Demo", "demo"), ("exprot", "export"), ("rule", "rules")],
)
def test_misspelled_command_is_not_sent_as_a_message(
    called: list, capsys: pytest.CaptureFixture[str], word: str, meant: str
):
    assert main([word]) == 2
    assert f"Did you mean `ohw {meant}`? To send it as a message: `ohw -- {word}`" in capsys.readouterr().err
    assert called == []


@pytest.mark.parametrize("words", [["--", "sesions"], ["sesions please"], ["hello"], ["test"], ["fix"], ["run", "rns"]])
def test_any_other_message_is_sent(called: list, words: list[str]):
    assert main(words) == 0
    assert called[0][1].prompt == words[-1]


@pytest.mark.parametrize("words", [["--nonsense"], ["run"], ["two", "words"], ["--model"], ["run", "a", "\x1b[31m"]])
def test_invalid_command_line_is_one_visible_line_and_code_2(words: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(words) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("ohw: ")
    assert errors.count("\n") == 1
    assert "--help" in errors
    assert "\x1b" not in errors


def test_version_and_help_import_nothing_heavy():
    check = (
        "import sys; from workbench.cli.main import main\n"
        "try: print(main([sys.argv[1]]))\n"
        "except SystemExit as end: print(end.code)\n"
        "print([name for name in ('textual', 'pydantic', 'litellm', 'rich', 'typing') if name in sys.modules])"
    )
    for option, errors in (("--version", f"ohw {__version__}"), ("--help", "ohw resume")):
        done = subprocess.run([sys.executable, "-S", "-c", check, option], **_captured(), check=True)
        assert errors in done.stdout
        assert done.stdout.splitlines()[-2:] == ["0", "[]"]


def _captured() -> dict:
    return {"capture_output": True, "text": True, "cwd": Path(__file__).parents[1]}


def test_locate_and_tools_print_paths_and_tools(tmp_path: Path, monkeypatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert main(["locate"]) == 0
    assert str(tmp_path / ".local/share/ohw/sessions") in capsys.readouterr().out
    assert main(["tools", "--json", "--workspace", str(tmp_path)]) == 0
    assert '"execute_bash"' in capsys.readouterr().out
    assert main(["sessions"]) == 0
    assert "No sessions yet" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("columns", "headings"),
    [
        (50, "id"),
        (80, "id, state, title"),
        (100, "id, last used, state, title"),
        (160, "id, last used, state, cost, events, directory, title"),
    ],
)
def test_session_list_fits_the_terminal_and_never_cuts_an_id(
    tmp_path: Path, monkeypatch, capsys: pytest.CaptureFixture[str], columns: int, headings: str
):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    where = Locations.from_environment()
    where.sessions.mkdir(parents=True)
    prompt = "Fix the parser of numbers please " * 5
    session_id = new_id(prompt)
    with Store.create(session_path(where, session_id)) as store:
        store.append(SessionStarted(id=session_id, workspace="/home/me/" + "long/" * 20, model="m", mode="medium"))
        store.append(UserMessage(text=prompt), RunEnded(reason="finished"))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for name, value in {"COLUMNS": str(columns), "NO_COLOR": "1", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    assert main(["sessions"]) == 0
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in capsys.readouterr().out.splitlines()]
    assert max(map(len, lines)) <= columns
    assert ", ".join(re.split(r"\s{2,}", lines[1].strip())) == headings
    assert lines[3].split()[0] == session_id
    assert ("done" in lines[3]) == ("state" in headings)


@pytest.mark.parametrize("command", [[], ["demo"], ["resume"]])
@pytest.mark.parametrize("piped", ["stdin", "stdout", "stderr"])
def test_screen_requires_a_terminal_for_input_and_output(tmp_path: Path, command: list[str], piped: str):
    ours, terminal = os.openpty()
    ends = {"stdin": terminal, "stdout": terminal, "stderr": terminal, piped: subprocess.PIPE}
    home = {**os.environ, "HOME": str(tmp_path), "TERM": "xterm", "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-m", "workbench.cli.main", *command], env=home, cwd=tmp_path, check=False, **ends
    )
    os.close(terminal)
    output = (done.stderr or os.read(ours, 4096)).decode()
    os.close(ours)
    assert done.returncode == 2
    assert "not a terminal" in output
    assert output.count("\n") == 1


def test_resume_without_a_terminal_reports_that(capsys: pytest.CaptureFixture[str]):
    assert main(["resume", "--last"]) == 2
    assert "not a terminal" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        *(["run", "hello"], ["export"], ["tools"], ["mcp", "list"], ["risk", "ls"], ["rules"], ["decisions"]),
        *(["trust", "revoke", "."], ["restore"], ["sessions", "repair"], ["rules", "try", "deny $ rm *"]),
        ["worktree"],
    ],
    ids=" ".join,
)
@pytest.mark.starts
def test_commands_in_a_deleted_directory_say_so_in_one_line(sandbox: Sandbox, words: list[str]):
    sandbox.project.rmdir()
    gone = f"mkdir {sandbox.project} && cd {sandbox.project} && rmdir {sandbox.project} && exec "
    command = f"{gone} {shlex.quote(sys.executable)} -m workbench {shlex.join(words)}"
    done = subprocess.run(
        ["bash", "-c", command], env=sandbox.env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert done.stderr == (
        "ohw: the current directory cannot be used (No such file or directory); change to another one\n"
    )


@pytest.mark.parametrize(
    ("command", "listed"),
    [
        ("run", {"--max-steps", "--mode", "--theme"}),
        ("export", {"--theme"}),
        ("sessions", {"--mode"}),
        ("blame", set()),
    ],
)
def test_help_of_a_command_lists_the_settings_that_it_uses(command: str, listed: set[str]):
    text = parser_of(command).format_help()
    assert {flag for flag in ("--max-steps", "--mode", "--theme") if flag in text} == listed
    assert "--workspace" in text


def test_commands_and_settings_of_the_help_exist():
    assert SETTINGS_OF.keys() <= COMMANDS.keys() | SUBCOMMANDS.keys()
    assert {flag for flags in SETTINGS_OF.values() for flag in flags} <= {each.flag for each in settings_with_flags()}
