from tests.terminal.screen import Screen


def lines_of(text: str, columns: int = 10, rows: int = 3) -> list[str]:
    screen = Screen(columns, rows)
    screen.feed(text)
    return screen.lines


def test_text_wraps_and_scrolls():
    assert lines_of("one\r\ntwo\r\nthree\r\nfour") == ["two", "three", "four"]
    assert lines_of("abcdef", columns=4) == ["abcd", "ef", ""]


def test_cursor_moves_to_the_given_position():
    assert lines_of("\x1b[2;3Hx\x1b[1;1Hy\x1b[31mz\x1b[0m") == ["yz", "  x", ""]


def test_sequence_in_two_chunks_is_one_sequence():
    screen = Screen(10, 2)
    screen.feed("a\x1b[2;")
    screen.feed("1Hb")
    assert screen.lines == ["a", "b"]


def test_line_and_screen_are_erased():
    assert lines_of("abcdef\x1b[1;3H\x1b[K") == ["ab", "", ""]
    assert lines_of("a\r\nb\x1b[2J") == ["", "", ""]


def test_leaving_the_alternate_screen_restores_the_first():
    screen = Screen(10, 2)
    screen.feed("before\x1b[?1049h\x1b[Hinside")
    assert screen.lines[0] == "inside"
    screen.feed("\x1b[?1049l")
    assert screen.lines[0] == "before"


def test_wide_characters_take_two_columns():
    assert lines_of("\u65e5\u672cx\x1b[1;5Hy") == ["\u65e5\u672cy", "", ""]


def test_titles_and_queries_print_nothing():
    assert lines_of("\x1b]0;title\x07a\x1b[>1u\x1b[?2026$p\x1bP+q\x1b\\b") == ["ab", "", ""]
