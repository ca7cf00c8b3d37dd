"""The failures that an editor receives as particular errors of the protocol."""

from __future__ import annotations

from workbench.errors import WorkbenchError


class RunFailed(WorkbenchError):
    """What a prompt started has failed; the message is one line for the user."""


class ModelNotReady(RunFailed):
    """No model is set up, or its API key is missing or was rejected: an editor then shows how to set one up."""
