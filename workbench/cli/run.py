"""`ohw run`: one run without a screen."""

from __future__ import annotations

import sys
from argparse import Namespace

from workbench.cli.given import settings_of, workspace_of


def run(arguments: Namespace) -> int:
    """The run; its exit code says how it ended."""
    where, settings = settings_of(arguments)
    prompt = sys.stdin.read() if arguments.prompt == "-" else arguments.prompt
    from workbench.engine.peers import mark_descendants
    from workbench.plain.headless import run as run_headless

    mark_descendants()
    return run_headless(where, settings, workspace_of(arguments), prompt, as_json=arguments.json)
