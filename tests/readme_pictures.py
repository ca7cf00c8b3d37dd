"""The README's pictures, made from golden ones: `python -m tests.readme_pictures` writes them and their lines.

A golden picture loads its font from another site and is either dark or light; those of the README load nothing, and a
reader gets the one that fits the theme of the page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIRECTORY = Path("snapshots/readme")
_FONT = re.compile(r"\s*@font-face\s*\{[^}]*\}")
_MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace"


@dataclass(frozen=True)
class Picture:
    """One picture of the README: its name, the golden picture up to its theme, and its description."""

    name: str
    golden: str
    words: str

    def file(self, theme: str) -> Path:
        """Return the path of the README's own copy."""
        return DIRECTORY / f"{self.name}-{theme}.svg"

    def drawn(self, theme: str) -> str:
        """Return the golden picture as the README shows it."""
        golden = (ROOT / f"snapshots/{self.golden}-ohw-{theme}.svg").read_text(encoding="utf-8")
        # Some programs that draw pictures drop no-break spaces; an ordinary space is preserved where the picture
        # requests it.
        spaced = golden.replace("&#160;", " ").replace("<text ", '<text xml:space="preserve" ')
        return _FONT.sub("", spaced).replace("font-family: Fira Code, monospace;", f"font-family: {_MONO};")

    @property
    def shown(self) -> str:
        """Return the lines of the README between its marks."""
        light, dark = self.file("light").as_posix(), self.file("dark").as_posix()
        source = f'<source media="(prefers-color-scheme: light)" srcset="{light}">'
        return f'<picture>{source}\n<img alt="{self.words}" src="{dark}"></picture>'


PICTURES = (
    Picture("question", "main/question_with_diff-120x40", "A question: the diff that would be written"),
    Picture("working", "main/working-120x40", "The agent at work: conversation, timeline, plan, changes"),
    Picture("review", "diff_viewer/reviewing-160x45", "The diff viewer, side by side, with a comment"),
)


def readme_with_pictures(text: str) -> str:
    """Return the README with the current picture between each pair of marks."""
    for picture in PICTURES:
        begin, end = f"<!-- picture: {picture.name} -->", f"<!-- end of {picture.name} -->"
        marked = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        assert marked.search(text), f"the README has no {begin}"
        text = marked.sub(lambda _, own=f"{begin}\n{picture.shown}\n{end}": own, text)  # type: ignore[misc]
    return text


def main() -> None:
    """Write the pictures and the README."""
    (ROOT / DIRECTORY).mkdir(exist_ok=True)
    for picture in PICTURES:
        for theme in ("dark", "light"):
            (ROOT / picture.file(theme)).write_text(picture.drawn(theme), encoding="utf-8")
    readme = ROOT / "README.md"
    readme.write_text(readme_with_pictures(readme.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
