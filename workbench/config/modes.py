"""The approval modes: their names, their order, and an explanation of the mode that never asks."""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

MODE_NAMES: Final[Mapping[str, str]] = {
    "medium": "Ask (medium+)",
    "ask": "Ask every time",
    "high": "Ask (high only)",
    "never": "Don't ask",
    "plan": "Plan (read-only)",
}
"""The name that the interface shows for each mode."""
MODES: Final = tuple(MODE_NAMES)
NEVER: Final = "never"
"""The mode that never asks: it is selected only by its name, never by a key, and the user has to confirm it."""
MODE_CYCLE: Final = ("plan", "ask", "medium", "high")
"""The modes that a key steps through, the strictest first."""
NEVER_MEANS: Final = (
    "From now on, every action the agent proposes runs at once, whatever its risk. You are asked only about "
    "protected files, about what could not be restored, and where one of your rules asks.",
    "Pending approvals still need your decision.",
)
"""The paragraphs that explain the mode that never asks when the user has to confirm it."""
PLAN_COMMANDS: Final = (
    "commands that look at files of the workspace, such as `git log`, `ls`, `cat` and `grep`, also joined by `|`, `&&` "
    "or `;`, without `cd`, variables, redirects or background jobs"
)
"""What a shell runs in plan mode, for the model."""
