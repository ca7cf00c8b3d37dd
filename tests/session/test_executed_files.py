"""An approval is bound to the files that a command executes: a file that changes between the question and the start is
asked about again, by name. Real sessions with a real shell.
"""

import json
import os
from pathlib import Path

import pytest

from tests.session.fake_agent import Harness, calls, says
from workbench.protocol.events import ActionStarted
from workbench.risk.executed_files import project_files
from workbench.tools import BashTool

ECHO = "#!/bin/sh\necho good >> ran\n"
EVIL = "#!/bin/sh\necho evil >> ran\n"


@pytest.fixture
def shell_harness(harness, tmp_path, monkeypatch):
    """Open a session that asks about each command; the home directory is an empty one."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    shells = []

    def open_harness(*commands: str, mode: str = "ask") -> Harness:
        responses = [calls(("execute_bash", {"command": command}, "HIGH")) for command in commands]
        one = harness(*responses, says("ok"), mode=mode)
        one.tools["execute_bash"] = shell = BashTool(working_dir=str(tmp_path))
        shells.append(shell)
        one.session.send("go")
        one.run()
        return one

    yield open_harness
    for shell in shells:
        shell.close()


def put(directory: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)


def ran(directory: Path) -> list[str]:
    path = directory / "ran"
    return path.read_text().split() if path.exists() else []


def reasons_asked_again(one: Harness, directory: Path) -> str:
    """Approve the pending action; return why it is asked about again, empty if it ran or is not waiting."""
    one.answer()
    if ran(directory) or one.session.question is None or [e for e in one.log() if isinstance(e, ActionStarted)]:
        return ""
    reasons = " ".join(one.session.question.assessed.reasons)
    return reasons if "what it runs has changed since it was shown" in reasons else ""


PY = "open('ran', 'a').write('good\\n')\n"
SCRIPTS = {
    "run.sh": ECHO,
    "deep/run.sh": ECHO,
    "a.py": PY,
    "b.py": "import helper\nimport other\n",
    "deep/other.py": "",
    "site.yml": "- hosts: all\n",
    "helper.py": PY,
    "pkg/__init__.py": "",
    "pkg/__main__.py": "from . import core\n",
    "pkg/core.py": PY,
    "outer.sh": '#!/bin/sh\n. "$(dirname "$0")/lib/inner.sh"\n',
    "lib/inner.sh": "./run.sh\n",
    "Makefile": "include inc/*.mk\nt:\n\t@./run.sh\n",
    "inc/more.mk": "u:\n\t@sh deep/run.sh\n",
    "package.json": json.dumps({"scripts": {"x": "node x.js", "test": "./run.sh", "pretest": "./deep/run.sh"}}),
    "x.js": "require('./y')\n",
    "y.js": "require('fs').appendFileSync('ran', 'good\\n')\n",
    "conftest.py": "",
    "tests/conftest.py": "",
    "tests/test_one.py": "import helper\n\ndef test_one():\n    pass\n",
    "compose.yml": "services: {}\n",
    "justfile": "t:\n  ./run.sh\n",
    "Cargo.toml": "[package]\n",
    "build.rs": "fn main() {}\n",
    "node_modules/.bin/tool": ECHO,
    ".venv/bin/mytool": ECHO,
    ".git/hooks/pre-commit": ECHO,
    "setup": ECHO,
    "steps.awk": 'BEGIN { print "good" >> "ran" }\n',
    "app.log": "1\n",
}


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("./run.sh", "run.sh"),
        ("./run.sh app.log", "run.sh"),
        ("bash run.sh", "run.sh"),
        ("bash -e ./run.sh x", "run.sh"),
        ("sh -c './run.sh'", "run.sh"),
        ("sh -c 'cd deep && ./run.sh'", "deep/run.sh"),
        ("cd deep && ./run.sh", "deep/run.sh"),
        ("(cd deep; sh run.sh)", "deep/run.sh"),
        ("env A=1 ./run.sh", "run.sh"),
        ("env -S './run.sh x'", "run.sh"),
        ("env -S'sh run.sh'", "run.sh"),
        ("echo x | xargs ./run.sh", "run.sh"),
        ("echo x | xargs -n1 sh run.sh", "run.sh"),
        ("find . -name x -exec ./run.sh {} +", "run.sh"),
        ("nohup timeout 5 nice -n 3 ./run.sh", "run.sh"),
        ("for f in a b; do ./run.sh $f; done", "run.sh"),
        ("for f in deep/*.sh; do sh $f; done", "deep/run.sh"),
        ("for d in deep; do sh $d/run.sh; done", "deep/run.sh"),
        ("for i in run; do sh $i.sh; done", "run.sh"),
        ('sh "${PWD}"/run.sh', "run.sh"),
        ("sh $(pwd)/run.sh", "run.sh"),
        ("sh ~+/run.sh", "run.sh"),
        ("~+/deep/run.sh", "deep/run.sh"),
        ("cd $(pwd)/deep && sh run.sh", "deep/run.sh"),
        ("S=./run.sh; $S", "run.sh"),
        ("cat run.sh | sh", "run.sh"),
        ("bash < run.sh", "run.sh"),
        ("cat setup | bash", "setup"),
        ("unknown-program ./setup", "setup"),
        (".venv/bin/python a.py", "a.py"),
        ("eval ./run.sh", "run.sh"),
        ("echo $(./run.sh)", "run.sh"),
        ("f() { ./run.sh; }; f", "run.sh"),
        ("bash <<END\n./run.sh\nEND", "run.sh"),
        ("source run.sh", "run.sh"),
        (". ./run.sh", "run.sh"),
        ("BASH_ENV=run.sh bash -c true", "run.sh"),
        ("./outer.sh", "outer.sh"),
        ("./outer.sh", "lib/inner.sh"),
        ("./outer.sh", "run.sh"),
        ("python3 a.py app.log", "a.py"),
        ("python3 -u -W ignore a.py", "a.py"),
        ("python3 b.py", "helper.py"),
        ("python3 -c 'import helper'", "helper.py"),
        ("python3 <<< 'import helper'", "helper.py"),
        ("python3 -m helper", "helper.py"),
        ("python3 -m pkg", "pkg/__main__.py"),
        ("python3 -m pkg", "pkg/__init__.py"),
        ("python3 -m pkg", "pkg/core.py"),
        ("python3 -mpkg.core", "pkg/core.py"),
        ("make t", "Makefile"),
        ("make -C . u", "Makefile"),
        ("make u", "inc/more.mk"),
        ("make t", "run.sh"),
        ("make -f inc/more.mk u", "inc/more.mk"),
        ("npm run x", "package.json"),
        ("npm run x", "x.js"),
        ("npm run x", "y.js"),
        ("npm test", "run.sh"),
        ("npm t", "package.json"),
        ("npm test", "deep/run.sh"),
        ("yarn x", "package.json"),
        ("pnpm run x", "x.js"),
        ("npx tool", "node_modules/.bin/tool"),
        ("mytool", ".venv/bin/mytool"),
        ("PATH=./deep:$PATH run.sh", "deep/run.sh"),
        ("just t", "justfile"),
        ("pytest", "conftest.py"),
        ("pytest tests/test_one.py::test_one", "tests/test_one.py"),
        ("pytest tests", "tests/conftest.py"),
        ("python3 -m pytest tests/test_one.py", "helper.py"),
        ("node x.js", "x.js"),
        ("node -r ./y.js -e 1", "y.js"),
        ("docker compose up", "compose.yml"),
        ("docker-compose -f compose.yml up", "compose.yml"),
        ("cargo build", "build.rs"),
        ("git commit -m x", ".git/hooks/pre-commit"),
        ("uv run a.py", "a.py"),
        ("uv run python a.py", "a.py"),
        ("awk -f steps.awk app.log", "steps.awk"),
        ("watch -n 1 ./run.sh", "run.sh"),
        ("python3 -m unittest tests.test_one", "tests/test_one.py"),
        ("PYTHONPATH=deep python3 b.py", "deep/other.py"),
        ("uvicorn pkg.core:app", "pkg/core.py"),
        ("git bisect run ./run.sh", "run.sh"),
        ("git rebase -x './run.sh x' HEAD", "run.sh"),
        ("find . -name '*.sh' -exec bash {} ';'", "run.sh"),
        ("ls deep/*.sh | xargs bash", "deep/run.sh"),
        ("ansible-playbook site.yml", "site.yml"),
        ("bash --rcfile setup -i", "setup"),
        ("node --require=./y -e 1", "y.js"),
        ("command -- ./run.sh", "run.sh"),
    ],
)
def test_code_changed_between_question_and_start_is_asked_again(shell_harness, tmp_path, command, name):
    put(tmp_path, SCRIPTS)
    one = shell_harness(command)
    file = tmp_path / name
    file.write_text(file.read_text() + "\n# evil\n")
    assert name in reasons_asked_again(one, tmp_path)


@pytest.mark.parametrize(
    "command", ["./run.sh", "sh run.sh", "make t", "./outer.sh", "python3 -m pkg", "sh -c ./run.sh"]
)
def test_unchanged_code_runs_after_one_question(shell_harness, tmp_path, command):
    put(tmp_path, SCRIPTS)
    one = shell_harness(command)
    one.answer()
    assert ran(tmp_path) == ["good"]
    assert one.kinds().count("action_assessed") == 1


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("./run.sh app.log", "app.log"),
        ("cat run.sh >> ran", "run.sh"),
        ("grep -c echo run.sh deep/run.sh >> ran", "deep/run.sh"),
        ("wc -l < a.py >> ran", "a.py"),
        ("python3 a.py x.js", "x.js"),
        ("sh run.sh deep/run.sh", "deep/run.sh"),
        ("cp run.sh ran", "run.sh"),
        ("for f in *.py; do cat $f >> ran; done", "a.py"),
        ("false unknown app.log || echo x >> ran", "app.log"),
    ],
)
def test_changed_data_is_not_asked_about(shell_harness, tmp_path, command, name):
    put(tmp_path, SCRIPTS)
    one = shell_harness(command)
    file = tmp_path / name
    file.write_text(file.read_text() + "\n# more\n")
    one.answer()
    assert ran(tmp_path)
    assert one.kinds().count("action_assessed") == 1


def test_code_approved_again_runs_as_it_is_now(shell_harness, tmp_path):
    put(tmp_path, {"run.sh": ECHO})
    one = shell_harness("./run.sh")
    (tmp_path / "run.sh").write_text(EVIL)
    assert "run.sh changed" in reasons_asked_again(one, tmp_path)
    one.answer()
    assert ran(tmp_path) == ["evil"]


def test_change_that_keeps_size_and_times_is_detected(shell_harness, tmp_path):
    put(tmp_path, {"run.sh": ECHO})
    script = tmp_path / "run.sh"
    before = script.stat()
    one = shell_harness("./run.sh")
    script.write_text(EVIL)
    os.utime(script, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert len(EVIL) == len(ECHO)
    assert "run.sh changed" in reasons_asked_again(one, tmp_path)


@pytest.mark.parametrize("command", ["./link", "sh link", "here/run.sh", "cd here && ./run.sh", "make t"])
def test_retargeted_link_is_asked_again(shell_harness, tmp_path, command):
    """The link itself or one above it changes, even to a target with the same content."""
    put(tmp_path, {"one/run.sh": ECHO, "two/run.sh": ECHO, "Makefile": "t:\n\t@here/run.sh\n"})
    for name, one, two in (("link", "one/run.sh", "two/run.sh"), ("here", "one", "two")):
        (tmp_path / name).symlink_to(one)
        (tmp_path / f"{name}.new").symlink_to(two)
    harness = shell_harness(command)
    for name in ("link", "here"):
        (tmp_path / f"{name}.new").rename(tmp_path / name)
    assert "two" in reasons_asked_again(harness, tmp_path)


def test_file_that_becomes_a_link_to_the_outside_is_asked_again(shell_harness, tmp_path, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    put(outside, {"run.sh": ECHO})
    put(tmp_path, {"run.sh": ECHO})
    one = shell_harness("./run.sh")
    (tmp_path / "run.sh").unlink()
    (tmp_path / "run.sh").symlink_to(outside / "run.sh")
    assert "leads to" in reasons_asked_again(one, tmp_path)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("./later.sh", "later.sh"),
        ("mytool", "node_modules/.bin/mytool"),
        ("make t", "GNUmakefile"),
        ("make u", "inc/new.mk"),
        ("python3 -c 'import json'", "json.py"),
        ("pytest tests", "tests/conftest.py"),
    ],
)
def test_new_code_is_asked_again(shell_harness, tmp_path, command, name):
    put(tmp_path, {"Makefile": "include inc/*.mk\nt:\n\t@./run.sh\n", "inc/a.mk": "u:\n", "tests/test_a.py": ""})
    one = shell_harness(command)
    put(tmp_path, {name: EVIL})
    assert f"{name} is new" in reasons_asked_again(one, tmp_path)


def test_deleted_code_is_asked_again(shell_harness, tmp_path):
    put(tmp_path, {"run.sh": ECHO})
    one = shell_harness("./run.sh")
    (tmp_path / "run.sh").unlink()
    assert "run.sh" in reasons_asked_again(one, tmp_path)


def test_question_asked_ahead_is_repeated_if_an_earlier_action_changes_its_script(harness, shell_harness, tmp_path):
    put(tmp_path, {"run.sh": ECHO})
    one = shell_harness()
    two = [("execute_bash", {"command": command}, "HIGH") for command in ("sed -i s/good/evil/ run.sh", "./run.sh")]
    one.agent.script = [calls(*two), says("ok")]
    one.session.send("both")
    one.run()
    first, second = one.waiting()
    one.decide(second)
    one.decide(first)
    one.run()
    assert ran(tmp_path) == []
    assert "run.sh changed" in " ".join(one.session.question.assessed.reasons)


def test_approval_is_bound_to_a_script_as_an_earlier_action_will_write_it(shell_harness, tmp_path):
    script = tmp_path / "run.sh"
    put(tmp_path, {"run.sh": "old"})
    one = shell_harness()
    write = ("write", {"path": str(script), "text": ECHO}, "HIGH")
    one.agent.script = [calls(write, ("execute_bash", {"command": "sh run.sh"}, "HIGH")), says("ok")]
    one.session.send("both")
    one.run()
    for action in reversed(one.waiting()):
        one.decide(action)
    one.run()
    assert ran(tmp_path) == ["good"]


def test_action_allowed_by_a_mode_is_bound_to_its_files_without_asking(shell_harness, tmp_path):
    """An action that a mode allows is bound to its files too, but they are not a reason to ask."""
    put(tmp_path, {"run.sh": ECHO})
    one = shell_harness("./run.sh", mode="never")
    assert ran(tmp_path) == ["good"]
    assert one.session.question is None


def test_swap_at_the_moment_of_the_decision_is_detected(shell_harness, tmp_path):
    """The file is swapped while the decision is recorded, the last moment before the command starts."""
    put(tmp_path, {"run.sh": ECHO})
    other = tmp_path / "other"
    other.write_text(EVIL)
    other.chmod(0o755)
    one = shell_harness("./run.sh")

    def swap(event) -> None:
        if event.kind == "action_decided":
            other.rename(tmp_path / "run.sh")

    one.hook = swap
    assert "run.sh changed" in reasons_asked_again(one, tmp_path)


@pytest.mark.parametrize("mode", ["ask", "never"])
@pytest.mark.parametrize(
    ("command", "name"),
    [("./run.sh", "run.sh"), ("sh run.sh", "run.sh"), ("make t", "Makefile"), ("make t", "run.sh"), ("./link", "link")],
)
def test_swap_after_the_last_check_before_the_start_is_detected(
    shell_harness, tmp_path, monkeypatch, command, name, mode
):
    """The file is swapped after the start is recorded, when the decision was already compared."""
    put(tmp_path, {"run.sh": ECHO, "Makefile": "t:\n\t@./run.sh\n"})
    (tmp_path / "link").symlink_to("run.sh")
    put(tmp_path, {"evil": EVIL if name != "Makefile" else "t:\n\t@echo evil >> ran\n"})
    (tmp_path / "evil").chmod(0o755)

    def heard(self, event) -> None:
        self.events.append(event)
        if event.kind == "action_started" and (tmp_path / "evil").exists():
            (tmp_path / "evil").rename(tmp_path / name)

    monkeypatch.setattr(Harness, "heard", heard)
    one = shell_harness(command, mode=mode)
    if mode == "ask":
        one.answer()
    assert ran(tmp_path) == []
    result = next(event for event in one.events if event.kind == "action_observed")
    assert not result.ran
    text = str(result.observation)
    assert f"{name} changed" in text or "no longer a link" in text


def test_edited_command_is_bound_to_its_own_scripts(shell_harness, tmp_path):
    put(tmp_path, {"run.sh": ECHO, "other.sh": ECHO})
    one = shell_harness("./run.sh")

    def swap(event) -> None:
        if event.kind == "action_decided":
            (tmp_path / "other.sh").write_text(EVIL)

    one.hook = swap
    one.answer("edited", edited={"command": "./other.sh"})
    assert ran(tmp_path) == []
    assert one.session.question is not None


def test_unreadable_executables_pipes_and_link_loops_do_not_block(shell_harness, tmp_path):
    put(tmp_path, {"run.sh": ECHO})
    os.mkfifo(tmp_path / "pipe.sh")
    (tmp_path / "loop.sh").symlink_to("loop.sh")
    (tmp_path / "run.sh").chmod(0o111)
    one = shell_harness("sh ./pipe.sh & ./loop.sh; ./run.sh; true")
    assert one.session.question is not None
    one.answer("rejected")
    assert ran(tmp_path) == []


def test_question_says_that_not_all_files_are_compared(shell_harness, tmp_path, monkeypatch):
    monkeypatch.setattr(project_files, "_MOST_TREE_ENTRIES", 20)
    put(tmp_path, {"Makefile": "all:\n\techo x\n", **{f"src/{number}.c": "" for number in range(30)}})
    one = shell_harness("make")
    assert any("more files than are compared" in reason for reason in one.session.question.assessed.reasons)
    one.answer("rejected")
