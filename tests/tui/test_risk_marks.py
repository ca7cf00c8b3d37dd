"""A risk is shown as sign, word and color wherever a screen names it."""

from __future__ import annotations

from msgspec.structs import replace

from tests.tui.approval_app import command
from workbench.protocol.events import Segment
from workbench.tui.widgets.strips import STYLES, with_risk_color
from workbench.tui.widgets.text_lines import TextLines
from workbench.view.formatting.approval import part_lines
from workbench.view.formatting.detail import detail_styles, detail_text, full_lines, full_text, risk_styles

PARTS = (
    Segment(text="curl x", risk="MEDIUM", reason="downloads"),
    Segment(text="sh", risk="HIGH", reason="pipes downloaded code into a shell"),
    Segment(text="ls", risk="LOW"),
)
ITEM = replace(command("curl x | sh; ls"), segments=PARTS)


def test_each_part_has_its_risk_in_a_line_below_it() -> None:
    assert [(line.text, line.style) for line in part_lines(PARTS)] == [
        ("  curl x", ""),
        ("      ◆ MEDIUM  downloads", "risk-medium"),
        ("  sh", ""),
        ("      ▲ HIGH  pipes downloaded code into a shell", "risk-high"),
        ("  ls", ""),
        ("      ○ LOW", "risk-low"),
    ]


def test_pages_of_an_action_color_the_lines_about_its_risk_only() -> None:
    item = replace(ITEM, thought="▲ HIGH  as the agent writes it", output="RISK\n▲ HIGH")
    lines = full_text(item).split("\n")
    assert {lines[at]: style for at, style in risk_styles(full_lines(item)).items()} == {
        "      ◆ MEDIUM  downloads": "risk-medium",
        "      ▲ HIGH  pipes downloaded code into a shell": "risk-high",
        "      ○ LOW": "risk-low",
    }
    text = detail_text(item)
    rows = text.split("\n")
    assert [rows[at] for at in detail_styles(item, text)] == [
        "  ▲ HIGH (agent: LOW)",
        "        ◆ MEDIUM  downloads",
        "        ▲ HIGH  pipes downloaded code into a shell",
        "        ○ LOW",
    ]


def test_pager_paints_a_styled_line_in_all_its_rows() -> None:
    lines = TextLines("one\n  ▲ HIGH  a long reason")
    lines.styles_of_lines = {1: "risk-high"}
    lines._text.wrap(14)
    assert {piece.style for row in range(3) for piece in lines.line(row, 14)} == {"", "risk-high"}
    assert [piece.style for piece in lines.line(0, 14)] == [""]


def test_only_a_risk_at_the_start_of_a_line_is_colored() -> None:
    for line in ("  #7    ▲ HIGH    rm -rf build", "! ▲ HIGH    $ make · rejected by you"):
        (span,) = with_risk_color(line).spans
        assert (line[span.start : span.end], span.style) == ("▲ HIGH", STYLES["risk-high"])
    assert with_risk_color("allow $ echo ▲ HIGH fits 2 actions").spans == []
