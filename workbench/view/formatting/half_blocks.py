"""Draws a picture as rows of cells: two pixels per cell, one above the other, or characters of different density.

Pillow decodes pictures; it is imported with the first one.
"""

from __future__ import annotations

import base64
import binascii
import io
import warnings
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from PIL.Image import Image

_FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP")
_MOST_PIXELS: Final = 50_000_000
_MOST_CELLS: Final = 160
"""The width in cells up to which detail is kept; there are at most as many rows."""
_RAMP: Final = " .:-=+*#%@"
Colour: TypeAlias = tuple[int, int, int]


class Cell(NamedTuple):
    """The colors of the upper and the lower pixel."""

    top: Colour
    bottom: Colour


class Picture:
    """A decoded picture, or in `trouble` the reason why it cannot be shown; `size` is the original's, in pixels."""

    def __init__(self, data: str) -> None:
        self.size = (0, 0)
        self.trouble = ""
        self._image: Image | None = None
        try:
            self._image = self._decoded(base64.b64decode(data, validate=True))
        except (binascii.Error, ValueError) as error:
            self.trouble = str(error) or "it cannot be decoded"
        except Exception as error:  # noqa: BLE001 - decoding untrusted bytes may raise anything
            self.trouble = f"it cannot be decoded ({type(error).__name__})"

    def _decoded(self, data: bytes) -> Any:
        from PIL import Image

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the size is checked below
            image = Image.open(io.BytesIO(data), formats=_FORMATS)
        with image:
            self.size = image.size
            if image.width * image.height > _MOST_PIXELS:
                raise ValueError(f"it has {image.width} × {image.height} pixels, too many to show")
            image.draft("RGB", (2 * _MOST_CELLS, 2 * _MOST_CELLS))
            whole = image.convert("RGBA")
        whole.thumbnail((2 * _MOST_CELLS, 2 * _MOST_CELLS))
        ground = Image.new("RGBA", whole.size, "white")
        ground.alpha_composite(whole)
        return ground.convert("RGB")

    def rows(self, width: int, height: int) -> list[list[Cell]]:
        """Return the picture in at most `width` × `height` cells, in its proportions; small ones are not enlarged."""
        image = self._image
        if image is None or width < 1 or height < 1:
            return []
        scale = min(width / image.width, 2 * height / image.height, 1.0)
        wide, high = max(1, round(image.width * scale)), max(1, round(image.height * scale / 2))
        small = image.resize((wide, 2 * high))
        raw = small.tobytes()
        pixels = [(raw[at], raw[at + 1], raw[at + 2]) for at in range(0, len(raw), 3)]
        return [
            [Cell(pixels[2 * y * wide + x], pixels[(2 * y + 1) * wide + x]) for x in range(wide)] for y in range(high)
        ]


def sign(cell: Cell, ground: float) -> str:
    """Return the character for a cell without colors: the more its lightness differs from `ground`, the heavier."""
    weight = abs(lightness(cell) - ground) / max(ground, 1 - ground)
    return _RAMP[min(len(_RAMP) - 1, round(weight * (len(_RAMP) - 1)))]


def lightness(cell: Cell) -> float:
    """Return the lightness of a cell, from 0 for black to 1 for white."""
    return sum(0.299 * red + 0.587 * green + 0.114 * blue for red, green, blue in cell) / (2 * 255)
