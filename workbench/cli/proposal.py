"""`ohw proposal` prints what `/commit` and `/pr` propose for a session here, for a screen on another machine."""

from __future__ import annotations

import os
from argparse import Namespace

import msgspec

from workbench.cli.common import print_line, settings_of, workspace_of
from workbench.session.session_names import session_path
from workbench.session.storage.cleanup import has_no_event
from workbench.view.git_proposals import proposal_of, state_of
from workbench.view.state import SessionState


def proposal(arguments: Namespace) -> int:
    """Print the proposal as JSON. Raises WorkbenchError if git or the session has none."""
    where, settings = settings_of(arguments, lenient=True)
    workspace, file = workspace_of(arguments), session_path(where, arguments.id)
    # The file of a session without a message may have no event yet.
    state = SessionState(session_id=arguments.id, workspace=str(workspace))
    if file.exists() and not has_no_event(file):
        state = state_of(file)
    proposed = proposal_of(state, arguments.name, workspace, os.environ, has_trailers=settings.commit_trailers)
    print_line(msgspec.json.encode(proposed).decode())
    return 0
