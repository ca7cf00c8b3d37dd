"""`ohw hooks` lists the hooks of a session in the directory, and those that the session ignores."""

from __future__ import annotations

from argparse import Namespace

from workbench.cli.common import print_line, settings_of, workspace_of
from workbench.view.hook_list import hooks_json, hooks_of, hooks_text


def hooks(arguments: Namespace) -> int:
    """Print the hooks; return 1 if any of them is invalid."""
    where, settings = settings_of(arguments)
    listed = hooks_of(where, settings, workspace_of(arguments))
    for line in hooks_json(listed) if arguments.json else (hooks_text(listed, where),):
        print_line(line)
    return int(any(each.state == "invalid" for each in listed))
