"""The approval modes: one table with their names, what they ask about and their order."""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from workbench.protocol.risk import Mode, Risk


class ApprovalMode:
    """One approval mode; `label` is its name in the interface."""

    __slots__ = ("asks", "asks_about_edits", "label", "meaning")

    def __init__(
        self, label: str, meaning: str, asks: tuple[Risk, ...], asks_about_edits: tuple[Risk, ...] | None = None
    ) -> None:
        """Actions with a risk in `asks` need the user's approval; for edits of files in the workspace,
        `asks_about_edits` applies instead, if it is given.
        """
        self.label = label
        self.meaning = meaning
        self.asks = asks
        self.asks_about_edits = asks if asks_about_edits is None else asks_about_edits


_FROM_MEDIUM: Final[tuple[Risk, ...]] = ("MEDIUM", "HIGH", "UNKNOWN")
_FROM_HIGH: Final[tuple[Risk, ...]] = ("HIGH", "UNKNOWN")
MODES: Final[Mapping[Mode, ApprovalMode]] = {
    "plan": ApprovalMode("Plan", "only reads run", _FROM_MEDIUM),
    "ask": ApprovalMode("Ask every time", "everything that is not read-only asks", ("LOW", *_FROM_MEDIUM)),
    "medium": ApprovalMode("Ask (medium+)", "medium and high risk ask", _FROM_MEDIUM),
    "edits": ApprovalMode(
        "Accept edits", "workspace edits run, the rest asks from medium up", _FROM_MEDIUM, _FROM_HIGH
    ),
    "high": ApprovalMode("Ask (high only)", "only high risk asks", _FROM_HIGH),
    "never": ApprovalMode("Don't ask", "protected files and unrecoverable deletions ask", ()),
}
"""Each mode by the name that settings, flags and commands use, in the order in which the interface lists them."""
MODE_NAMES: Final[Mapping[str, str]] = {name: mode.label for name, mode in MODES.items()}
"""The name that the interface shows for each mode."""
NEVER: Final = "never"
"""The mode that never asks: it is selected only by its name, never by a key, and the user has to confirm it."""
MODE_CYCLE: Final = tuple(name for name in MODES if name != NEVER)
"""The modes that a key steps through."""
NEVER_MEANS: Final = (
    "From now on, every action the agent proposes runs at once, whatever its risk. You are asked only about "
    "protected files, about what could not be restored, and where one of your rules asks.",
    "Pending approvals still need your decision.",
)
"""The paragraphs that explain the mode that never asks when the user has to confirm it."""
PLAN_COMMANDS: Final = (
    "commands that look at files of the workspace, such as `git log`, `ls`, `cat` and `grep`, also joined by `|`, `&&` "
    "or `;` and after `cd` inside the workspace, without variables, redirects or background jobs"
)
"""The commands that a shell runs in plan mode, described for the model."""
