"""In plan mode a shell runs commands that only look at the workspace; everything else is denied."""

import subprocess
from pathlib import Path

import pytest

from tests.session.fake_agent import calls, says
from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext
from workbench.risk.read_only import only_looks
from workbench.tools import BashTool

LOOKS = [
    *("ls", "ls -la sub", "cat a.txt", "head -n 3 a.txt", "tail -5 a.txt", "wc -l a.txt", "find . -name '*.txt'"),
    *("grep -rn one .", "grep one a.txt | wc -l", "sort a.txt | uniq -c", "cut -c1-3 a.txt", "diff a.txt b.txt"),
    *("stat a.txt", "du -s sub", "sed -n 1p a.txt", "awk '{print $1}' a.txt", "pwd", "echo hello", "test -f a.txt"),
    *("git log --oneline", "git status --short", "git diff", "git show HEAD", "git blame a.txt", "git ls-files"),
    *("git reflog", "git reflog show --all", "git diff --no-index a.txt b.txt", "git diff HEAD~1..HEAD -- sub/a"),
    *("git --no-pager log", "git branch -a", "git branch", "git tag", "git remote -v", "git rev-parse HEAD"),
    *("git reflog -n 5", "git reflog show HEAD", "git log -g --oneline", "git stash list", "git stash show -p"),
    *("git branch --contains HEAD", "git branch --list 'x*'", "git branch --merged HEAD", "git branch --sort=refname"),
    *("git tag -l 'v*'", "git tag -n3", "git worktree list", "git remote get-url origin", "git symbolic-ref HEAD"),
    *("git -C sub log", "git -C sub diff -- c.txt", "git diff-tree HEAD", "git check-ignore a.txt"),
    *("git cherry HEAD", "git --version", "git show HEAD:sub/../a.txt", "git diff insub/c.txt"),
    *(
        "cd sub && ls",
        "cd sub && cat c.txt ../a.txt && cd ..",
        "cd sub || ls",
        "cd sub && git log c.txt",
        "cat insub/c.txt",
    ),
    *(
        "grep -n 'one\\|two' a.txt",
        "find . \\( -name a.txt -o -name b.txt \\)",
        "find . -name a.txt -exec wc {} \\;",
        "grep '' a.txt",
        "\\ls",
    ),
    *("ls\ncat a.txt\n", "# first\nls # then\n\ngit log", "ls &&\ncat a.txt", "echo 'a\nb'", "ls >/dev/null 2>&1"),
    *("ls &>/dev/null", "printf '%s\\n' x", "date", "uname -a", "python --version", "command -v ls", "type ls", "id"),
    *("ls && cat a.txt", "cat a.txt; ls", "ls missing 2>/dev/null || echo none", "cat a.txt 2>&1 | head -1"),
]
SESSIONS = [[line for line in LOOKS if not line.startswith("cd")], *([line] for line in LOOKS if line.startswith("cd"))]
"""Commands, one list per session; the session's shell stays in the directory to which `cd` leads."""
CHANGES = [
    *(
        "touch x",
        "rm a.txt",
        "mv a.txt c.txt",
        "cp a.txt c.txt",
        "mkdir d",
        "ls > x",
        "cat a.txt >> b.txt",
        "echo x > x",
    ),
    *("sed -i s/a/b/ a.txt", "tee x", "sort a.txt -o x", "find . -delete", "find . -name x -exec rm {} +", "git add ."),
    *("git commit -m x", "git checkout -b x", "git branch x", "git tag v1", "git stash", "git stash pop", "git fetch"),
    *(
        "git remote add o x",
        "git diff --output=x",
        "git -C .. log",
        "git config user.name x",
        "git -c core.pager=x log",
    ),
    *("git diff --no-index /etc/hosts a.txt", "git diff /etc/hosts a.txt", "git grep --no-index x /etc"),
    *("git grep --no-index x -- /etc/hosts", "git reflog expire --all", "git reflog delete HEAD@{0}"),
    *("git grep --no-index x ..", "git grep --no-index x sub/../..", "git diff --no-index rootlink/etc/hosts a.txt"),
    *("cd sub && git grep --no-index x ../..", "git -C rootlink log", "git ls-files -o --exclude-per-directory=../x"),
    *(
        "git reflog drop HEAD",
        "git reflog --output=x",
        "git stash drop",
        "git branch -v x",
        "git branch --sort=refname x",
    ),
    *("git branch -D x --list", "git branch -u origin/x", "git tag -a v1 -l", "git tag -d v1 -l", "git worktree add x"),
    *("git symbolic-ref HEAD x", "git symbolic-ref --delete HEAD", "git remote show origin", "git remote rename a b"),
    *("cat link", "cat rootlink/etc/hosts", "cd rootlink/etc; cat hosts", "cd rootlink", "cd ..", "cd -", "cd", "cd ~"),
    *(
        "cd sub && cat ../../x",
        "cd sub && cd ../.. && ls",
        "cd $X",
        "ls # x\nrm a.txt",
        "ls\n> x",
        "ls #'\nrm a.txt #'",
    ),
    *(
        "ls \\# x; rm a.txt",
        "cat <<E\nx\nE",
        "date -s 1",
        "hostname x",
        "./a.sh --version",
        "foo --version",
        "git --help",
    ),
    *("x=1", "x=1; ls", "export X=1", "set -e", "set -e; ls", "alias ls=rm", "source a.txt"),
    *("read x", "exit", "exec ls", "trap 'rm x' EXIT", "unset PATH", "shopt -s nullglob", "eval ls"),
    *("ls &", "ls & rm x", "(ls)", "{ ls; }", "echo $(ls)", "echo `ls`", "cat <(ls)", "cat < a.txt", "time ls"),
    *("if true; then ls; fi", "for i in a; do ls; done", "while true; do ls; done", "f() { ls; }", "ls\nrm x", "! ls"),
    *("yes", "sleep 100", "tail -f a.txt", "tail -nf a.txt", "tail --follow=name a.txt", "watch ls", "less a.txt"),
    *("curl http://example.org", "wget http://example.org", "ping -c1 example.org", "ssh host ls", "git ls-remote"),
    *(
        "docker ps",
        "kubectl get pods",
        "ps aux",
        "python a.py",
        "./a.sh",
        "bash a.sh",
        "node -e 1",
        "pytest",
        "make -n",
    ),
    *("cat /etc/passwd", "cat /etc/hosts", "ls /etc", "cat ../other", "ls ~", "cat ~/.ssh/id_rsa", "grep -r x /"),
    *(
        "cat $HOME/x",
        "echo $PATH",
        "ls *$x",
        "env",
        "printenv",
        "history",
        "xargs ls",
        "env ls",
        "command ls",
        "command -p ls",
        "sudo ls",
    ),
    *(
        "awk 'BEGIN{system(\"rm x\")}'",
        "awk '{print > \"x\"}' a.txt",
        "sed 'w x' a.txt",
        "sed '1e rm x' a.txt",
        "ls |& cat",
    ),
    *(
        "printf -v PATH x",
        "test -v x && rm a.txt",
        "ls; rm a.txt",
        "ls || rm a.txt",
        "ls | tee x",
        "ls 2> x",
        "ls 2>/dev/null > x",
    ),
    *("", " ", ";", "ls;", "'", "ls '", "#"),
]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    directory = tmp_path / "work"
    (directory / "sub").mkdir(parents=True)
    for name, text in (("a.txt", "one\ntwo\n"), ("b.txt", "one\n"), ("sub/c.txt", "c\n")):
        (directory / name).write_text(text)
    author = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    for words in (("init", "-q"), ("add", "."), (*author, "commit", "-qm", "first")):
        subprocess.run(["git", *words], cwd=directory, check=True, capture_output=True)
    for name, target in (("link", "/etc/hosts"), ("rootlink", "/"), ("insub", "sub")):
        (directory / name).symlink_to(target)
    return directory


def looks(command: str, workspace: Path, **arguments) -> bool:
    context = PathContext(str(workspace), str(workspace.parent))
    local = assess_command(command, context, str(workspace))
    return only_looks({"command": command, **arguments}, local, str(workspace))


@pytest.mark.parametrize("command", LOOKS, ids=[f"{number}" for number in range(len(LOOKS))])
def test_command_that_looks_is_recognised(workspace, command):
    assert looks(command, workspace)


@pytest.mark.parametrize("command", CHANGES, ids=[f"{number}" for number in range(len(CHANGES))])
def test_any_other_command_is_not(workspace, command):
    assert not looks(command, workspace)


@pytest.mark.parametrize(
    "arguments", [{"is_input": True}, {"reset": True}, {"is_input": "true"}], ids=["input", "reset", "text"]
)
def test_input_and_a_new_shell_are_no_looking(workspace, arguments):
    assert looks("ls", workspace)
    assert not looks("ls", workspace, **arguments)


def contents(workspace: Path) -> dict[str, bytes]:
    files = (path for path in workspace.rglob("*") if path.is_file() and not path.is_symlink() and path.name != "index")
    return {str(path): path.read_bytes() for path in files}


@pytest.mark.parametrize("commands", SESSIONS, ids=[f"{number}" for number in range(len(SESSIONS))])
def test_looking_runs_in_plan_mode_and_changes_nothing(harness, workspace, commands):
    """Each command runs without a question in a real shell, and leaves the files as they were."""
    before = contents(workspace)
    script = [calls(*(("execute_bash", {"command": command}) for command in commands)), says("this is the plan")]
    one = harness(*script, mode="plan", workspace=str(workspace))
    one.tools["execute_bash"] = BashTool(working_dir=str(workspace))
    one.session.send("make a plan")
    one.run()
    try:
        decided = [event for event in one.log() if event.kind == "action_decided"]
        assert [event.verdict for event in decided] == ["approved"] * len(commands)
        assert contents(workspace) == before
    finally:
        one.tools["execute_bash"].close()


@pytest.mark.parametrize(
    ("command", "risk"), [("touch x", "LOW"), ("set -e", "LOW"), ("ls", "HIGH")], ids=["write", "state", "model"]
)
def test_everything_else_is_denied_in_plan_mode_with_what_is_possible(harness, workspace, command, risk):
    before = contents(workspace)
    arguments = {"command": command, "security_risk": risk}
    one = harness(calls(("execute_bash", arguments)), says("ok"), mode="plan", workspace=str(workspace))
    one.tools["execute_bash"] = BashTool(working_dir=str(workspace))
    one.session.send("make a plan")
    one.run()
    try:
        (decided,) = (event for event in one.log() if event.kind == "action_decided")
        assert decided.verdict == "rejected"
        assert "`git log`, `ls`" in one.results()[0]
        assert contents(workspace) == before
    finally:
        one.tools["execute_bash"].close()
