"""python_execute: a fresh interpreter for each call, and nothing left of it afterwards."""

import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import psutil
import pytest

from tests.tools.shells import BACKGROUND, eventually, processes
from workbench.tools import ArgumentError, Tool, ToolContext, resolve_tool
from workbench.tools.python_execute.definition import PythonExecuteTool

FOREVER = "import time\nwhile True: time.sleep(1)\n"


@pytest.fixture
def tool(tmp_path):
    return PythonExecuteTool(tmp_path)


def run(tool, code: str, **arguments):
    return tool(tool.action_from_arguments({"code": textwrap.dedent(code), **arguments}))


def background(mark: str) -> str:
    return BACKGROUND.replace("MARK", repr(mark))


def test_printed_output_is_returned(tool):
    result = run(tool, "for number in range(3):\n    print(number, 'ä')", timeout=60)
    assert (result.text, result.output, result.exit_code, result.is_error) == (
        "0 ä\n1 ä\n2 ä",
        "0 ä\n1 ä\n2 ä\n",
        0,
        False,
    )


def test_values_are_not_shown_and_missing_output_is_reported(tool):
    result = run(tool, "1 + 1", timeout=60)
    assert not result.is_error
    assert "printed nothing" in result.text


def test_each_call_runs_in_a_new_interpreter(tool):
    run(tool, "x = 1", timeout=60)
    assert "NameError" in run(tool, "print(x)", timeout=60).text


def test_code_runs_in_the_workspace_as_the_main_program(tool, tmp_path):
    (tmp_path / "helper.py").write_text("VALUE = 42")
    code = "import os, helper\nif __name__ == '__main__':\n    print(os.getcwd(), helper.VALUE)"
    assert run(tool, code, timeout=60).text == f"{tmp_path} 42"


def test_workspaces_interpreter_is_used(tmp_path):
    python = tmp_path / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\necho own\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    assert run(PythonExecuteTool(tmp_path), "print('code')", timeout=60).text == "own\ncode"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("print('before')\n\n1 / 0", "before\n[Error: ZeroDivisionError: division by zero (line 3 of the code)]"),
        ("x = (", "[Error: SyntaxError: '(' was never closed (line 1 of the code)]"),
        ("raise SystemExit(3)", "[It ended with exit code 3.]"),
        ("import sys; sys.exit('wrong input')", "[Error: wrong input]"),
        ("input()", "[Error: EOFError: EOF when reading a line (line 1 of the code)]"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "[Error: it was ended by the signal SIGSEGV.]"),
        ("raise ValueError('a\\x1b[2Jb')", "[Error: ValueError: a\\e[2Jb (line 1 of the code)]"),
    ],
)
def test_errors_are_reported_with_their_line(tool, code, message):
    result = run(tool, code, timeout=60)
    assert result.is_error
    assert result.text == message


def test_stderr_without_an_error_is_omitted(tool):
    result = run(tool, "import sys; print('noise', file=sys.stderr); print('result')", timeout=60)
    assert (result.text, result.is_error) == ("result", False)


def test_users_keys_and_tokens_are_not_passed_on(tool, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("HARMLESS", "seen")
    result = run(tool, "import os; print(os.environ.get('OPENAI_API_KEY'), os.environ['HARMLESS'])", timeout=60)
    assert result.text == "None seen"


def test_long_output_keeps_its_beginning_and_end(tool):
    result = run(tool, "for n in range(200_000): print('line', n)", timeout=60)
    assert len(result.text) < 31_000
    assert result.text.startswith("line 0\nline 1\n")
    assert result.text.endswith("line 199999")
    assert "bytes omitted" in result.text


def test_endless_output_is_bounded_and_ends_at_the_timeout(tool):
    before = psutil.Process().memory_info().rss
    result = run(tool, "while True: print('x' * 100_000)", timeout=2)
    assert result.timed_out
    assert len(result.text) < 31_000
    assert psutil.Process().memory_info().rss - before < 100_000_000


def test_invalid_bytes_are_replaced(tool):
    result = run(tool, r"import sys; sys.stdout.buffer.write(b'a\xff\x00b')", timeout=60)
    assert result.output == "a\ufffd\ufffdb"


def test_output_is_streamed_while_the_code_runs(tool):
    seen: list[str] = []
    tool.executor.on_output = seen.append
    run(tool, "print('one'); print('two')", timeout=60)
    assert "".join(seen) == "one\ntwo\n"


def test_code_is_ended_with_its_processes_at_the_timeout(tool, mark):
    result = run(tool, background(mark) + FOREVER, timeout=3)
    assert result.is_error
    assert result.timed_out
    assert "Ended after 3 seconds" in result.text
    eventually(lambda: not processes(mark), "nothing is left")


def test_default_timeout_is_five_seconds(tool):
    assert tool.action_from_arguments({"code": "1"}).timeout == 5
    for timeout in (0, -1, 10_000):
        with pytest.raises(ArgumentError, match="timeout"):
            tool.action_from_arguments({"code": "1", "timeout": timeout})


def test_code_that_ends_leaves_no_process(tool, mark):
    result = run(tool, background(mark), timeout=60)
    assert (result.text, result.is_error) == ("started", False)
    eventually(lambda: not processes(mark), "nothing is left")


def test_code_that_kills_its_supervisor_leaves_no_process(tool, mark):
    result = run(tool, background(mark) + f"import os\nos.kill(os.getppid(), 9)\n{FOREVER}", timeout=60)
    assert result.is_error
    assert not result.timed_out
    assert "watches over the code" in result.text
    eventually(lambda: not processes(mark), "nothing is left")
    assert run(tool, "print('again')", timeout=60).text == "again"


def test_interrupt_ends_the_code_with_its_processes(tool, mark):
    started = threading.Event()
    tool.executor.on_output = lambda text: started.set()
    results = []
    thread = threading.Thread(target=lambda: results.append(run(tool, background(mark) + FOREVER, timeout=300)))
    thread.start()
    assert started.wait(60)
    tool.interrupt()
    thread.join(60)
    assert results[0].is_error
    assert not results[0].timed_out
    assert "Interrupted" in results[0].text
    eventually(lambda: not processes(mark), "nothing is left")


OWNER = """
import sys
from workbench.tools.python_execute.definition import PythonExecuteAction, PythonExecuteTool
tool = PythonExecuteTool(sys.argv[1])
tool.executor.on_output = lambda text: print(text, flush=True)
tool(PythonExecuteAction(code=sys.argv[2], timeout=300))
"""


def test_death_of_the_owner_leaves_no_process(tmp_path, mark):
    command = [sys.executable, "-c", OWNER, str(tmp_path), background(mark) + FOREVER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "started\n"
        assert processes(mark)
        owner.kill()
    eventually(lambda: not processes(mark), "nothing is left")


def test_excessive_memory_is_an_error_of_the_code(tool):
    assert "MemoryError" in run(tool, "x = bytearray(8 << 30)", timeout=60).text


def test_deleted_directory_is_reported(tmp_path):
    result = run(PythonExecuteTool(tmp_path / "gone"), "print(1)", timeout=60)
    assert result.is_error
    assert "Nothing was run" in result.text


def test_code_needs_approval_and_the_tool_is_created_by_name(tmp_path):
    (tool,) = resolve_tool(Tool("python_execute"), ToolContext(str(tmp_path)))
    assert not tool.is_read_only
    assert "security_risk" in tool.to_openai_tool()["function"]["parameters"]["required"]
    assert len(tool.short_description) < len(tool.description)
    with tool:
        assert tool(tool.action_from_arguments({"code": "1/0", "timeout": 60.0})).is_error
    assert Path(tmp_path).exists()
