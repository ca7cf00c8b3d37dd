"""The parsers of the proxy, with any input: they refuse it or read exactly one request of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.sandbox.host_access import BadHost, host_of
from workbench.sandbox.http_connect import BadHttp, ChunkedBody, ResponseHead, SizedBody, parse_head
from workbench.sandbox.socks import BadSocks, length_of, parse_request

LABELS = st.from_regex(r"[a-z0-9_][a-z0-9_-]{0,20}", fullmatch=True)
NAMES = st.lists(LABELS, min_size=1, max_size=5).map(".".join).map(lambda name: f"{name}.example")
PORTS = st.integers(1, 65535)
FIELD = st.tuples(
    st.sampled_from(["X-Id", "Host", "Connection", "Accept", "Cookie", "Proxy-Authorization", "Te"]),
    st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30),
)


def attempt(parse: Callable[[], Any], error: type[Exception]) -> Any:
    """Return what is parsed, or the error."""
    try:
        return parse()
    except error as refused:
        return refused


@given(st.text(max_size=300))
def test_host_is_a_plain_name_or_an_address(text):
    try:
        host = host_of(text)
    except BadHost:
        return
    assert set(host) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-:")
    assert host_of(host) == host


@given(st.one_of(st.binary(max_size=300), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))))
def test_any_head_is_refused_or_read(data):
    for head in (data, b"GET http://" + data + b" HTTP/1.1", b"GET http://a.example/ HTTP/1.1\r\n" + data):
        request = attempt(lambda head=head: parse_head(head + b"\r\n\r\n"), BadHttp)
        if isinstance(request, BadHttp):
            assert request.reply.startswith(b"HTTP/1.1 400 ")
        else:
            assert host_of(request.host) == request.host
            assert request.head.count(b"\r\n\r\n") == (0 if request.is_tunnel else 1)


@given(NAMES, PORTS, st.lists(FIELD, max_size=6))
def test_forwarded_head_names_the_checked_host_once(name, port, fields):
    lines = "".join(f"{key}: {value}\r\n" for key, value in fields)
    request = parse_head(f"GET http://{name}:{port}/x HTTP/1.1\r\n{lines}\r\n".encode())
    head = request.head.decode("latin-1")
    hosts = [line[6:] for line in head.split("\r\n") if line.lower().startswith("host:")]
    assert (request.host, request.port) == (name, port)
    assert hosts == [name if port == 80 else f"{name}:{port}"]
    assert head.lower().count("\r\nconnection:") == 1
    assert "proxy-authorization" not in head.lower()


@given(NAMES, PORTS)
def test_tunnel_has_no_head_for_the_server(name, port):
    request = parse_head(f"CONNECT {name}:{port} HTTP/1.1\r\nHost: other\r\n\r\n".encode())
    assert (request.host, request.port, request.is_tunnel, request.head) == (name, port, True, b"")


@given(st.binary(min_size=5, max_size=5), st.binary(min_size=300, max_size=300))
def test_any_socks_request_is_refused_or_read(head, more):
    head = bytes((head[0] % 8, head[1] % 4, head[2] % 2, head[3] % 6, head[4]))
    request = attempt(lambda: parse_request(head + more[: length_of(head)]), BadSocks)
    if isinstance(request, BadSocks):
        assert (len(request.reply), request.reply[1] != 0) == (10, True)
    else:
        assert host_of(request.host) == request.host
        assert 0 < request.port < 65536


@st.composite
def chunked(draw) -> bytes:
    parts = draw(st.lists(st.binary(min_size=1, max_size=40), max_size=5))
    trailers = draw(st.sampled_from([b"", b"X-Sum: 1\r\n"]))
    extension = draw(st.sampled_from([b"", b";name=value"]))
    chunks = b"".join(b"%x%s\r\n%s\r\n" % (len(part), extension, part) for part in parts)
    return chunks + b"0\r\n" + trailers + b"\r\n"


@given(chunked(), st.binary(max_size=30), st.lists(st.integers(1, 20), min_size=1))
def test_chunked_body_is_read_to_its_end_however_it_is_split(body, behind, sizes):
    data, chunks, passed, turn = body + behind, ChunkedBody(), b"", 0
    while data and not chunks.is_complete:
        piece, data = data[: sizes[turn % len(sizes)]], data[sizes[turn % len(sizes)] :]
        passed += piece[: chunks.feed(piece)]
        turn += 1
    assert chunks.is_complete
    assert passed == body


@given(st.binary(max_size=200))
def test_any_chunks_are_refused_or_read(data):
    chunks = ChunkedBody()
    try:
        assert 0 <= chunks.feed(data) <= len(data)
    except BadHttp:
        assert not chunks.is_complete or data


@pytest.mark.parametrize("data", [b"5\nhello\r\n0\r\n\r\n", b"5\r\nhelloX\n0\r\n\r\n", b"-1\r\n", b"0x5\r\n", b"\r\n"])
def test_malformed_chunks_are_refused(data):
    with pytest.raises(BadHttp):
        ChunkedBody().feed(data)


RESPONSE = b"HTTP/1.1 200 OK\r\nKeep-Alive: 5\r\nConnection: keep-alive\r\nX: 1\r\n\r\nbody\r\n\r\nConnection: x"
CLOSING = b"HTTP/1.1 200 OK\r\nX: 1\r\nConnection: close\r\n\r\nbody\r\n\r\nConnection: x"
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n"


@given(st.booleans(), st.lists(st.integers(1, 40), min_size=1))
def test_response_says_that_the_connection_ends_however_it_is_split(is_interim, sizes):
    start = INTERIM if is_interim else b""
    data, head, forwarded, turn = start + RESPONSE, ResponseHead(), b"", 0
    while data:
        piece, data = data[: sizes[turn % len(sizes)]], data[sizes[turn % len(sizes)] :]
        forwarded += piece if head.is_past else head.feed(piece)
        turn += 1
    assert forwarded == start + CLOSING


@given(st.binary(max_size=200))
def test_bytes_of_a_server_that_are_no_response_pass_unchanged(data):
    data = data.replace(b"\r\n\r\n", b"")
    head = ResponseHead()
    assert head.feed(data) + head.feed(b"") == data


@given(st.integers(0, 100), st.lists(st.binary(max_size=30)))
def test_sized_body_passes_exactly_its_length(length, pieces):
    body = SizedBody(length)
    passed = sum(body.feed(piece) for piece in pieces)
    assert passed == min(length, sum(map(len, pieces)))
    assert body.is_complete is (passed == length)
