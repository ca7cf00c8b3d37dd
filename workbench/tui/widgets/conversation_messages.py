"""The messages of a conversation: the user's, the agent's, and notices from the workbench."""

from __future__ import annotations

from typing import ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from workbench.text import counted, first_line, visible
from workbench.tui.key_names import key_of
from workbench.tui.messages import BranchChosen, TextChosen
from workbench.tui.textual_seam.layout import SingleLayoutPass
from workbench.tui.widgets.copyable import Copy, Copying
from workbench.tui.widgets.markdown_stream import MarkdownStream
from workbench.tui.widgets.strips import css_beside, update_content
from workbench.view.conversation_window import head_of
from workbench.view.state import ActionItem, AgentItem, NoticeItem, UserItem
from workbench.view.wrapping import code_blocks

MOST_OF_A_MESSAGE: Final = 4_000
"""Maximum number of characters of a user's message that are shown in place."""
MOST_OF_REASONING: Final = 40
"""Maximum number of lines of reasoning that are shown in place."""
_CSS: Final = css_beside(__file__)
_NOTICE_STYLES: Final = {
    "info": ("·", "$dim"),
    "finished": ("✓", "bold $sign-ok"),
    "warning": ("!", "bold $sign-waiting"),
    "error": ("✗", "bold $sign-failed"),
}


class UserText(Copying, Static):
    """A message from the user."""

    DEFAULT_CSS = _CSS
    SCOPED_CSS = False

    def __init__(self, item: UserItem) -> None:
        super().__init__()
        self.item: UserItem = item
        self.show_item()

    def copies(self) -> Copy:
        """Return what `y` copies: the message."""
        return "your message", self.item.text

    def more_copies(self) -> list[Copy]:
        """Return what `Y` copies: the code blocks of the message."""
        return [("code block", block) for block in code_blocks(self.item.text)]

    def show_item(self) -> None:
        """Show the message as it is now."""
        item = self.item
        command = (f" · {item.command}" if item.command else "", "$dim")
        withdrawn = (" · removed before it was sent", "$dim") if item.withdrawn else ""
        cut = "\n…" if len(self.item.text) > MOST_OF_A_MESSAGE else ""
        text = visible(item.text[:MOST_OF_A_MESSAGE].rstrip()) + cut
        signed = [*(f"▣ {each}" for each in item.images), *(f"⇣ {each}" for each in item.resources)]
        chips = Content("").join(Content.styled(f"\n{each}", "$secondary") for each in signed)
        body = Content.styled(text, "$dim" if item.withdrawn else "")
        self.update(Content.assemble(("You", "bold $primary"), command, withdrawn, "\n", body, chips))


class NoticeText(Static):
    """A notice from the workbench."""

    DEFAULT_CSS = _CSS
    SCOPED_CSS = False

    def __init__(self, item: NoticeItem) -> None:
        super().__init__()
        self.item = item
        self.show_item()

    def show_item(self) -> None:
        """Show the notice as it is now."""
        item = self.item
        sign, style = _NOTICE_STYLES[item.kind]
        line = Content.assemble((f"{sign} {visible(item.text[:MOST_OF_A_MESSAGE])}", style))
        if item.facts:
            line = Content.assemble(line, (f" · {item.facts}", "$dim"))
        if item.has_changes:
            key = key_of(self.app, "diff", "f5")
            line = Content.assemble(line, "   ", (key, "$footer-key-foreground"), (" Review", "$dim"))
        self.update(line)


class MoreText(Static, can_focus=True):
    """A line that opens a complete text in the pager."""

    DEFAULT_CSS = _CSS
    SCOPED_CSS = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "open", "Open", id="conversation.open-text")]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self.title = title
        self.text = text

    def set_text(self, line: str, text: str, *, shows_key: bool = True) -> None:
        """Set the line and the text that it opens; an empty line hides it."""
        self.text = text
        self.display = bool(line)
        hint = f"   {key_of(self.app, 'conversation.open-text', 'enter')} Open" if shows_key else ""
        update_content(self, Content(visible(f"{line}{hint}", lines=False)))

    def action_open(self) -> None:
        """Ask for the complete text to be shown."""
        self.post_message(TextChosen(self.title, self.text))

    def on_click(self, event: events.Click) -> None:
        """Open the text."""
        event.stop()
        self.action_open()


class OpenNotice(MoreText):
    """A notice from the workbench, with details that open in the pager."""

    def __init__(self, item: NoticeItem) -> None:
        super().__init__(item.title, item.detail)
        self.item = item
        self.show_item()

    def show_item(self) -> None:
        """Show the notice as it is now."""
        sign, _ = _NOTICE_STYLES[self.item.kind]
        self.set_text(f"{sign} {self.item.text}", self.item.detail)

    def action_open(self) -> None:
        """Ask for the details, or for the inactive branch that it stands for."""
        if self.item.branch:
            self.post_message(BranchChosen(*self.item.branch))
        else:
            super().action_open()


class AgentText(Copying, Vertical, SingleLayoutPass):
    """A message from the agent: reasoning folded to one line, then Markdown, streaming or complete."""

    DEFAULT_CSS = _CSS
    SCOPED_CSS = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "fold", "Reasoning", id="conversation.reasoning")]

    def __init__(self, item: AgentItem) -> None:
        super().__init__()
        self.item: AgentItem = item
        self._body = MarkdownStream(item.text, streaming=item.streaming)
        self._reasoning: MoreText | None = None
        self._thoughts: Static | None = None
        self._more: MoreText | None = None

    def compose(self) -> ComposeResult:
        """Yield reasoning, text and a line for the rest; parts without anything to show are not created yet."""
        self._refresh_parts()
        parts = (self._reasoning, self._thoughts, self._body, self._more)
        yield from (part for part in parts if part is not None)

    def on_mount(self) -> None:
        """Show what arrived while it was mounted."""
        self._refresh_parts()

    def show_item(self) -> None:
        """Show the text so far."""
        self._body.grow(self.item.text)
        self._refresh_parts()

    def copies(self) -> Copy:
        """Return what `y` copies: the message as the agent wrote it."""
        return "the message", self.item.text

    def more_copies(self) -> list[Copy]:
        """Return what `Y` copies: the code blocks of the message."""
        return [("code block", block) for block in code_blocks(self.item.text)]

    def action_fold(self) -> None:
        """Show the reasoning in place, or fold it."""
        self.item.unfolded = not self.item.unfolded
        self._refresh_parts()

    def finish(self, item: AgentItem) -> None:
        """Replace the streamed text with the stored answer."""
        item.unfolded = self.item.unfolded
        self.item = item
        self._body.finish(item.text)
        self._refresh_parts()

    def _refresh_parts(self) -> None:
        self._show_reasoning()
        item = self.item
        hidden_count = len(item.text) - len(head_of(item.text)) if not item.streaming else 0
        lines = f"{item.text[-hidden_count:].count(chr(10)) + 1} lines more" if hidden_count else ""
        line = lines or ("… cut short" if item.incomplete else "")
        if line and self._more is None:
            self._more = MoreText("Message", "")
            self._add_part(self._more)
        if self._more is not None:
            self._more.set_text(line, item.text)

    def _show_reasoning(self) -> None:
        item = self.item
        line = _reasoning_line(item)
        if line and self._reasoning is None:
            self._reasoning = MoreText("Reasoning", "")
            self._add_part(self._reasoning, before=self._body)
        if self._reasoning is not None:
            self._reasoning.set_text(line, item.reasoning, shows_key=bool(item.text) or not item.streaming)
        is_open = item.unfolded and bool(item.reasoning.strip())
        if is_open and self._thoughts is None:
            self._thoughts = Static(classes="thoughts")
            self._add_part(self._thoughts, before=self._body)
        if self._thoughts is not None:
            self._thoughts.display = is_open
            if is_open:
                update_content(self._thoughts, Content(visible(_tail_of(item.reasoning.strip()))))

    def _add_part(self, part: Widget, before: Widget | None = None) -> None:
        """Mount a part if the others are mounted already; otherwise `compose` does."""
        if self._body.parent is not None:
            self.mount(part, before=before)


class FinalText(Copying, Vertical):
    """The agent's final message, from its `finish` action."""

    DEFAULT_CSS = _CSS
    SCOPED_CSS = False

    def __init__(self, item: ActionItem) -> None:
        super().__init__()
        self.item: ActionItem = item

    def copies(self) -> Copy:
        """Return what `y` copies: the message as the agent wrote it."""
        return "the message", str(self.item.arguments.get("message", ""))

    def more_copies(self) -> list[Copy]:
        """Return what `Y` copies: the code blocks of the message."""
        return [("code block", block) for block in code_blocks(self.copies()[1])]

    def compose(self) -> ComposeResult:
        """Yield the message as Markdown, and a line for the rest of a long one."""
        message = self.copies()[1]
        hidden_count = len(message) - len(head_of(message))
        yield MarkdownStream(message)
        if hidden_count:
            more = MoreText("Message", message)
            more.set_text("all of it", message)
            yield more

    def show_item(self) -> None:
        """Do nothing, because the text does not change."""


def _reasoning_line(item: AgentItem) -> str:
    if not item.reasoning.strip():
        return ""
    sign = "▾" if item.unfolded else "▸"
    if item.streaming and not item.text:
        last = item.reasoning[-400:].rstrip().rpartition("\n")[2]
        return f"{sign} reasoning … {first_line(last, 60)}"
    count = item.reasoning.strip().count("\n") + 1
    return f"{sign} reasoning · {counted(count, 'line')}"


def _tail_of(text: str) -> str:
    lines = text.splitlines()
    hidden_count = len(lines) - MOST_OF_REASONING
    return text if hidden_count <= 0 else "\n".join([f"… {hidden_count} lines before", *lines[hidden_count:]])
