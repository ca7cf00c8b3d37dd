"""`ohw workspace` answers one request about the workspace, for a screen on another machine."""

from __future__ import annotations

import sys
from argparse import Namespace

from workbench.cli.common import print_line, settings_of, workspace_of
from workbench.view.workspace_requests import AnsweringMachine, answered


def workspace(arguments: Namespace) -> int:
    """Read the request from the input, and print the answer. Raises WorkbenchError if there is none."""
    where, settings = settings_of(arguments, lenient=True)
    machine = AnsweringMachine(where, workspace_of(arguments), settings.commit_trailers)
    print_line(answered(sys.stdin.buffer.read(), machine))
    return 0
