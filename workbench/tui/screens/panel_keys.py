"""What the keys of the panels do on the main screen: unfold one, give it all the room, scroll the conversation."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events, on
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.widget import Widget

from workbench.tui.focusing import give_keys
from workbench.tui.opening import open_rules, open_servers, open_spending
from workbench.tui.textual_seam.screen import LowLatencyScreen
from workbench.tui.widgets.changes import ChangesPanel
from workbench.tui.widgets.conversation import Conversation
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.side import PANELS, PanelTabs, SidePanels
from workbench.view.prompt.completion import mention_of
from workbench.view.state import Changed, SessionState

if TYPE_CHECKING:
    from workbench.tui.app import WorkbenchApp


class PanelKeys(LowLatencyScreen):
    """The part of the main screen that moves between its panels."""

    _sized_at: Size | None = None
    """The size of the screen when panels were last resized."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "panel('timeline')", "Timeline", id="timeline", priority=True),
        Binding("f3", "panel('tasks')", "Tasks", id="tasks", priority=True),
        Binding("f4", "panel('changes')", "Changes", id="changes", priority=True),
        Binding("f6", "zoom", "Maximise a panel", id="zoom", priority=True),
        Binding("alt+left", "resize(4, 0)", "Wider panels", id="wider", priority=True, show=False),
        Binding("alt+right", "resize(-4, 0)", "Narrower panels", id="narrower", priority=True, show=False),
        Binding("alt+up", "resize(0, 2)", "Higher panel", id="higher", priority=True, show=False),
        Binding("alt+down", "resize(0, -2)", "Lower panel", id="lower", priority=True, show=False),
        Binding("ctrl+home", "ends(False)", "Start of the conversation", id="scroll-start", priority=True, show=False),
        Binding("ctrl+end", "ends(True)", "End of the conversation", id="scroll-end", priority=True, show=False),
        Binding("ctrl+up", "scroll(-3)", "Conversation up", id="scroll-up", priority=True, show=False),
        Binding("ctrl+down", "scroll(3)", "Conversation down", id="scroll-down", priority=True, show=False),
    ]

    state: SessionState
    """What the panels show."""

    @abstractmethod
    def show(self, changed: Changed | None) -> None:
        """Repaint what changed."""

    @on(SidePanels.Filtered)
    def on_filtered(self) -> None:
        """The title counts the rows that are shown."""
        self.show(Changed())

    @on(ChangesPanel.ScopeChanged)
    def on_scope_changed(self) -> None:
        """The changes list shows this turn alone, or the whole session again."""
        self.state.only_turn = not self.state.only_turn
        self.show(Changed(changes=True))

    def action_rules(self) -> None:
        """The rules, and what they fit in this session."""
        app = cast("WorkbenchApp", self.app)
        open_rules(app, app.state, app.opened.workspace, app.settings.trusted, app.opened.link)

    def action_servers(self) -> None:
        """The MCP servers, their tools and logs."""
        app = cast("WorkbenchApp", self.app)
        open_servers(app, app.settings, app.opened.workspace)

    def action_mention(self, path: str) -> None:
        """Name a file in the prompt, so that it goes with the message."""
        self.query_one(Prompt).type_in(f"{mention_of(path)} ")

    def action_paste_image(self) -> None:
        """Name the image on the clipboard in the prompt, or say why there is none."""
        self.query_one(Prompt).paste_image()

    def on_resize(self, event: events.Resize) -> None:
        """Sizes the person chose hold for the screen they were chosen on."""
        if self._sized_at and self._sized_at != event.size:
            self._sized_at = None
            self.query_one(SidePanels).reset_sizes()

    @on(PanelTabs.Chosen)
    def action_panel(self, panel: str | PanelTabs.Chosen) -> None:
        """Go to a panel; on a narrow screen unfold it, and fold it when it is where we are."""
        name = panel.panel if isinstance(panel, PanelTabs.Chosen) else panel
        side = self.query_one(SidePanels)
        is_here = self.has_class("-narrow") and side.opened == name
        side.open("" if is_here else name)
        give_keys(self.query_one(Prompt) if is_here else self.query_one(f"#{name}", Widget), side)

    def action_zoom(self) -> None:
        """Give one panel the whole width, or take it back."""
        zoomed = not self.has_class("-zoomed")
        panel = self.focused if self.focused and self.focused.id in PANELS else self.query_one(Conversation)
        for each in self.query(".panel"):
            each.set_class(zoomed and each is panel, "-zoomed")
        self.set_class(zoomed, "-zoomed")
        self.set_class(zoomed and panel.id in PANELS, "-zoomed-side")

    def action_scroll(self, lines: int) -> None:
        """Move the conversation by some lines, also behind a question."""
        self.query_one(Conversation).scroll_relative(y=lines, animate=False)

    def action_page(self, pages: int) -> None:
        """Move the conversation by screenfuls."""
        self.action_scroll(pages * max(1, self.query_one(Conversation).size.height - 2))

    def action_spending(self) -> None:
        """What the session took, and what fills the model's window."""
        open_spending(self.app, self.state)

    def action_ends(self, last: bool) -> None:
        """To the end of the conversation, and follow it, or to the start of what is loaded."""
        conversation = self.query_one(Conversation)
        (conversation.action_scroll_end if last else conversation.action_scroll_home)()

    def action_resize(self, wider: int, higher: int) -> None:
        """Move the border beside the panels, or above the one that has the keys."""
        side, is_narrow = self.query_one(SidePanels), self.has_class("-narrow")
        if is_narrow and not side.opened:
            return
        self._sized_at = self.size
        if wider and not is_narrow:
            side.make_wider(wider, self.size.width)
        elif higher and is_narrow:
            side.make_higher(side.opened, higher, self.size.height * 6 // 10 + 2)
        elif higher:
            focused = self.focused.id if self.focused is not None else None
            if focused in ("tasks", "changes"):
                side.make_higher(focused, higher, side.size.height)
            else:  # the timeline takes what the others leave
                side.make_higher("tasks", -higher, side.size.height)
