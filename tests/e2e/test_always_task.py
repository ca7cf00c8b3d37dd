"""An edit-and-test task of 25 actions, with a model over HTTP and a real bash: with sensible choices four questions."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.test_engine import ID, log
from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Turn, bash, finish
from tests.sandbox import Sandbox
from workbench.client.engine_connection import EngineConnection
from workbench.config.settings import Settings
from workbench.engine.launch import Launch
from workbench.protocol.commands import AllowAlways, Command, Decide, SendMessage
from workbench.protocol.events import ActionAssessed, ActionDecided, ActionObserved, RunEnded

PRICING = """\
TAX = {"de": 0.19}


def gross(price, country):
    return round(price * (1 + TAX[country]), 2)
"""
TESTS = """\
import unittest

from src.pricing import gross


class Pricing(unittest.TestCase):
    def test_known(self):
        self.assertEqual(gross(100, "de"), 119)

    def test_unknown(self):
        with self.assertRaises(ValueError):
            gross(100, "xx")
"""
REPORT = "import sys\n\nprint('report', *sys.argv[1:])\n"


def project(sandbox: Sandbox) -> None:
    root = sandbox.project
    (sandbox.home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    for name, text in {
        "src/__init__.py": "",
        "src/pricing.py": PRICING,
        "tests/__init__.py": "",
        "tests/test_pricing.py": TESTS,
        "tools/report.py": REPORT,
        ".gitignore": "__pycache__/\n",
    }.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run(["git", *arguments], cwd=root, env=sandbox.env, check=True)


def turns(root: str) -> list[Turn]:
    """Return 25 answers with one action each, as agents write them, and the last."""

    def edit(path: str, command: str = "str_replace", **arguments: Any) -> Turn:
        fields = {"security_risk": "LOW", "summary": f"Edit {path}", "command": command, "path": f"{root}/{path}"}
        return Turn(calls=(Called("str_replace_editor", {**fields, **arguments}),))

    unknown = "    if country not in TAX:\n        raise ValueError(country)\n"
    return [
        bash("ls -la"),
        bash("cat src/pricing.py"),
        edit("tests/test_pricing.py", "view"),
        bash("git status --short"),
        bash(f"cd {root} && python3 -m unittest discover -s tests -t . 2>&1 | tail -20"),
        edit("src/pricing.py", old_str="    return round", new_str=f"{unknown}    return round"),
        bash(f"cd {root} && python3 -m unittest discover -s tests -t . 2>&1 | tail -20"),
        edit("tests/test_pricing.py", old_str='gross(100, "de"), 119', new_str='gross(200, "de"), 238'),
        bash("python3 -m unittest tests.test_pricing -v"),
        edit("src/table.py", "create", file_text="def row(name, price):\n    return f'{name}: {price}'\n"),
        edit("tests/test_table.py", "create", file_text="from src.table import row\n\nassert row('a', 1) == 'a: 1'\n"),
        bash("python3 -m unittest discover -s tests -t . -v > out.txt 2>&1"),
        bash("tail -3 out.txt"),
        bash("grep -rn TAX src | head"),
        bash("python3 tools/report.py"),
        edit("tools/report.py", old_str="'report'", new_str="'report of', 1"),
        bash("python3 tools/report.py --short"),
        bash("cat > NOTES.md <<'EOF'\n# Notes\nUnknown countries raise ValueError.\nEOF"),
        bash("git diff --stat"),
        bash("python3 -m unittest tests.test_pricing 2>&1 | tee log.txt"),
        bash(f'cd {root} && git add -A && git commit -q -m "Raise ValueError for unknown countries"'),
        edit("src/table.py", old_str="{name}: {price}", new_str="{name} {price}"),
        bash("sed -n 1,5p src/table.py"),
        bash("git add src && git commit -qm 'Drop the colon'"),
        bash("git log --oneline"),
        finish("Unknown countries raise ValueError."),
    ]


def broadest(question: ActionAssessed) -> Command:
    rule = question.always_choices[-1].text
    return AllowAlways(action_id=question.action_id, fingerprint=question.fingerprint, rule=rule)


def once(question: ActionAssessed) -> Command:
    return Decide(action_id=question.action_id, verdict="approved", fingerprint=question.fingerprint)


def played(sandbox: Sandbox, answer: Callable[[ActionAssessed], Command]) -> list[ActionAssessed]:
    """Play the task and return the questions, each answered when it comes."""
    questions: list[ActionAssessed] = []
    with ModelServer(turns(str(sandbox.project))) as server:
        settings = Settings(model="openai/scripted", api_base=server.base_url, sandbox="off")
        launch = Launch(sandbox.locations, settings, ID, str(sandbox.project), is_new=True)
        connection = EngineConnection.open(launch)
        connection.send_command(SendMessage(text="Fix unknown countries."))
        is_over = False
        while not is_over:
            for message in connection.receive():
                is_over = is_over or isinstance(message, RunEnded)
                if isinstance(message, ActionAssessed) and message.needs_decision:
                    questions.append(message)
                    connection.send_command(answer(message))
        connection.close()
    return questions


@pytest.mark.parametrize(("answer", "least", "most"), [(broadest, 1, 4), (once, 12, 16)], ids=["always", "each time"])
def test_task_with_25_actions_asks_at_most_four_times(
    local_sandbox: Sandbox, answer: Callable[[ActionAssessed], Command], least: int, most: int
):
    project(local_sandbox)
    questions = played(local_sandbox, answer)
    assert least <= len(questions) <= most, [question.always_choices for question in questions]
    observed = [event for event in log(local_sandbox) if isinstance(event, ActionObserved) and event.ran]
    assert len(observed) == 26, "25 actions, and the end"
    failed = [event.observation for event in observed if event.observation.get("is_error")]
    assert failed == []
    deciders = [event.by for event in log(local_sandbox) if isinstance(event, ActionDecided)]
    assert deciders.count("person") == len(questions)
    assert "raise ValueError" in (local_sandbox.project / "src/pricing.py").read_text()
    assert (local_sandbox.project / "log.txt").read_text().endswith("OK\n")
    commits = subprocess.run(
        ["git", "log", "--format=%s"], cwd=local_sandbox.project, env=local_sandbox.env, check=True, capture_output=True
    )
    assert commits.stdout.decode().splitlines()[:2] == ["Drop the colon", "Raise ValueError for unknown countries"]
