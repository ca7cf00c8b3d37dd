"""One question on the screen, for tests: open actions, the app that asks, what it shows."""

from __future__ import annotations

from collections.abc import Sequence

from textual.pilot import Pilot

from tests.tui.diff_app import Clock, ScreenApp, painted, question
from tests.tui.waiting import until
from workbench.protocol.events import AlwaysChoice, FileDelta
from workbench.tui.screens.approval import ApprovalScreen
from workbench.view.approval.questions import Asked
from workbench.view.state import ActionItem


def command(text: str = "rm -rf build", **more: object) -> ActionItem:
    fields: dict[str, object] = {
        "summary": "clean up",
        "model_risk": "LOW",
        "risk": "HIGH",
        "rule": 'mode "Ask (medium+)"',
        "working_dir": "/w",
    }
    return ActionItem(1, 1, "a1", "execute_bash", {"command": text}, **{**fields, **more})  # type: ignore[arg-type]


def choices(*rules: str) -> tuple[AlwaysChoice, ...]:
    """Return what "always" offers: one choice for each text, with its lines as rules."""
    return tuple(AlwaysChoice(label=f"Choice {rule}", rules=tuple(rule.splitlines())) for rule in rules)


def edit(before: str | None = "x = 1\n", after: str | None = "x = 2\n") -> ActionItem:
    delta = FileDelta(path="/w/a.py", before=before, after=after)
    arguments = {"command": "str_replace", "path": "/w/a.py", "old_str": "1", "new_str": "2"}
    return ActionItem(1, 1, "a1", "str_replace_editor", arguments, risk="MEDIUM", preview=(delta,), working_dir="/w")


def ask(
    action: ActionItem,
    position: int = 1,
    total: int = 1,
    waiting: Sequence[ActionItem] = (),
    changed: Sequence[str] = (),
    workspace: str = "",
) -> tuple[ScreenApp, Clock]:
    clock = Clock()
    screen = ApprovalScreen(
        Asked(action, position, total, waiting=waiting, workspace=workspace),
        changed=changed,
        clock=clock,
        type_in_prompt=lambda text: app.typed.append(text),
    )
    app = ScreenApp(screen)
    return app, clock


def keys_shown(app: ScreenApp) -> str:
    return str(app.pushed.query_one("#keys").render())


def painted_part(app: ScreenApp, part: str) -> str:
    return painted(app.pushed.query_one(part))


async def visible_now(pilot: Pilot[None], app: ScreenApp) -> None:
    await until(pilot, lambda: question(app).quiet.arming._quiet_since is not None, "visible")
    await until(
        pilot, lambda: app.pushed.query_one("#why").size.height > 0 and painted_part(app, "#why") != "", "painted"
    )


async def arm(pilot: Pilot[None], app: ScreenApp, clock: Clock) -> None:
    await visible_now(pilot, app)
    clock.now += 60
    await until(pilot, lambda: "in 0.5s" not in keys_shown(app), "armed")
