"""Detection of encodings: by declarations, marks and plausibility, and the recognition of binary data."""

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workbench.files.encodings import reading_as, readings
from workbench.files.text_file import EditorError, decoded, decoded_versions, encoded

RUSSIAN = "Привет, мир! Это обычный текст на русском языке.\nВторая строка содержит слова и числа 123.\n"
FRENCH = "Les élèves français étudient à l'école. Où êtes-vous ?\nNoël, cœur, œuvre – “guillemets” et l’apostrophe…\n"
GERMAN = "Größe, Übung, Straße, Äpfel und Öl.\nZweite Zeile mit ß.\n"
SPANISH = "El niño comió piña mañana por la mañana.\n¿Dónde está la canción?\n"
NORWEGIAN = "Blåbærsyltetøy på brødskive er årets høydepunkt.\n"
JAPANESE = "こんにちは世界。これは日本語のテキストです。\n二行目はここにあります。カタカナも。\n"
KOREAN = "안녕하세요 세계. 이것은 한국어 텍스트입니다.\n두 번째 줄입니다.\n"
SIMPLIFIED = "你好，世界。这是一个中文文本文件。\n第二行在这里，包含一些数字。\n"
TRADITIONAL = "你好，世界。這是一個繁體中文的文字檔案。\n第二行在這裡，包含一些數字。\n"
GREEK = "Καλημέρα κόσμε. Αυτό είναι ένα ελληνικό κείμενο.\nΔεύτερη γραμμή.\n"
TURKISH = "Merhaba dünya. Bu Türkçe bir metin: ğüşıöç İĞÜŞÖÇ.\nİkinci satır.\n"
POLISH = "Zażółć gęślą jaźń. To jest polski tekst.\nDrugi wiersz.\n"
CZECH = "Příliš žluťoučký kůň úpěl ďábelské ódy.\n"
THAI = "สวัสดีชาวโลก นี่คือข้อความภาษาไทย\nบรรทัดที่สอง\n"

OF_LANGUAGES = [
    *((RUSSIAN, encoding) for encoding in ("cp1251", "koi8-r", "cp866", "iso8859-5", "utf-16-le", "utf-32-be")),
    *((FRENCH, encoding) for encoding in ("cp1252", "utf-16-be")),
    *((text, encoding) for text in (GERMAN, SPANISH, NORWEGIAN) for encoding in ("latin-1", "cp1252")),
    *((JAPANESE, encoding) for encoding in ("shift_jis", "cp932", "euc_jp", "iso2022_jp", "utf-16-le", "utf-16-be")),
    *((KOREAN, encoding) for encoding in ("euc_kr", "cp949")),
    *((SIMPLIFIED, encoding) for encoding in ("gbk", "gb2312", "gb18030", "utf-16-le", "utf-32-le")),
    (TRADITIONAL, "big5"),
    (GREEK, "iso8859-7"),
    (GREEK, "cp1253"),
    (TURKISH, "cp1254"),
    *((text, encoding) for text in (POLISH, CZECH) for encoding in ("cp1250", "iso8859-2")),
    (THAI, "tis-620"),
]
WORDS = [
    ("Привет", "cp1251"),
    ("ошибка", "cp1251"),
    ("Привет, мир!", "koi8-r"),
    ("Ошибка: файл не найден", "koi8-r"),
    ("日本語", "shift_jis"),
    ("日本語テキスト", "euc_jp"),
    ("안녕하세요", "euc_kr"),
    ("한국어", "euc_kr"),
    ("你好", "gbk"),
    ("配置文件", "gbk"),
    ("你好，世界", "big5"),
    ("測試", "big5"),
    ("naïve café", "cp1252"),
    ("Straße", "latin-1"),
    ("5 €", "cp1252"),
    ("© 2024 Müller", "latin-1"),
    ("50 °C", "latin-1"),
    ("It’s “fine”…", "cp1252"),
]


def read(raw: bytes) -> tuple[str, str, str]:
    coding, text = decoded(Path("file"), raw)
    return coding.encoding, coding.source, text


@pytest.mark.parametrize(
    ("text", "encoding"),
    OF_LANGUAGES,
    ids=[f"{number}-{encoding}" for number, (_, encoding) in enumerate(OF_LANGUAGES)],
)
@pytest.mark.parametrize("form", ["whole", "line", "long", "comment"])
def test_a_text_of_a_language_is_read_right(text, encoding, form):
    first = text.partition("\n")[0]
    code = "int main(void) {\n    return 0;  /* ok */\n}\n"
    text = {"whole": text, "line": first, "long": text * 400, "comment": f"{code * 30}// {first}\n{code}"}[form]
    used, _, reading = read(text.encode(encoding))
    assert reading[:60] == text[:60]
    is_right = reading == text  # pytest would take a minute to show a difference of 50 KB
    assert is_right, used


@pytest.mark.parametrize(("word", "encoding"), WORDS, ids=[f"{number}-{word[1]}" for number, word in enumerate(WORDS)])
@pytest.mark.parametrize(
    "form", ["{}", "# {}\nx = 1\n", "first\nname = '{}'\nlast\n"], ids=["alone", "comment", "string"]
)
def test_a_few_words_are_read_right(word, encoding, form):
    text = form.format(word)
    assert read(text.encode(encoding))[2] == text


DECLARED = {
    "python": ("# -*- coding: cp1251 -*-\nx = 'é'\n", "cp1251", "й"),
    "second line": ("#!/usr/bin/python\n# coding=koi8-r\nx = 'é'\n", "koi8-r", "ы"),
    "emacs": (";; -*- mode: text; coding: euc-jp-unix -*-\né\n", "euc_jp", "日本"),
    "vim": ("é\n# vim: set sw=4 fileencoding=cp1253 :\n", "cp1253", "λ"),
    "vim, short": ("é\n/* ex: ts=2 fenc=cp1253 : */\n", "cp1253", "λ"),
    "xml": ("<?xml version='1.0' encoding='Shift_JIS'?><a>é</a>", "shift_jis", "猫"),
    "html": ('<html><head><meta charset="windows-1251"></head>é</html>', "cp1251", "й"),
    "html4": ('<html><meta http-equiv=x content="text/html; charset=big5"></head>é</html>', "big5", "貓"),
    "css": ('@charset "big5";\n/* é */', "big5", "貓"),
    "tex": ("\\documentclass{article}\n\\usepackage[cp1251]{inputenc}\né", "cp1251", "й"),
    "gettext": ('msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=EUC-KR\\n"\nmsgstr "é"\n', "euc_kr", "폭"),
    "one with a superset": ("# coding: shift_jis\nx = 'é'\n", "cp932", "①"),
}


@pytest.mark.parametrize("case", [str.lower, str.upper], ids=["lower", "upper"])
@pytest.mark.parametrize("name", DECLARED, ids=[name.replace(" ", "-") for name in DECLARED])
def test_a_declaration_counts(name, case):
    template, encoding, character = DECLARED[name]
    text = case(template).replace(case("é"), character)
    assert read(text.encode(encoding)) == (encoding, "declared", text)


@pytest.mark.parametrize(
    "text",
    [
        "# coding: utf-16\nx = 'é'\n",
        "# coding: cp037\nx = 'é'\n",
        "# coding: rot13\nx = 'é'\n",
        "# coding: nothing-like-it\nx = 'é'\n",
        "<?xml version='1.0' encoding='utf-8'?><a>é</a>",
        "\n\n# coding: cp1251, only on the third line\nx = 'é'\n",
    ],
    ids=["wide", "ebcdic", "no-text", "unknown", "not-utf-8", "late"],
)
def test_a_declaration_that_cannot_be_right_does_not_count(text):
    assert read(text.encode("latin-1")) == ("latin-1", "guessed", text)


def test_a_text_in_ascii_has_the_encoding_that_it_declares():
    assert read(b"# coding: cp1251\nx = 1\n")[:2] == ("cp1251", "declared")
    assert read(b"doc = '<meta charset=latin-1>'\n")[:2] == ("utf-8", "")


@pytest.mark.parametrize("text", [RUSSIAN, FRENCH, JAPANESE], ids=["russian", "french", "japanese"])
def test_utf8_is_certain_whatever_it_declares(text):
    assert read(f"# coding: cp1251\n{text}".encode())[:2] == ("utf-8", "")


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00\x01",
        b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00\x3e\x00\x01\x00\x00\x00",
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01",
        bytes(range(256)),
        b"".join(number.to_bytes(2, "little") for number in range(0, 60_000, 997)),
        b"".join(number.to_bytes(4, "big") for number in range(1, 200)),
        "grün → ".encode() + b"\xff\xfe old\n",
        RUSSIAN.encode() * 20 + b"\xff",
        SIMPLIFIED.encode() * 20 + b"\xe4\xbd",
    ],
    ids=["bytes", "elf", "png", "all-bytes", "numbers-of-2", "numbers-of-4", "umlaut", "russian", "chinese"],
)
def test_binary_data_and_damaged_utf8_are_refused(raw):
    assert next(readings(raw), None) is None
    with pytest.raises(EditorError, match=r"binary file|without loss"):
        decoded(Path("file"), raw)


ENCODINGS = [
    *("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "latin-1", "cp1252", "cp1251"),
    *("koi8-r", "cp866", "shift_jis", "euc_jp", "euc_kr", "gbk", "gb18030", "big5", "cp1250", "iso8859-7", "cp1254"),
]


@given(text=st.text(max_size=60), encoding=st.sampled_from(ENCODINGS))
@settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_what_is_read_is_written_back_byte_for_byte(text, encoding):
    raw = text.encode(encoding, "ignore")
    for coding, reading in readings(raw):
        assert encoded(Path("file"), reading, coding) == raw
    assert all(reading_as(raw, reading) is not None for _, reading in readings(raw))


@given(raw=st.binary(max_size=80))
@settings(max_examples=400, deadline=None, derandomize=True)
def test_any_bytes_are_read_without_loss_or_not_at_all(raw):
    assert all(coding.encode(text) == raw for coding, text in readings(raw))


@pytest.mark.parametrize("encoding", ["cp1251", "koi8-r", "shift_jis", "gbk", "euc_kr", "cp1250"])
def test_both_versions_of_a_file_are_read_in_one_encoding(encoding):
    text = {"shift_jis": JAPANESE, "gbk": SIMPLIFIED, "euc_kr": KOREAN, "cp1250": CZECH}.get(encoding, RUSSIAN)
    short = text[:1]
    for before, after in ((text, short), (short, text), (text, "ascii\n"), ("", text)):
        assert decoded_versions(Path("a"), before.encode(encoding), after.encode(encoding)) == (before, after)
    assert decoded_versions(Path("a"), text.encode(encoding), text.encode()) == (text, text)
    assert decoded_versions(Path("a"), None, text.encode(encoding)) == (None, text)


def test_the_encoding_of_50_kb_is_detected_in_time():
    """UTF-8 costs no more than decoding it; the rest is limited by its sample."""

    def seconds(raw: bytes) -> float:
        start = time.process_time()
        next(readings(raw))
        return time.process_time() - start

    assert min(seconds((FRENCH * 450).encode()) for _ in range(5)) < 0.002
    others = [(text * (50_000 // len(text.encode(encoding)))).encode(encoding) for text, encoding in OF_LANGUAGES]
    slowest = max(min(seconds(raw) for _ in range(3)) for raw in others)
    assert slowest < 0.06
