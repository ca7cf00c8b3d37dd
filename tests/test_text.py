import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.text import counted, cut_exactly, cut_middle, first_line, revealed, visible, well_formed

TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=200)


@given(TEXT)
def test_no_hidden_or_control_character_is_left(text: str):
    text_shown = visible(text)
    assert all(sign in "\n\t" or unicodedata.category(sign) not in ("Cc", "Cs") for sign in text_shown)
    assert not set(text_shown) & set("\u202e\u2066\u200b\u200f\ufeff\u2028")


def test_no_formatting_character_is_left():
    # these few of the category are visible signs of their own
    seen = {chr(code) for code in (*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD)}
    steering = {
        chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in ("Cf", "Zl", "Zp")
    }
    assert not set(visible("".join(steering - seen))) & (steering - seen)


@given(TEXT)
def test_single_line_contains_no_line_break(text: str):
    assert len(visible(text, lines=False).splitlines()) <= 1
    assert len(first_line(text, 40)) <= 40


def test_characters_are_shown_as_escapes():
    assert visible("a\x1b[31m\x07\x9b\u202e\x7f") == "a\\e[31m\\x07\\x9b\\u202e\\x7f"
    assert visible("a\nb\tc") == "a\nb\tc"
    assert visible("a\nb\tc", lines=False) == "a\\nb\\tc"


@given(TEXT)
def test_well_formed_text_can_be_stored(text: str):
    assert "\x00" not in well_formed(text)
    assert well_formed(text).encode() is not None


def test_long_text_keeps_both_ends_and_counts_the_omission():
    text = "".join(f"line {number}\n" for number in range(1000))
    cut = cut_middle(text, 500)
    assert len(cut) < 600
    assert cut.startswith("line 0\n")
    assert cut.endswith("line 999\n")
    assert "lines omitted" in cut
    assert cut_middle("short", 500) == "short"
    assert cut_middle("x" * 900, 500) == f"{'x' * 250}\n[… 400 characters omitted …]\n{'x' * 250}"


def test_first_line_is_the_first_that_is_not_blank():
    assert first_line("\n\n  hello \nworld") == "hello"
    assert first_line("") == ""
    assert first_line("x" * 100, 10) == "x" * 9 + "…"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cat /etc/p\u0430sswd", "cat /etc/p\\u0430sswd"),
        ("g\u03bfogle.com", "g\\u03bfogle.com"),
        ("\u0441\u0430\u0440 file", "\\u0441\\u0430\\u0440 file"),
        ("\uff52\uff4d -rf", "\\uff52\\uff4d -rf"),
        ("\U0001d5cb\U0001d5c6 x", "\\U0001d5cb\\U0001d5c6 x"),
        ("rm \u2013rf x", "rm \\u2013rf x"),
        ("a\u2044b\u2215c", "a\\u2044b\\u2215c"),
        ("ls\uff1b rm", "ls\\uff1b rm"),
        ("a\u00a0b\u2800c\u3164d\u3000e\u1160", "a\\xa0b\\u2800c\\u3164d\\u3000e\\u1160"),
        ("\u13ade\u217cp", "\\u13ade\\u217cp"),
        ("\u0261it push", "\\u0261it push"),
        ("g\u0131t \u1d04at \u0280m", "g\\u0131t \\u1d04at \\u0280m"),
        ("a \u01c0 sh", "a \\u01c0 sh"),
        ("r\u0336m r\u0338m r\u0489m", "r\\u0336m r\\u0338m r\\u0489m"),
        ("r\ufe0em ./\ufe0fx", "r\\ufe0em ./\\ufe0fx"),
        ("\ua4e3\ua4df -rf", "\\ua4e3\\ua4df -rf"),
        ("\ua4e1s", "\\ua4e1s"),
        ("\u02b3\u1d50 -rf", "\\u02b3\\u1d50 -rf"),
        ("echo \u02bc$(x)\u02bc", "echo \\u02bc$(x)\\u02bc"),
        ("don\u02bct", "don\\u02bct"),
        ("rm \u223c/x \u2053", "rm \\u223c/x \\u2053"),
        ("a \u2758 sh \u203a", "a \\u2758 sh \u203a"),
        ("a \u1433 b \u02c2 c \u276e", "a \\u1433 b \\u02c2 c \\u276e"),
        ("\u146d\u15f0 \u2ca3\u2ca5", "\\u146d\\u15f0 \\u2ca3\\u2ca5"),
        ("v\u06f1 x\u0660txt", "v\\u06f1 x\\u0660txt"),
        ("e\u0301\u0302 r\u0301\u0302\u0303\u0304m", "e\u0301\u0302 r\u0301\u0302\\u0303\\u0304m"),
        ("-\u0308rf |\u0301 \u0301", "-\\u0308rf |\\u0301 \\u0301"),
        ("rm \u05d0 > \u05d1", "rm \\u05d0 > \\u05d1"),
        ("cat \u0627|\u0628", "cat \\u0627|\\u0628"),
        ("\u05d0 -x 3", "\u05d0 -x 3"),
        ("\u05d0 > 3", "\\u05d0 > 3"),
        ("rm \u05d0/../\u05d1", "rm \\u05d0/../\\u05d1"),
        ("a\ue000 b\U000f0000 c\u0378 d\ufffc e\u0600", "a\\ue000 b\\U000f0000 c\\u0378 d\\ufffc e\\u0600"),
        ("x\u200dy \u200d\U0001f468", "x\\u200dy \\u200d\U0001f468"),
    ],
)
def test_look_alikes_and_odd_blanks_are_escaped_in_questions(text, expected):
    assert revealed(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "git commit -m 'Исправить отчёт за март'",
        "cat документы/отчёт.txt",
        "touch Ωμέγα.md",
        "cat 日本語/ファイル.txt PDFファイル",
        "echo 'naïve café – Straße … “so” 5 µm x² №'",
        "ls العربية עברית हिन्दी 한국어",
        "printf 'a → b ✓ 👨 ❤\ufe0f ☺\ufe0e 1\ufe0f\u20e3'",
        "ls Łódź façade ışık.txt",
        "git commit -m 'שלום, עולם' && ls 'تقرير مارس.txt'",
        "printf '👨\u200d👩\u200d👧 🏳\ufe0f\u200d🌈 ❤\ufe0f\u200d🔥 👩🏽\u200d🚒'",
        "echo м\u02bcята 'Հայերեն։ צה״ל'",
        "echo '‹secret KEY›' ti\u0065\u0302\u0301ng",
    ],
)
def test_natural_language_and_single_script_names_stay_readable(text):
    assert revealed(text) == text


def test_outside_questions_only_hidden_characters_are_escaped():
    for text in ("👨\u200d👩\u200d👧", "🏳\ufe0f\u200d🌈", "p\u0430sswd", "a\u00a0b", "\u2800\u28ff", "ｗｉｄｅ"):
        assert visible(text) == text


@given(TEXT)
def test_revealed_text_is_visible_and_mixes_no_look_alike_scripts(text):
    text_shown = revealed(text)
    assert visible(text_shown) == text_shown
    between_escapes = re.sub(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})", " ", text_shown)
    for word in re.findall(r"[^\W\d_]+", between_escapes):
        scripts = {unicodedata.name(sign, "").split(" ")[0] for sign in word}
        assert not ("LATIN" in scripts and scripts & {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"}), word


def test_count_has_a_singular_or_plural_noun():
    assert [counted(count, "file") for count in (0, 1, 2, 1200)] == ["0 files", "1 file", "2 files", "1,200 files"]


@given(text=st.text(alphabet="ab\né", max_size=400).map(lambda part: part * 4), limit=st.integers(0, 300))
def test_an_exact_cut_has_the_characters_of_the_limit(text, limit):
    cut = cut_exactly(text, limit)
    if not limit or len(text) <= limit:
        assert cut == text
        return
    assert len(cut) == limit
    head, _, tail = cut.partition("\n[… ")
    assert text.startswith(head)
    assert text.endswith(tail.partition(" omitted …]\n")[2])


def test_an_exact_cut_counts_the_lines_or_characters_omitted():
    cut = cut_exactly("x" * 900, 500)
    assert cut == f"{'x' * 235}\n[… 430 characters omitted …]\n{'x' * 235}"
    assert "lines omitted" in cut_exactly("line\n" * 200, 500)


@pytest.mark.parametrize(
    "text",
    [
        "cat \u2024\u2024/x",
        "cat \u2025/x",
        "a \u2223\u2223 b",
        "x\u203c\u203c",
        "a \u01c1 rm x",
        "a \u2503 sh",
        "a \u254f sh",
        "{a\u201ab}",
        "x \ua78cb\ua78c",
        "my\u2010file",
        "my\u2011file",
        "a \u05c0 b",
        "\u07f4x\u07f4",
        "\ufb01nd . -delete",
        "git con\ufb01g x",
        "o\ufb00set",
        "\ufb05art",
        "\u01c9s",
        "cat x \u4e28 sh",
        "cat x \u3163sh",
        "ls \u4e3fetc\u4e3fx",
        "ls \u3033x",
        "rm \u2500rf x",
        "rm \u2796rf x",
        "rm \u3161rf x",
        "cat x \u00a6 sh",
        "cat x \u23b9 sh",
        "ls \u0701\u0701/x",
        "a\u0703b",
        "ls \u2731",
        "a\U0001f7f0b",
        "\u146d\u15e9\u1515\u1515",
        "\U00010300\U00010301",
    ],
    ids=ascii,
)
def test_each_sign_that_looks_like_ascii_is_escaped_also_if_repeated(text):
    assert revealed(text).isascii()


@pytest.mark.parametrize(
    "text",
    [
        "丨丿一",
        "一月",
        "ノート",
        "है।",
        "l’été",
        "a – b — c",
        "wait…",
        "x² + y³",
        "n° 5",
        "½",
        "№ 7",
        "œuvre",
        "straße",
        "日本ー",
        "בית־ספר",
    ],
    ids=ascii,
)
def test_typography_of_natural_languages_stays_readable(text):
    assert revealed(text) == text
