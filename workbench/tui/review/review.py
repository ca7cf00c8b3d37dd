"""What the diff viewer can do over a session; one per main screen, so that comments outlive the viewer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from workbench.protocol.commands import RevertFiles
from workbench.tui.fold.changed import Changed
from workbench.tui.fold.state import NoticeItem, SessionState
from workbench.tui.links.link import Link

if TYPE_CHECKING:  # the first frame is painted before there is a change to look at
    from workbench.tui.review.comments import Comment, Comments
    from workbench.tui.review.scopes import Scope
    from workbench.tui.review.taking_back import TakeBack


class Watching(Protocol):
    """A viewer that is open."""

    def follow(self, changed: Changed, refused: str) -> None:
        """Something changed in the session; `refused` is what the engine did not do, and why."""


class Review:
    """The session as the viewer sees it: scopes of changes, comments, and what may be asked of the engine."""

    def __init__(
        self,
        link: Link,
        state: SessionState,
        folder: Path,
        send: Callable[[str], None],
        keep: Callable[[str], Path] | None = None,
    ) -> None:
        """`keep` gives the folder of a session's state, by its id; without it comments end with the screen."""
        self.link = link
        self.state = state
        self._keep = keep
        self._comments: Comments | None = None
        self._recalled = False
        self.watching: Watching | None = None
        self._folder = folder
        self._send = send

    @property
    def comments(self) -> Comments:
        """Those not sent yet, with what an earlier screen left of them."""
        from workbench.tui.review.comments import Comments
        from workbench.tui.review.kept import read_comments

        if self._comments is None:
            self._comments = Comments(self._keep_comments)
        folder = self._kept_in()
        if folder is not None and not self._recalled:
            self._recalled = True
            self._comments.add(read_comments(folder))
        return self._comments

    def _kept_in(self) -> Path | None:
        return self._keep(self.state.session_id) if self._keep is not None and self.state.session_id else None

    def _keep_comments(self, comments: Sequence[Comment]) -> None:
        from workbench.tui.review.kept import keep_comments

        folder = self._kept_in()
        if folder is not None:
            keep_comments(folder, comments)

    @property
    def folder(self) -> Path:
        """The session's folder."""
        return Path(self.state.workspace) if self.state.workspace else self._folder

    def scopes(self, action_id: str = "") -> list[Scope]:
        """The scopes there are now, the smallest first."""
        from workbench.tui.review.scopes import scopes_of

        return scopes_of(self.state, self.folder, action_id)

    def look(self, changed: Changed | None) -> None:
        """The session went on: an open viewer shows it."""
        if self.watching is not None and changed is not None:
            refused = [item.text for item in changed.added if isinstance(item, NoticeItem) and item.refuses]
            self.watching.follow(changed, refused[-1] if refused else "")

    def take_back(self, take: TakeBack) -> None:
        """Have the engine write a file as it was; the answer comes to the viewer that watches."""
        self.link.send(RevertFiles(files=(take.delta,)))

    def send_comments(self) -> int:
        """All comments as one message; how many they were."""
        count = len(self.comments)
        if count:
            self._send(self.comments.message())
            self.comments.clear()
        return count
