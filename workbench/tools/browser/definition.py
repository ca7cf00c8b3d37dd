"""The tool `browser`, its action and its observation: the model sends calls and gets the page."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from workbench.errors import UsageError
from workbench.tools.browser.calls import parse_calls
from workbench.tools.browser.installation import NO_PLAYWRIGHT, is_missing
from workbench.tools.context import ConversationState, state_directory_of, workspace_of
from workbench.tools.effects import AssessmentContext, Effect, UsesPage
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import DeclaredTool, ToolAnnotations, ToolDefinition

SECONDS = 15.0
_DESCRIPTION = """Drive a browser: open pages, read them, click and fill forms. The result contains the URL, the title, the tabs, the page as a tree of its elements and a picture of the visible part.

`code` contains calls, one a line, done in order until one fails. Elements are named by their ids: `[ref=e12]` in the tree is 'e12'.
* goto('https://…'), go_back(), go_forward(), noop(wait_ms), scroll(delta_x, delta_y) in pixels
* click('e12', button='left', modifiers=[]), dblclick, hover('e12'), focus('e12'), press('e12', 'Control+a'), drag_and_drop('e1', 'e2')
* fill('e12', 'text'), clear('e12'), select_option('e12', ['label']), upload_file('e12', '/absolute/path')

Nothing else is understood: no variables, no other functions. An id stays while its element stays what it is; after a change read the new tree. Tabs are listed with numbers; `tab` chooses one before the calls. Dialogs are answered with Cancel (alerts with OK). Downloads land in the directory downloads of the workspace.
For pages that need no clicking use web_read."""  # noqa: E501
_SHORT = "Drive a browser with calls such as goto('https://…'), click('e12'), fill('e3', 'text'); the page comes back as a tree of elements with ids, and as a picture."  # noqa: E501


class BrowserAction(Action):
    """Calls for the browser."""

    code: str = Field(max_length=20_000, description="The calls, one a line.")
    tab: int | None = Field(None, ge=1, description="The tab to do them in; without it the one in front.")

    @field_validator("code")
    @classmethod
    def _readable(cls, code: str) -> str:
        parse_calls(code)
        return code


class BrowserObservation(Observation):
    """The page after the calls; `error` says which call failed and why."""

    url: str = ""
    title: str = ""
    tabs: Sequence[str] = ()
    error: str = ""
    downloads: Sequence[str] = ()


class BrowserTool(DeclaredTool[BrowserAction, BrowserObservation]):
    """A browser; it starts with the first call."""

    name = "browser"
    description = _DESCRIPTION
    short_description = _SHORT
    action_type = BrowserAction
    observation_type = BrowserObservation
    annotations = ToolAnnotations.writing("Use a browser", open_world=True)

    def __init__(
        self,
        workspace: str | Path | None = None,
        *,
        state_dir: Path | None = None,
        executable: str = "",
        private: bool | list[str] = False,
        pictures: bool = True,
        seconds: float = SECONDS,
        hidden_env: Collection[str] = (),
    ) -> None:
        """`private` allows non-public addresses: all, or listed ones; `seconds` limits the loading of a page."""
        from workbench.tools.browser.impl import BrowserExecutor

        executor = BrowserExecutor(
            Path(workspace or ".").absolute(),
            state_dir,
            executable=executable,
            private=private,
            pictures=pictures,
            seconds=seconds,
            hidden_env=hidden_env,
        )
        super().__init__(executor)

    def assess(self, arguments: Mapping[str, Any], context: AssessmentContext) -> Sequence[Effect]:
        """Return the effect of the calls on the page that is open now."""
        url, elements = getattr(self.executor, "url", ""), getattr(self.executor, "elements", {})
        return (UsesPage(str(arguments.get("code", "")), str(url), elements),)

    @classmethod
    def create(cls, conv_state: ConversationState, **params: Any) -> Sequence[ToolDefinition]:
        """Return a browser for a session. Raises UsageError, which disables the tool, if playwright is missing."""
        if is_missing():
            raise UsageError(NO_PLAYWRIGHT)
        return (cls(**{"workspace": workspace_of(conv_state), "state_dir": state_directory_of(conv_state), **params}),)
