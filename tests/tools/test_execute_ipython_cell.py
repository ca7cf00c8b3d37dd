"""execute_ipython_cell: lasting variables, pictures, short errors, and nothing left when it ends."""

import base64
import re
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.tools.shells import BACKGROUND, eventually, processes
from workbench.tools import ArgumentError, Tool, ToolContext, resolve_tool
from workbench.tools.execute_ipython_cell import impl as interpreter
from workbench.tools.execute_ipython_cell.definition import IPythonTool


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("project")


@pytest.fixture(scope="module")
def tool(place: Path) -> Iterator[IPythonTool]:
    """One interpreter for all tests that leave it usable."""
    with IPythonTool(place) as made:
        yield made


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[IPythonTool]:
    """An interpreter that a test may destroy."""
    with IPythonTool(tmp_path) as made:
        yield made


def run(tool: IPythonTool, code: str, **arguments):
    return tool(tool.action_from_arguments({"code": textwrap.dedent(code).strip("\n"), **arguments}))


def background(mark: str) -> str:
    return BACKGROUND.replace("MARK", repr(mark))


def test_variables_persist_and_the_last_value_is_shown(tool, place):
    first = run(tool, "import os\ndef double(x):\n    return 2 * x\nprint('ä')\ndouble(21)")
    assert (first.text, first.is_error, first.output) == ("ä\n42", False, "ä\n42\n")
    assert run(tool, "double(4), os.getcwd()").text == f"(8, '{place}')"
    assert run(tool, "x = 1").text == "[The cell ran to its end and showed nothing.]"
    assert run(tool, "import asyncio\nawait asyncio.sleep(0)\nx + 1").text == "2"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("print('before')\n1 / 0", "before\n  cell, line 2: 1 / 0\nZeroDivisionError: division by zero"),
        ("x = (", "line 1: x = (\nSyntaxError: incomplete input"),
        ("def f():\n    raise ValueError('no\\x1b[2J')\nf()", "  cell, line 3: f()\n  cell, line 2: raise ValueError("),
        ("input()", "EOFError: EOF when reading a line"),
        ("%no_such", "UsageError: Line magic function `%no_such` not found."),
        ("import sys; sys.exit(3)", "SystemExit: 3 (the interpreter stays"),
        ("exit", "SystemExit: 0 (the interpreter stays"),
    ],
)
def test_errors_include_the_lines_that_led_to_them(tool, code, message):
    seen = run(tool, code)
    assert seen.is_error
    assert message in seen.text
    assert seen.error
    assert run(tool, "'alive'").text == "'alive'"


def test_deep_traceback_is_shortened(tool):
    seen = run(tool, "def deeper(n):\n    return deeper(n - 1) if n else 1 / 0\ndeeper(100)")
    assert "more calls" in seen.error
    assert len(seen.error.splitlines()) == 10


def test_magics_and_shell_lines_work_in_order(tool):
    seen = run(tool, "print('one')\n!echo two; echo three >&2\nprint('four')\nnames = !echo a b\nnames")
    assert seen.text == "one\ntwo\nthree\nfour\n['a b']"
    assert run(tool, "%%bash\necho from $0").text == "from bash"
    assert "not defined" in run(tool, "ls").error  # no line is taken for a command because of its look
    assert run(tool, ">>> !echo no").is_error


def test_pip_installs_for_this_session_not_for_the_workbench(tool, place):
    package = place / "wheel" / "tiny"
    package.mkdir(parents=True)
    (package / "tiny_of_test.py").write_text("VALUE = 42\n")
    (package / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        '[project]\nname = "tiny-of-test"\nversion = "1.0"\n'
    )
    (package / "backend.py").write_text(BACKEND)
    seen = run(tool, f"%pip install -q --no-index --no-deps {package}")
    assert not seen.is_error, seen.text
    before = run(tool, f"%pip -q install --no-index --no-deps {package}")  # the option before the command
    assert not before.is_error, before.text
    assert find_spec("tiny_of_test") is None
    seen = run(tool, "import tiny_of_test\nprint(tiny_of_test.VALUE)\ntiny_of_test.__file__")
    assert seen.text.startswith("42\n"), seen.text
    assert "/cells/packages/" in seen.text or "ohw-cells-" in seen.text
    for command in ("uninstall", "uninstall -y", "-q uninstall"):  # only packages that the session itself installed
        seen = run(tool, f"%pip {command} --dry-run tiny-of-test ipython-pygments-lexers")
        assert "- ipython-pygments-lexers" not in seen.text


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        *((words, "uv |pip ") for words in ("--version", "-V", "-q --version", "-v -V", "--timeout 5 --version")),
        *((words, "Usage|usage") for words in ("", "--help", "-h", "help", "install --help")),
        *((words, "(?i)install packages") for words in ("help install", "-q help install", "--log f help install")),
        *((words, "(?i)ipython") for words in ("list", "freeze", "show ipython", "-q list", "-v list")),
    ],
)
def test_pip_answers_what_it_has_to_say_of_itself(tool, words, answer):
    seen = run(tool, f"%pip {words}")
    assert not seen.is_error, seen.text
    assert re.search(answer, seen.text), seen.text


@pytest.mark.parametrize("words", ["config list", "cache list", "index install", "download install", "--log list x"])
def test_pip_takes_its_command_from_the_first_word(tool, words):
    seen = run(tool, f"%pip {words}")
    assert seen.is_error, seen.text
    assert words.split()[-2 if "--log" not in words else -1] in seen.text.split("cell, line")[0]


BACKEND = """
import zipfile, os
def build_wheel(folder, config_settings=None, metadata_directory=None):
    name = "tiny_of_test-1.0-py3-none-any.whl"
    info = "tiny_of_test-1.0.dist-info/"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as made:
        made.write("tiny_of_test.py")
        made.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: tiny-of-test\\nVersion: 1.0\\n")
        kind = "Root-Is-Purelib: true\\nTag: py3-none-any\\n"
        made.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\n" + kind)
        made.writestr(info + "RECORD", "")
    return name
"""


def test_plot_is_returned_as_a_picture(tool):
    seen = run(
        tool, "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.title('counts')\nplt.show()\nprint('after')"
    )
    assert seen.text.endswith("[picture 1]\nafter"), seen.text
    assert [part.type for part in seen.content] == ["text", "image"]
    assert seen.content[1].mime_type == "image/png"
    assert base64.b64decode(seen.content[1].data).startswith(b"\x89PNG")


def test_number_of_pictures_is_limited_and_text_makes_none(tool):
    seen = run(tool, "from PIL import Image\nfor n in range(12): display(Image.new('RGB', (4, 4)))")
    assert [part.type for part in seen.content] == ["text"] + ["image"] * 8
    assert "a picture was omitted" in seen.text
    code = "class Html:\n    def _repr_html_(self): return '<b>'\n    def __repr__(self): return 'plain'\nHtml()"
    assert run(tool, code).text == "plain"


def test_files_of_the_workspace_do_not_prevent_the_start(tmp_path):
    (tmp_path / "logging.py").write_text("raise SystemExit('mine')")
    (tmp_path / "helper.py").write_text("VALUE = 7")
    with IPythonTool(tmp_path) as tool:
        assert run(tool, "import helper\nhelper.VALUE").text == "7"


def test_users_keys_and_tokens_are_not_passed_on(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("HARMLESS", "seen")
    with IPythonTool(tmp_path) as tool:
        code = "import os\nprint('sk-secret' in str(dict(os.environ)), os.environ['HARMLESS'])"
        assert run(tool, f"{code}\n!env | grep -c secret").text == "False seen\n0"


def test_long_and_odd_output_is_bounded_and_plain(tool):
    seen = run(tool, "for n in range(60_000): print('line', n)")
    assert len(seen.text) < 31_000
    assert seen.text.startswith("line 0\nline 1\n")
    assert seen.text.endswith("line 59999")
    assert seen.output_file
    assert Path(seen.output_file).read_text().count("\n") == 60_000
    assert run(tool, r"import os; os.write(1, b'a\xff\x1b[1mb\rc\n'); None").output == "c\ufffdb\n"
    assert len(run(tool, "list(range(10**6))").text) < 31_000


def test_output_is_streamed_while_the_cell_runs(tool):
    seen: list[str] = []
    tool.executor.on_output = seen.append
    run(tool, "print('one'); print('two')")
    tool.executor.on_output = None
    assert "".join(seen) == "one\ntwo\n"


def test_cell_is_interrupted_after_its_timeout_and_variables_persist(tool):
    run(tool, "kept = 5")
    seen = run(tool, "import time\nprint('begun')\ntime.sleep(300)", timeout=2)
    assert seen.is_error
    assert seen.timed_out
    assert seen.text == "begun\n[Interrupted after 2 s. The interpreter and its variables are still there.]"
    silent = run(tool, "time.sleep(300)", timeout=1)
    assert silent.text == "[Interrupted after 1 s. The interpreter and its variables are still there.]"
    assert run(tool, "kept").text == "5"


STUBBORN = """
import time
print('begun', flush=True)
while True:
    try:
        time.sleep(1)
    except BaseException:
        pass
"""


def test_cell_that_ignores_its_timeout_is_ended_with_its_processes(fresh, mark):
    seen = run(fresh, background(mark) + STUBBORN, timeout=5)
    assert seen.timed_out
    assert "started" in seen.text
    assert "All variables are gone" in seen.text
    eventually(lambda: not processes(mark), "nothing is left")
    assert run(fresh, "1").text == "1"


@pytest.mark.parametrize("code", ["import time\nprint('begun', flush=True)\ntime.sleep(300)", STUBBORN])
def test_stop_interrupts_the_cell(fresh, code):
    run(fresh, "kept = 5")
    begun, results = threading.Event(), []
    fresh.executor.on_output = lambda text: begun.set()
    thread = threading.Thread(target=lambda: results.append(run(fresh, code)))
    thread.start()
    assert begun.wait(60)
    fresh.interrupt()
    thread.join(60)
    assert results[0].is_error
    assert not results[0].timed_out
    assert "Interrupted" in results[0].text
    after = run(fresh, "kept" if code is not STUBBORN else "'new'")
    assert after.text.endswith("5" if code is not STUBBORN else "'new'")


def test_restart_starts_a_new_interpreter(fresh):
    run(fresh, "x = 1")
    seen = run(fresh, "x", restart=True)
    assert seen.restarted
    assert "A new interpreter was started" in seen.text
    assert "NameError" in seen.error


def test_lost_variables_are_reported_after_a_restart_of_the_workbench(fresh):
    fresh.executor.recall({"output": "1"})
    assert run(fresh, "1").text == "[A new interpreter was started; variables of before are gone.]\n1"
    assert run(fresh, "2").text == "2"
    garbage = run(fresh, "get_ipython().channel._socket.sendall(b'no json\\n'); import time; time.sleep(60)")
    assert "All variables are gone" in garbage.text


def test_interpreter_that_dies_is_reported_and_replaced(fresh):
    seen = run(fresh, "import os, signal\nprint('last words', flush=True)\nos.kill(os.getpid(), signal.SIGSEGV)")
    assert seen.is_error
    assert seen.text.startswith("last words\n[The interpreter ended by the signal SIGSEGV. All variables are gone")
    assert run(fresh, "1 + 1").text == "2"


def test_close_ends_processes_started_by_cells(tmp_path, mark):
    with IPythonTool(tmp_path) as tool:
        assert run(tool, background(mark)).text == "started"
        assert processes(mark)
    assert not processes(mark)


OWNER = """
import sys
from workbench.tools.execute_ipython_cell.definition import ExecuteIPythonCellAction, IPythonTool
tool = IPythonTool(sys.argv[1])
tool.executor.on_output = lambda text: print(text, flush=True)
tool(ExecuteIPythonCellAction(code=sys.argv[2] + "import time\\ntime.sleep(300)"))
"""


def test_death_of_the_owner_leaves_no_process(tmp_path, mark):
    command = [sys.executable, "-c", OWNER, str(tmp_path), background(mark)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "started\n"
        assert processes(mark)
        owner.kill()
    eventually(lambda: not processes(mark) and not processes(str(tmp_path)), "nothing is left")


def test_workspaces_interpreter_is_used_if_it_has_ipython(tmp_path):
    python = tmp_path / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\necho own\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    assert not interpreter.find_interpreter(tmp_path).is_own
    package = tmp_path / ".venv/lib/python3.11/site-packages/IPython"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    assert interpreter.find_interpreter(tmp_path) == interpreter.Interpreter(str(python), True, is_brought=True)
    with IPythonTool(tmp_path) as tool:
        assert run(tool, "1").interpreter == str(python)


def test_missing_workspace_packages_are_explained(tool):
    assert "`%pip install` adds one for this session" in run(tool, "import no_such_package").text


def test_missing_ipython_is_one_clear_observation(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    seen = run(IPythonTool(tmp_path), "1")
    assert seen.is_error
    assert "There is no IPython" in seen.text
    assert "pip install ipython" in seen.text


def test_interpreter_that_does_not_start_is_reported(tmp_path):
    with IPythonTool(tmp_path, python="/bin/false") as tool:
        seen = run(tool, "1")
    assert seen.is_error
    assert "could not be started with /bin/false: it ended" in seen.text
    with IPythonTool(tmp_path / "gone") as tool:
        assert "Nothing was run" in run(tool, "1").text


def test_cell_needs_approval_and_the_tool_is_created_by_name(tmp_path):
    (tool,) = resolve_tool(Tool("execute_ipython_cell"), ToolContext(str(tmp_path)))
    assert not tool.is_read_only
    assert "security_risk" in tool.to_openai_tool()["function"]["parameters"]["required"]
    assert len(tool.short_description) < len(tool.description)
    with pytest.raises(ArgumentError, match="timeout"):
        tool.action_from_arguments({"code": "1", "timeout": 0})
