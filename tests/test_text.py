import sys
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from workbench.text import cut_middle, first_line, visible, well_formed

TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=200)


@given(TEXT)
def test_nothing_hidden_or_controlling_is_left(text: str):
    shown = visible(text)
    assert all(sign in "\n\t" or unicodedata.category(sign) not in ("Cc", "Cs") for sign in shown)
    assert not set(shown) & set("\u202e\u2066\u200b\u200f\ufeff\u2028")


def test_no_sign_that_only_steers_the_writing_is_left():
    # these few of the kind are signs of their own, which can be seen
    seen = {chr(code) for code in (*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD)}
    steering = {
        chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in ("Cf", "Zl", "Zp")
    }
    assert not set(visible("".join(steering - seen))) & (steering - seen)


@given(TEXT)
def test_a_single_line_is_a_single_line(text: str):
    assert len(visible(text, lines=False).splitlines()) <= 1
    assert len(first_line(text, 40)) <= 40


def test_signs_show_as_their_escapes():
    assert visible("a\x1b[31m\x07\x9b\u202e\x7f") == "a\\e[31m\\x07\\x9b\\u202e\\x7f"
    assert visible("a\nb\tc") == "a\nb\tc"
    assert visible("a\nb\tc", lines=False) == "a\\nb\\tc"


@given(TEXT)
def test_well_formed_text_can_be_stored(text: str):
    assert "\x00" not in well_formed(text)
    assert well_formed(text).encode() is not None


def test_a_long_text_keeps_both_ends_and_says_what_is_missing():
    text = "".join(f"line {number}\n" for number in range(1000))
    cut = cut_middle(text, 500)
    assert len(cut) < 600
    assert cut.startswith("line 0\n")
    assert cut.endswith("line 999\n")
    assert "lines left out" in cut
    assert cut_middle("short", 500) == "short"
    assert cut_middle("x" * 900, 500) == f"{'x' * 250}\n[… 400 characters left out …]\n{'x' * 250}"


def test_the_first_line_is_the_first_that_says_something():
    assert first_line("\n\n  hello \nworld") == "hello"
    assert first_line("") == ""
    assert first_line("x" * 100, 10) == "x" * 9 + "…"
