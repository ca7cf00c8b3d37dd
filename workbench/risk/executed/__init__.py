"""The files that an action executes or reads as code, and their content.

An approval is bound to `executed_files` besides the arguments of the action: when one of them changes, it asks again.
"""

from __future__ import annotations

from workbench.risk.executed.commands import executed_files
from workbench.risk.executed.started import files_started

__all__ = ["executed_files", "files_started"]
