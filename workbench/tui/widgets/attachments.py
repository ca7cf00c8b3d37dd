"""The chips above the prompt: images sent with the message, each with its size or why it cannot be sent."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from workbench.view.prompt.attachments import Attached


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
