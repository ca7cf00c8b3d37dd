import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.terminal.allowed_output import PLAIN, strange
from tests.terminal.sequence_parser import pieces

PARTS = st.sampled_from("\x1b[]P\\\x07\x9b\x9c\x9d0;mH aé")


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("ab\r\n", ["text", "control", "control"]),
        ("\x1b[1;2Hx", ["csi", "text"]),
        ("\x1b]0;t\x07\x1b]0;t\x1b\\\x1bP+q\x1b\\", ["osc", "osc", "dcs"]),
        ("\x1b7\x1b(B", ["escape", "escape"]),
        ("\x9b31m\x9d0;t\x9c", ["csi", "osc"]),
        ("\x1b[1\x1b[m", ["broken", "csi"]),
        ("\x1b]0;a\nb", ["broken", "control", "text"]),
        ("\x1b", ["broken"]),
    ],
)
def test_sequences_are_classified_as_terminals_do(text, kinds):
    assert [piece.kind for piece in pieces(text)] == kinds


@given(st.lists(PARTS).map("".join))
def test_parser_omits_no_character(text):
    assert "".join(piece.whole for piece in pieces(text)) == text


def test_expected_bells_are_accepted():
    assert strange(b"a\x07b", bells=1) == []
    assert len(strange(b"a\x07b\x07", bells=1)) == 1


OURS = [b"\x1b[1;38;2;1;22;255;48;5;3mx\x1b[0m", b"\x1b[12;3H", b"\x1b[?1049h", b"\x1b[>25u\x1b[<u"]
NEARLY = [b"\x1b[8m", b"\x1b[38;2;1;8;8;8m", b"\x1b[0;5m", b"\x1b[?1049;25l", b"\x1b[2J", b"\xff"]


@pytest.mark.parametrize("ours", OURS)
def test_own_sequences_are_recognized(ours):
    assert strange(ours) == []
    assert strange(ours, allowed=PLAIN) != []


@pytest.mark.parametrize("nearly", NEARLY)
def test_similar_sequences_are_not_recognized(nearly):
    assert strange(nearly) != []
