"""Links work once, and a request that names another host or comes from another site is not ours."""

import pytest

from workbench.serve.access import Access, is_loopback
from workbench.serve.keyboard import keys, scrolling_keys


def test_token_is_exchanged_once_for_a_cookie_and_a_key_that_stay():
    access = Access("127.0.0.1")
    assert access.redeem("") is None
    token = access.new_token()
    assert access.redeem("") is None
    assert access.redeem(token[:-1]) is None
    one = access.redeem(token)
    assert access.redeem(token) is None
    other = access.redeem(access.new_token())
    assert len({token, one.cookie, one.key, other.cookie, other.key}) == 5
    assert access.has_cookie(one.cookie)
    assert access.has_key(one.cookie, ["ohw", one.key])
    assert not access.has_key(one.cookie, ["ohw", other.key])
    assert not access.has_key(one.cookie, [])
    assert not access.has_key("", [one.key])
    for text in (token, one.key, "", "é"):
        assert not access.has_cookie(text)


def test_link_lives_ten_minutes_and_until_the_next_one():
    now = 0.0
    access = Access("127.0.0.1", lambda: now)
    token = access.new_token()
    now = 601.0
    assert access.redeem(token) is None
    token = access.new_token()
    now = 1_200.0
    next_token = access.new_token()
    assert access.redeem(token) is None
    assert access.redeem(next_token) is not None


def test_servers_on_one_host_do_not_overwrite_their_cookies():
    assert Access("127.0.0.1").cookie_name != Access("127.0.0.1").cookie_name


@pytest.mark.parametrize(
    ("listens_on", "host", "is_ours"),
    [
        ("127.0.0.1", "127.0.0.1:8642", True),
        ("127.0.0.1", "localhost:9000", True),  # a tunnel leads from another port
        ("127.0.0.1", "[::1]:8642", True),
        ("127.0.0.1", "evil.example:8642", False),
        ("127.0.0.1", "127.0.0.1.evil.example", False),
        ("127.0.0.1", "localhost.evil.example", False),
        ("127.0.0.1", "192.168.1.5:8642", False),
        ("127.0.0.1", "", False),
        ("127.0.0.1", "[::1", False),
        ("127.0.0.1", "evil.example@localhost", True),  # the host is localhost; no browser sends this
        ("0.0.0.0", "192.168.1.5:8642", True),
        ("0.0.0.0", "evil.example:8642", False),
        ("build.example", "BUILD.example:8642", True),
        ("build.example", "evil.example:8642", False),
    ],
)
def test_only_names_of_this_machine_are_accepted(listens_on: str, host: str, is_ours: bool):
    assert Access(listens_on).is_ours(host) is is_ours


@pytest.mark.parametrize(
    ("origin", "is_same"),
    [
        ("http://127.0.0.1:8642", True),
        ("https://127.0.0.1:8642", True),
        ("http://127.0.0.1:9999", False),
        ("http://localhost:8642", False),
        ("http://evil.example", False),
        ("http://127.0.0.1:8642.evil.example", False),
        ("null", False),
        ("", False),
    ],
)
def test_origin_has_to_be_the_server_itself(origin: str, is_same: bool):
    assert Access("127.0.0.1").is_same_origin(origin, "127.0.0.1:8642") is is_same


@pytest.mark.parametrize(
    ("host", "is_local"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("build.example", False),
    ],
)
def test_loopback_addresses_are_recognized(host: str, is_local: bool):
    assert is_loopback(host) is is_local


def test_a_view_passes_on_only_what_scrolls():
    harmless = "\x1b[A\x1b[B\x1bOC\x1b[1;5H\x1b[5~\x1b[6~\x1b[<64;10;20M\x1b[I\x1b[?2026;2$y\x1b[?1;2c"
    assert scrolling_keys(harmless) == harmless
    for text in ("y", "\r", "\x03", "\x1b", "\x1b[<0;10;20M", "\x1b[200~rm -rf /\x1b[201~", "\x1b[11~", "\x1b[Z", "é"):
        assert scrolling_keys(f"{text}\x1b[A{text}") == "\x1b[A"


def test_nothing_that_is_dropped_joins_two_halves_of_a_key():
    assert scrolling_keys("\x1by[A") == ""
    assert scrolling_keys("\x1b[\x1b[AA") == "\x1b[A"


def test_a_tab_passes_on_every_key_but_the_one_that_would_stop_the_program():
    assert keys("a\x1a\x1b[A\rß") == "a\x1b[A\rß"
