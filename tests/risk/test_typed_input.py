"""Text typed into a running program is rated by what that program does with it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.shells import Bash, eventually
from workbench.risk import RatingContext, assess
from workbench.risk.assessment import Assessment, Part
from workbench.risk.paths import PathContext
from workbench.risk.terminal_input import Waiting, assess_typed
from workbench.session.actions.assess import _effective

PLACES = PathContext("/home/u/proj", "/home/u")


def rated(words: str, text: str) -> str:
    return assess_typed(text, [Waiting(tuple(words.split()), "/home/u/proj")], PLACES, "/home/u/proj").risk


@pytest.mark.parametrize(
    ("program", "text", "risk"),
    [
        ("iex -S mix", "1 + 1", "MEDIUM"),
        ("iex -S mix phx.server", 'System.cmd("rm", ["-rf", "/"])', "HIGH"),
        ("/usr/lib/erts/bin/beam.smp -- -progname iex -- -s elixir start_iex", 'File.rm_rf!("/home/u")', "HIGH"),
        ("python manage.py shell", "User.objects.count()", "MEDIUM"),
        ("python manage.py shell", "User.objects.all().delete()", "HIGH"),
        ("uv run python ./manage.py shell_plus", "import shutil; shutil.rmtree('/home/u')", "HIGH"),
        ("python manage.py dbshell", "select 1;", "MEDIUM"),
        ("python manage.py dbshell", "drop table t;", "HIGH"),
        ("python manage.py dbshell", ".shell id", "HIGH"),
        ("python manage.py dbshell", "system id", "HIGH"),
        ("python manage.py migrate", "yes", "UNKNOWN"),
        ("flask shell", "1", "MEDIUM"),
        ("python /usr/bin/ipython", "!rm -rf ~", "HIGH"),
        ("jupyter console", "!rm -rf ~", "HIGH"),
        ("rails console", "User.count", "MEDIUM"),
        ("ruby bin/rails c", "User.find(1).destroy", "HIGH"),
        ("bundle exec rails c -e production", "User.delete_all", "HIGH"),
        ("bundle exec irb", "system('id')", "HIGH"),
        ("rails dbconsole", "drop table t;", "HIGH"),
        ("rails server", "y", "UNKNOWN"),
        ("php artisan tinker", "User::truncate();", "HIGH"),
        ("npx ts-node", "require('child_process').execSync('id')", "HIGH"),
        ("ts-node x.ts", "y", "UNKNOWN"),
        ("deno repl", "1", "MEDIUM"),
        ("poetry run python", "1", "MEDIUM"),
        ("poetry run python x.py", "y", "UNKNOWN"),
        ("python3", "1 + 1", "MEDIUM"),
        ("python3", "import shutil; shutil.rmtree('/home/u')", "HIGH"),
        ("/usr/bin/python3.12 -i x.py", "import os; os.system('rm -rf ~')", "HIGH"),
        ("python3 -m pdb x.py", "n", "MEDIUM"),
        ("python3 -m pdb x.py", "!import os; os.system('rm -rf ~')", "HIGH"),
        ("python3 x.py", "yes", "UNKNOWN"),
        ("python3 -m venv x", "y", "UNKNOWN"),
        ("ipython", "!rm -rf ~", "HIGH"),
        ("bash", "ls", "MEDIUM"),
        ("bash", "rm -rf ~", "HIGH"),
        ("-zsh", "curl x | sh", "HIGH"),
        ("bash x.sh", "y", "UNKNOWN"),
        ("node", "1+1", "MEDIUM"),
        ("node", "require('child_process').execSync('id')", "HIGH"),
        ("node", ".load x.js", "HIGH"),
        ("node server.js", "q", "UNKNOWN"),
        ("irb", "system('id')", "HIGH"),
        ("ghci", ":!id", "HIGH"),
        ("psql db", "select * from t;", "MEDIUM"),
        ("psql db", "drop table t;", "HIGH"),
        ("psql db", "with x as (delete from t returning 1) select 1", "HIGH"),
        ("psql db", r"\! id", "HIGH"),
        ("psql db", r"\dt", "MEDIUM"),
        ("psql db", r"select 1 \g |sh", "HIGH"),
        ("psql db", "insert into t values (1)", "MEDIUM"),
        ("sqlite3 a.db", ".tables", "MEDIUM"),
        ("sqlite3 a.db", ".shell id", "HIGH"),
        ("sqlite3 a.db", "DELETE FROM t;", "HIGH"),
        ("mysql", "show tables;", "MEDIUM"),
        ("mysql", "system id", "HIGH"),
        ("mysql", r"\! id", "HIGH"),
        ("redis-cli", "get x", "MEDIUM"),
        ("redis-cli", "FLUSHALL", "HIGH"),
        ("mongosh", "db.t.find()", "MEDIUM"),
        ("mongosh", "db.t.drop()", "HIGH"),
        ("mongosh", "db['t']['drop']()", "HIGH"),
        ("gdb ./a", "bt", "MEDIUM"),
        ("gdb ./a", "print x", "MEDIUM"),
        ("gdb ./a", "shell id", "HIGH"),
        ("gdb ./a", "call system(0)", "HIGH"),
        ("gdb ./a", "print system(0)", "HIGH"),
        ("ssh host", "rm x", "HIGH"),
        ("ssh host", "ls -la", "MEDIUM"),
        ("ftp host", "ls", "MEDIUM"),
        ("sftp host", "rm x", "HIGH"),
        ("sftp host", "!id", "HIGH"),
        ("less x", "!id", "HIGH"),
        ("less x", "q", "MEDIUM"),
        ("less x", "/ERROR", "MEDIUM"),
        ("less x", "?vso|!", "MEDIUM"),
        ("less x", "3/ERROR\nn", "MEDIUM"),
        ("less x", "&ERROR", "MEDIUM"),
        ("less x", "/ERROR\n!id", "HIGH"),
        ("less x", "/\x7f!id", "HIGH"),
        ("less x", "q/!id", "HIGH"),
        ("man ls", "/OPTIONS", "MEDIUM"),
        ("vim x", ":!id", "HIGH"),
        ("vim x", ":q!", "MEDIUM"),
        ("bc", "1+1", "MEDIUM"),
        ("frob", "y", "UNKNOWN"),
        ("frob", "rm -rf ~", "HIGH"),
        ("terraform apply", "yes", "HIGH"),
        ("sudo apt-get install x", "y", "HIGH"),
        ("python3 manage.py flush", "yes", "HIGH"),
        ("git add -p", "y", "UNKNOWN"),
    ],
)
def test_input_is_rated_by_the_program_that_reads_it(program, text, risk):
    assert rated(program, text) == risk


def test_most_dangerous_of_several_possible_readers_applies():
    several = [Waiting(("psql",)), Waiting(("bash",))]
    assert assess_typed("drop table t", several, PLACES, "/home/u/proj").risk == "HIGH"
    assert assess_typed("ls", [Waiting(("bash",)), Waiting(("frob",))], PLACES, "/home/u/proj").risk == "MEDIUM"


def test_unrecognized_input_is_not_low_even_if_the_model_says_so():
    not_known = Assessment("UNKNOWN", ("?",), (Part("y", "UNKNOWN"),))
    assert _effective("LOW", not_known) == "MEDIUM"
    assert _effective("UNKNOWN", not_known) == "UNKNOWN"
    assert _effective("LOW", Assessment("UNKNOWN")) == "LOW", "a tool of another program that was not looked at"


@pytest.fixture
def bash(tmp_path: Path) -> Iterator[Bash]:
    shell = Bash(tmp_path, no_change_timeout=1)
    yield shell
    shell.tool.close()


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="the program is found by /proc")
@pytest.mark.parametrize(
    ("command", "text", "risk"),
    [
        ("python3 -q", "import shutil; shutil.rmtree('/home')", "HIGH"),
        ("python3 -q", "1 + 1", "MEDIUM"),
        ("env -i sh -c 'python3 -q; true'", "__import__('os').remove('/etc/x')", "HIGH"),
        ("bash --norc -i", "rm -rf /home/nobody", "HIGH"),
        ("read x", "yes", "MEDIUM"),
        ("read x", "rm -rf /home/nobody", "HIGH"),
        ("cat", "hello", "UNKNOWN"),
    ],
)
@pytest.mark.starts
def test_input_is_rated_by_the_program_actually_running(command, text, risk, bash, tmp_path):
    if shutil.which("python3") is None:
        pytest.skip("there is no python3")
    seen = bash(command, timeout=1)
    assert seen.exit_code == -1
    eventually(lambda: bash.tool.executor and bash.tool.executor.waiting(), "it runs")
    arguments = {"command": text, "is_input": True}
    assert assess(bash.tool, arguments, RatingContext(str(tmp_path))).risk == risk
