"""What is done on the main screen with messages that still wait for the agent."""

from __future__ import annotations

from textual import on

from workbench.client.client import Client
from workbench.protocol.commands import UnqueueMessage
from workbench.tui.focusing import give_keys
from workbench.tui.outbox import Outbox
from workbench.tui.screens.finding import Finding
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.queue import QueueList


class Queueing(Finding):
    """The part of the main screen that takes queued messages back."""

    link: Client
    outbox: Outbox

    def action_queue(self) -> None:
        """Go to the messages that wait."""
        if not self.query_one(QueueList).enter():
            self.notify("no message waits for the agent", timeout=3)

    @on(QueueList.Withdrawn)
    def on_queue_list_withdrawn(self, withdrawn: QueueList.Withdrawn) -> None:
        """Ask for the message back; it stands in the prompt once the log says that it is."""
        if withdrawn.edit:
            self.outbox.want(withdrawn.item.seq)
        self.link.send(UnqueueMessage(message=withdrawn.item.seq))

    @on(QueueList.Left)
    def on_queue_list_left(self, left: QueueList.Left) -> None:
        """Back to what is being written."""
        prompt = self.query_one(Prompt)
        give_keys(prompt)
        if left.typed:
            prompt.type_in(left.typed)
