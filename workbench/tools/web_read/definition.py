"""The tool `web_read`: its action, observation and description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from workbench.tools.context import ConversationState, state_directory_of
from workbench.tools.effects import AssessmentContext, Effect, ReadsURL
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import DeclaredTool, ToolAnnotations, ToolDefinition

SECONDS = 30.0
MEGABYTES = 10.0

_DESCRIPTION = """Read a page of the web by its URL; the result is its main text as Markdown, with its links.

* Works for HTML, PDF, plain text, JSON and the like. Scripts are not run: a page that they build shows little or nothing.
* A long page comes in parts, each with its number and how many there are: ask for the next with `page`.
* What was read once is kept for the session; `fresh` fetches it again. `part` "all" adds menus, side columns and footers.
* Only public addresses, by GET, without signing in. Never put keys or private data into a URL."""  # noqa: E501
_SHORT = "Read a page of the web (HTML, PDF, text) as Markdown; long ones in parts by `page`."


class WebReadAction(Action):
    """The URL of a page, and which part of its text."""

    url: str = Field(min_length=1, max_length=8_000, description="The complete URL, with https://.")
    page: int = Field(1, ge=1, description="Which part of a long page, from 1.")
    part: Literal["main", "all"] = Field("main", description="Its main text, or everything on it.")
    fresh: bool = Field(False, description="True: fetch it again, although it was read before.")


class WebReadObservation(Observation):
    """A part of a page: `url` is the final URL after redirects, `pages` the number of parts."""

    url: str = ""
    title: str = ""
    kind: str = ""
    page: int = 1
    pages: int = 0
    status: int | None = None
    kept: bool = False
    """Whether the page was read earlier in the session, and not fetched again."""


class WebReadTool(DeclaredTool[WebReadAction, WebReadObservation]):
    """Reads web pages; `private` allows non-public addresses: all, or the listed hosts and networks."""

    name = "web_read"
    description = _DESCRIPTION
    short_description = _SHORT
    action_type = WebReadAction
    observation_type = WebReadObservation
    annotations = ToolAnnotations.reading("Read a web page", open_world=True)

    def __init__(
        self,
        *,
        state_dir: Path | None = None,
        private: bool | list[str] = False,
        seconds: float = SECONDS,
        megabytes: float = MEGABYTES,
        proxy: bool = False,
    ) -> None:
        """`proxy` enables the proxies that are set in the environment."""
        from workbench.tools.web_read.impl import WebReadExecutor
        from workbench.web.fetch import FetchLimits
        from workbench.web.network import NetworkPolicy

        limits = FetchLimits(int(megabytes * 1_000_000), seconds)
        super().__init__(WebReadExecutor(state_dir, NetworkPolicy(private), limits, through_proxy=proxy))

    def assess(self, arguments: Mapping[str, Any], context: AssessmentContext) -> Sequence[Effect]:
        """Return the GET request as the only effect."""
        return (ReadsURL(str(arguments.get("url", ""))),)

    @classmethod
    def create(cls, conv_state: ConversationState, **params: Any) -> Sequence[ToolDefinition]:
        """Return the tool for a session; it stores the pages that it has read with the session."""
        return (cls(**{"state_dir": state_directory_of(conv_state), **params}),)
