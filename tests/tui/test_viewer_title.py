"""The title of the diff viewer leaves out what the list below shows before it cuts anything."""

import pytest

from workbench.diff.hunks import compare
from workbench.tui.widgets.viewer_title import ViewerTitle

DIFF = compare("workbench/session/server.py", "a\nb\n", "a\nc\nd\n")
TITLE = ViewerTitle("whole session", DIFF, 0, "4 of 4 files to review", "edited by the agent and you")


def test_a_wide_title_says_everything():
    text = TITLE.fitting(200).plain
    assert text == (
        "whole session │ 4 of 4 files to review │ M workbench/session/server.py  +2 −1   hunk 1 of 1"
        "   edited by the agent and you"
    )


@pytest.mark.parametrize("width", range(55, 200))
def test_a_title_is_never_cut_while_something_can_be_left_out(width):
    text = TITLE.fitting(width)
    assert text.cell_length <= width
    assert "M " in text.plain
    assert "server.py  +2 −1" in text.plain
    assert text.plain.endswith("edited by the agent and you")


def test_a_title_of_no_file_names_the_scope():
    assert ViewerTitle("last run").fitting(20).plain == "last run"
    assert ViewerTitle("").fitting(20).plain == "Changes"
