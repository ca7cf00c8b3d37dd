"""What a person does themselves in a session, as events; part of the contract in `events`, which names it too."""

from __future__ import annotations

from typing import Literal

from workbench.session.data import Data, EventBase, FileText


class UserMessage(EventBase):
    """What the person sent; also while the agent runs, then it waits for the next step.

    `mentions` are the files they named, relative to the workspace, `attached` what these held then: `None` for what is
    no text or too large. `images` are data URLs, `image_names` the files they came from, in the same order.
    """

    kind: Literal["user_message"] = "user_message"
    text: str
    images: tuple[str, ...] = ()
    image_names: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    attached: tuple[FileText, ...] = ()


class ResourceText(Data):
    """A resource of an MCP server, as it was when read; `error` says why it could not be. Images are data URLs."""

    name: str
    text: str = ""
    images: tuple[str, ...] = ()
    error: str = ""


class ResourcesRead(EventBase):
    """The resources that the message of event `message` mentions, read for the call of the model that follows."""

    kind: Literal["resources_read"] = "resources_read"
    message: int
    resources: tuple[ResourceText, ...]


class MessageWithdrawn(EventBase):
    """The person took back the message of event `message` before any call of the model held it."""

    kind: Literal["message_withdrawn"] = "message_withdrawn"
    message: int


class CondensingUndone(EventBase):
    """The person took back the condensing of event `condensed`: events `first`..`last` are sent to the model again."""

    kind: Literal["condensing_undone"] = "condensing_undone"
    condensed: int
    first: int
    last: int


class PersonCommand(EventBase):
    """A shell command of the person's own; it runs once no action does, and an `action_observed` holds its result."""

    kind: Literal["person_command"] = "person_command"
    action_id: str
    command: str
