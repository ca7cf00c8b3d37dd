"""The prompt with the list above it, connected to history, commands and files. Part of the main screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from workbench.client.threads import in_daemon
from workbench.session.file_search import FileIndex
from workbench.tui.focus import focus_now
from workbench.tui.widgets.message_queue import QueueList
from workbench.tui.widgets.prompt import Prompt, placeholder
from workbench.tui.widgets.strips import css_beside
from workbench.tui.widgets.suggestions import Suggestions
from workbench.view.prompt.attachments import Attached, describe_files, images_named
from workbench.view.prompt.completion import Arguments, Completer, ServerOffers
from workbench.view.prompt.prompt_history import PromptHistory
from workbench.view.prompt.remote_files import RemoteFiles
from workbench.view.state import Changed, SessionState

if TYPE_CHECKING:
    from workbench.agent.custom_commands import CustomCommands


class Attachments(Static):
    """One chip for each image; hidden while there are none."""

    def __init__(self) -> None:
        super().__init__(id="attachments")
        self.images: Sequence[Attached] = ()
        self.display = False

    def show(self, images: Sequence[Attached]) -> None:
        """Show these images."""
        self.images = images
        self.display = bool(images)
        self.update(Content("   ").join(_chip(image) for image in images))


def _chip(image: Attached) -> Content:
    if image.is_refused:
        return Content.styled(f"✗ {image.words}", "bold $sign-failed")
    return Content.styled(f"▣ {image.words}", "bold $secondary")


class Composer(Vertical):
    """The prompt, its list, the queue and the attachments; posts submitted text to the main screen."""

    DEFAULT_CSS = css_beside(__file__)

    class ListChanged(Message):
        """Posted when the list has been opened or closed, or shows other rows."""

    class FileMatches(Message):
        """Posted when a thread has found files for a query."""

        def __init__(self, query: str, paths: list[str]) -> None:
            super().__init__()
            self.query, self.paths = query, paths

    def __init__(
        self,
        directory: Path,
        history: Path | None,
        arguments: Mapping[str, Arguments],
        *,
        offers: ServerOffers,
        commands: CustomCommands,
        keymap: str = "default",
        find_remotely: Callable[[str], None] | None = None,
    ) -> None:
        """`history` is the file of sent messages; `arguments` holds possible arguments by the name of their command.

        `offers` holds the resources of MCP servers that can be mentioned, and the servers' prompts; `commands` the
        custom commands. `keymap` is a value of the setting `terminal.keymap`. `find_remotely` requests the files of
        another machine that match a query, and `receive` gets them; with it, no file of this machine is read.
        """
        super().__init__(id="composer")
        self._directory = directory
        self._keymap = keymap
        self._images: list[str] = []
        self.past = PromptHistory(history)
        self.offers = offers
        self.commands = commands
        self.queue = QueueList()
        """Kept as an attribute because it may be updated while the screen is being removed, one widget at a time."""
        self._remote = RemoteFiles(find_remotely, self._post_files) if find_remotely is not None else None
        self._files = self._remote or FileIndex(directory, self._post_files, beside=offers.refresh)
        self._completer = Completer(
            arguments,
            self._list_arguments,
            lambda: list(self.past.newest_first),
            self._files.ask,
            self._changed,
            offers=offers,
            commands=commands,
        )

    def _kind_of_prompt(self) -> type[Prompt]:
        if self._keymap == "vim":
            from workbench.tui.widgets.vim_prompt import VimPrompt

            return VimPrompt
        if self._keymap == "emacs":
            from workbench.tui.widgets.emacs_prompt import EmacsPrompt

            return EmacsPrompt
        return Prompt

    def compose(self) -> ComposeResult:
        """Yield the list, the queue, the images and the prompt."""
        yield Suggestions(self._completer)
        yield self.queue
        yield Attachments()
        yield self._kind_of_prompt()(self.past, self._completer, None if self._remote else self._directory)

    def on_mount(self) -> None:
        """Read the history after the first frame."""
        self.query_one(Prompt).leave_upwards = self.queue.enter
        self.call_after_refresh(self.run_worker, self._read)

    def on_unmount(self) -> None:
        """Stop searching for files."""
        self._files.close()

    def mentioned(self, text: str) -> tuple[str, ...] | None:
        """Return the files and resources that a text mentions; None if they are for the engine to find."""
        from workbench.session.mentions import mentioned

        if self._remote is not None:
            return None if text else ()
        return mentioned(text, self._directory, self.offers.is_resource(text))

    def receive(self, changed: Changed | None) -> None:
        """Show the files that were found on another machine."""
        if self._remote is not None and changed is not None and changed.files is not None:
            self._remote.receive(changed.files.query, changed.files.paths)

    def recall(self, messages: Iterable[str]) -> None:
        """Add messages of this session to the history; its file already contains those written here."""
        for text in messages:
            self.past.remember(text, keep=False)

    def show_state(self, state: SessionState, *, has_model: bool) -> None:
        """Show the queued messages, and what can be written into the empty prompt."""
        self.queue.show(list(state.queued), is_lost=state.work == "lost")
        self.query_one(Prompt).placeholder = placeholder(state, has_model=has_model)

    @on(Prompt.Changed)
    def on_prompt_changed(self, event: Prompt.Changed) -> None:
        """Show the images that the text mentions."""
        text = event.text_area.text
        is_read = "@" in text and self._remote is None and not self.query_one(Prompt).is_foreign
        paths = images_named(text) if is_read else []
        if paths != self._images:
            self._images = paths
            self.run_worker(self._load_images(paths), group="images", exclusive=True)

    async def _load_images(self, paths: list[str]) -> None:
        images = await in_daemon(lambda: describe_files(paths, self._directory)) if paths else []
        self.query_one(Attachments).show(images)

    async def _read(self) -> None:
        self.past.add_older(await in_daemon(self.past.read))
        await in_daemon(self.offers.refresh)
        await in_daemon(self.commands.refresh)

    def _list_arguments(self, of: str, refresh: Callable[[], None]) -> None:
        """Update the list of a command's arguments in a thread, then show it."""

        async def show() -> None:
            await in_daemon(refresh)
            self._completer.show_arguments(of)

        self.run_worker(show(), group="arguments", exclusive=True)

    def _changed(self) -> None:
        self.post_message(self.ListChanged())

    def _post_files(self, query: str, paths: list[str]) -> None:
        if self.is_running:
            self.post_message(self.FileMatches(query, paths))

    @on(ListChanged)
    def on_list_changed(self) -> None:
        """Show the list; the main screen updates its key hints."""
        self.query_one(Suggestions).show()

    @on(FileMatches)
    def on_file_matches(self, matches: FileMatches) -> None:
        """Pass the thread's result on to the list."""
        self._completer.show_files(matches.query, matches.paths)

    @on(Suggestions.Picked)
    def on_picked(self, picked: Suggestions.Picked) -> None:
        """Insert the row that was clicked."""
        self._completer.at = picked.at
        self.query_one(Prompt).action_complete()
        self.query_one(Prompt).focus()

    def enter_queue(self) -> None:
        """Focus the list of queued messages, or say that there are none."""
        if not self.queue.enter():
            self.notify("No queued messages", timeout=3)

    def type_in(self, text: str) -> None:
        """Insert what was typed while a panel had the focus, and focus the prompt at once, for the next key."""
        prompt = self.query_one(Prompt)
        prompt.type_in(text)
        focus_now(prompt)

    def paste(self, text: str) -> None:
        """Paste what was pasted while a panel had the focus, and focus the prompt at once."""
        prompt = self.query_one(Prompt)
        focus_now(prompt)
        prompt.post_message(events.Paste(text))

    def on_key(self, event: events.Key) -> None:
        """Type a character that is no key of the queue into the prompt."""
        if event.is_printable and event.character:
            event.stop()
            self.type_in(event.character)

    def on_paste(self, event: events.Paste) -> None:
        """Paste into the prompt what was pasted into the queue."""
        event.stop()
        self.paste(event.text)

    @on(QueueList.Exited)
    def on_queue_list_exited(self) -> None:
        """Go back to the prompt."""
        focus_now(self.query_one(Prompt))
