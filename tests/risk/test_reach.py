"""What a call reaches outside its workspace, as far as its words tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.risk import RatingContext, assess
from workbench.risk.reach import reach_of
from workbench.tools.execute_bash.definition import BashTool
from workbench.tools.execute_ipython_cell.definition import IPythonTool
from workbench.tools.str_replace_editor.definition import FileEditorTool
from workbench.tools.tool import ToolDefinition

NETWORK, FILES = "the network", "files outside the directory"


def reach(tool: ToolDefinition, workspace: Path, **arguments: object) -> str:
    context = RatingContext(str(workspace))
    with tool:
        return reach_of(tool, arguments, assess(tool, arguments, context), context)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        *(
            (line, "")
            for line in ("ls", "rm -rf src", "mv a b", "cat /etc/passwd", "echo x >/dev/null", "git commit -m x")
        ),
        *((line, "") for line in ("pytest -q", "make", "kill %1", "curl http://localhost:80/x", "cat requests.txt")),
        *((line, NETWORK) for line in ("curl http://x.y", "git push", "git -C . pull", "pip install x", "npm install")),
        *(
            (line, NETWORK)
            for line in ("ssh h ls", "docker run x", "psql -c x", "echo x > /dev/tcp/h/80", "ls && wget u")
        ),
        ("python3 -c 'import requests; print(1)'", NETWORK),
        *((line, FILES) for line in ("echo x > /tmp/x", "cat ~/x", "cd .. && touch x", "cp ../a b", "find / -name x")),
        ("kill 123", "other processes"),
        ("pkill python", "other processes"),
        ("sudo ls", "the system"),
        ("apt-get install x", "the system"),
    ],
)
def test_command_reaches(tmp_path: Path, command: str, expected: str):
    assert reach(BashTool(tmp_path), tmp_path, command=command) == expected


def test_editor_and_cells_reach(tmp_path: Path):
    view = {"command": "view", "path": str(tmp_path / "a")}
    assert reach(FileEditorTool(), tmp_path, **view) == ""
    assert reach(FileEditorTool(), tmp_path, **{**view, "path": "/srv/a"}) == FILES
    assert reach(IPythonTool(tmp_path), tmp_path, code="print(1)") == ""
    assert reach(IPythonTool(tmp_path), tmp_path, code="import httpx\nhttpx.get('http://x.y')") == NETWORK
