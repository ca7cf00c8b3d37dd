"""The files that an action executes or reads as code: which there are, and what they hold.

`executed_files` is what the approval of an action is bound to besides its arguments; it is used by `session.acting`.
"""

from __future__ import annotations

from workbench.risk.executed.commands import executed_files

__all__ = ["executed_files"]
