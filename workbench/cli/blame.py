"""`ohw blame` shows who wrote each line of a file: an action of the agent, the user, or unknown."""

from __future__ import annotations

import json
from argparse import Namespace

from workbench.cli.common import print_error, print_line, settings_of, workspace_of
from workbench.session.blame.blame import blame_file, line_range, lines_between
from workbench.view import clock
from workbench.view.agent_trace import revision_of, trace_record
from workbench.view.blame import blame_data, blame_text, described


def blame(arguments: Namespace) -> int:
    """Print who wrote the lines of a file. Raises UsageError if the file cannot be shown."""
    locations, _ = settings_of(arguments, lenient=True)
    workspace = workspace_of(arguments)
    name, lines = line_range(arguments.file, workspace)
    view = described(locations, lines_between(blame_file(locations, workspace, name), lines))
    if arguments.format == "json":
        print_line(json.dumps(blame_data(view), ensure_ascii=False))
    elif arguments.format == "agent-trace":
        print_line(json.dumps(trace_record(view, revision_of(workspace, view.path), clock.now()), ensure_ascii=False))
    else:
        for line in blame_text(view, clock.now()):
            print_line(line)
    for note in view.notes:
        print_error(note)
    return 0
