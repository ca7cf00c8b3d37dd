"""The proxy of the sandbox over real sockets: what passes, what is refused and how, and that every connection ends."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

import pytest

from tests.sandbox import wait_for
from tests.walls.proxy_client import (
    ALLOWED,
    HOST,
    LABEL,
    Server,
    echo,
    exactly,
    head_of,
    policy,
    proxied,
    recording,
    rest_of,
    socks,
    socks_request,
    tunnel,
)
from workbench.sandbox.host_access import MOST_QUESTIONS, HostDecisions, HostRequest, HostVerdict
from workbench.sandbox.proxy import MOST_CONNECTIONS, ProxyTimeouts


@pytest.fixture
def server():
    server = Server(echo)
    yield server
    server.close()


def page(connection: socket.socket) -> None:
    """Answer one request with its own head and body, as a server that ends the connection does."""
    request = head_of(connection)
    length = next((int(line[15:]) for line in request.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    body = request + exactly(connection, length)
    connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body)


@pytest.fixture
def web():
    server = Server(page)
    yield server
    server.close()


def eventually(check, seconds: float = 5.0) -> bool:
    until = time.monotonic() + seconds
    while not check() and time.monotonic() < until:
        time.sleep(0.01)
    return check()


def test_tunnel_carries_bytes_both_ways(server):
    requests, decide = recording()
    with proxied(decide) as (proxy, connect):
        client = connect()
        assert tunnel(client, HOST, server.port).startswith(b"HTTP/1.1 200 ")
        client.sendall(b"x" * 100_000)
        assert exactly(client, 100_000) == b"x" * 100_000
        client.shutdown(socket.SHUT_WR)
        assert rest_of(client) == b""
    assert requests == [(HOST, server.port, LABEL, 0)]
    assert proxy.refusals == ()


def test_bytes_sent_right_behind_the_request_for_a_tunnel_arrive(server):
    with proxied() as (_, connect):
        client = connect()
        client.sendall(f"CONNECT {HOST}:{server.port} HTTP/1.1\r\n\r\nearly".encode())
        assert head_of(client).startswith(b"HTTP/1.1 200 ")
        assert exactly(client, 5) == b"early"


@pytest.mark.parametrize("name", [HOST, HOST.upper(), f"{HOST}."])
def test_socks_connects_to_names(server, name):
    requests, decide = recording()
    with proxied(decide) as (_, connect):
        client = connect()
        assert socks(client, name, server.port) == 0
        client.sendall(b"hello")
        assert exactly(client, 5) == b"hello"
    assert requests == [(HOST, server.port, LABEL, 0)]


def test_plain_request_is_forwarded_with_the_checked_host(web):
    with proxied() as (_, connect):
        client = connect()
        client.sendall(
            f"POST http://{HOST}:{web.port}/a?b=1 HTTP/1.1\r\nHost: other.example\r\nProxy-Authorization: x\r\n"
            "Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nX-End: 2\r\nContent-Length: 4\r\n\r\nbody".encode()
        )
        answer = rest_of(client)
    head, _, echoed = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK")
    assert echoed == (
        f"POST /a?b=1 HTTP/1.1\r\nHost: {HOST}:{web.port}\r\nX-End: 2\r\nContent-Length: 4\r\n"
        "Connection: close\r\n\r\nbody".encode()
    )


def test_only_one_request_passes_on_a_connection(web):
    requests, decide = recording()
    with proxied(decide) as (_, connect):
        client = connect()
        one = f"GET http://{HOST}:{web.port}/ HTTP/1.1\r\nHost: {HOST}\r\n\r\n"
        client.sendall((one + one.replace(HOST, "other.example")).encode())
        answer = rest_of(client)
    assert answer.count(b"GET /") == 1
    assert b"other.example" not in answer
    assert len(requests) == web.connections == 1


def test_client_learns_that_it_must_connect_again_for_the_next_request():
    def keep_open(connection: socket.socket) -> None:
        head_of(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n")
        connection.sendall(b"ok")

    server = Server(keep_open)
    with proxied() as (_, connect):
        client = connect()
        client.sendall(f"GET http://{HOST}:{server.port}/ HTTP/1.1\r\n\r\n".encode())
        assert rest_of(client) == b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
    server.close()


def test_chunked_body_ends_where_its_chunks_end():
    sent = []

    def collect(connection: socket.socket) -> None:
        connection.settimeout(0.5)
        head_of(connection)
        try:
            while chunk := connection.recv(1000):
                sent.append(chunk)
        except TimeoutError:
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")

    server = Server(collect)
    with proxied() as (_, connect):
        client = connect()
        body = b"5\r\nhello\r\n0\r\n\r\n"
        head = f"PUT http://{HOST}:{server.port}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        client.sendall(head + body + b"GET /smuggled HTTP/1.1\r\n\r\n")
        rest_of(client)
    server.close()
    assert b"".join(sent) == body


def test_refusal_says_why_to_the_model_and_is_recorded():
    decide = lambda request: HostVerdict(False, "the user rejected it")
    with proxied(decide) as (proxy, connect):
        started = time.monotonic()
        client = connect()
        head = tunnel(client, HOST, 443)
        body = rest_of(client).decode()
        assert socks(connect(), HOST, 443) == 2
        [refusal] = proxy.refused_since(LABEL, started)
    assert head.startswith(b"HTTP/1.1 403 ")
    assert b"\r\nX-Sandbox: refused\r\n" in head
    assert body == f"The sandbox refused the connection to {HOST}:443: the user rejected it\n"
    assert (refusal.host, refusal.port, refusal.reason, refusal.label) == (HOST, 443, "the user rejected it", LABEL)
    assert len(proxy.refusals) == 2
    assert proxy.refused_since("ipython", started) == proxy.refused_since(LABEL, time.monotonic()) == ()


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "10.1.2.3", "169.254.169.254", "192.168.0.1", "0.0.0.0", "localhost", "a.localhost"),
        *("[::1]", "[::ffff:127.0.0.1]", "[fe80::1]", "[fd00:ec2::254]", "[64:ff9b::7f00:1]"),
    ],
)
def test_private_hosts_are_refused_without_a_question(host):
    requests, decide = recording()
    checks = policy(**{"localhost": ["127.0.0.1"], "a.localhost": ["127.0.0.1"]})
    with proxied(decide, checks=checks) as (proxy, connect):
        assert tunnel(connect(), host, 80).startswith(b"HTTP/1.1 403 ")
        assert socks(connect(), host.strip("[]"), 80) == 2
    assert requests == []
    assert "not a public address" in proxy.refusals[0].reason
    assert len(proxy.refusals) == 2


@pytest.mark.parametrize("host", ["0x7f.1", "2130706433", "127.1", "0177.0.0.1", "1.2.3.4.5", "[fe80::1%eth0]", "a..b"])
def test_addresses_in_odd_notation_are_not_understood(host):
    requests, decide = recording()
    with proxied(decide) as (_, connect):
        assert tunnel(connect(), host, 80).startswith(b"HTTP/1.1 400 ")
        assert socks(connect(), host.strip("[]"), 80) == 2
    assert requests == []


def test_name_that_leads_to_a_private_address_is_refused(server):
    with proxied(checks=policy(**{"inside.example": ["10.0.0.7", "127.0.0.1"]})) as (proxy, connect):
        assert tunnel(connect(), "inside.example", server.port).startswith(b"HTTP/1.1 403 ")
    assert server.connections == 0
    assert "10.0.0.7" in proxy.refusals[0].reason


def test_name_is_resolved_after_the_decision_and_only_then():
    names = []

    def resolve(host: str, port: int) -> list[str]:
        names.append(host)
        raise OSError(-2, "unknown")

    checks = policy()
    checks._resolve = resolve
    with proxied(lambda request: HostVerdict(False, "no"), checks=checks) as (_, connect):
        tunnel(connect(), "secret-key.attacker.example", 443)
    assert names == []


def test_connection_is_made_to_the_checked_address_even_if_the_name_changes(server):
    answers = iter((["127.0.0.1"], ["10.0.0.1"]))
    checks = policy()
    checks._resolve = lambda host, port: next(answers)
    with proxied(checks=checks) as (_, connect):
        assert tunnel(connect(), HOST, server.port).startswith(b"HTTP/1.1 200 ")
        wait_for(lambda: server.connections, "the server to notice the connection")
    assert server.connections == 1
    assert next(answers) == ["10.0.0.1"]


def test_unreachable_host_is_no_refusal():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with proxied() as (proxy, connect):
        client = connect()
        head = tunnel(client, HOST, port)
        assert head.startswith(b"HTTP/1.1 502 ")
        assert b"X-Sandbox" not in head
        assert b"refused" in rest_of(client)
        assert socks(connect(), HOST, port) == 5
        assert tunnel(connect(), "unknown.example", port).startswith(b"HTTP/1.1 502 ")
        assert socks(connect(), "unknown.example", port) == 4
    assert proxy.refusals == ()


def test_connections_to_one_host_share_a_question_and_are_held_until_its_answer(server):
    asked, answer = [], threading.Event()

    def decide(request: HostRequest) -> HostVerdict:
        asked.append(request.host)
        answer.wait(10)
        return ALLOWED

    with proxied(decide) as (_, connect):
        clients = [connect() for _ in range(5)]
        for client in clients:
            client.sendall(f"CONNECT {HOST}:{server.port} HTTP/1.1\r\n\r\n".encode())
        time.sleep(0.3)
        assert (asked, server.connections) == ([HOST], 0)
        answer.set()
        assert [head_of(client)[:12] for client in clients] == [b"HTTP/1.1 200"] * 5
    assert asked == [HOST]


def test_question_is_abandoned_when_the_client_hangs_up():
    abandoned = threading.Event()

    def decide(request: HostRequest) -> HostVerdict:
        request.on_abandoned(abandoned.set)
        abandoned.wait(10)
        return ALLOWED

    with proxied(decide) as (_, connect):
        client = connect()
        client.sendall(f"CONNECT {HOST}:443 HTTP/1.1\r\n\r\n".encode())
        time.sleep(0.1)
        client.close()
        assert abandoned.wait(5)


@pytest.mark.parametrize("patience", [0.05, 60.0])
def test_decision_that_comes_at_once_counts_however_short_the_patience_is(patience):
    decisions = HostDecisions(lambda request: HostVerdict(True, ""), patience)
    assert decisions.verdict(HostRequest("example.org", 443, ""), lambda: False).allowed


def test_decision_that_does_not_come_in_time_is_a_refusal():
    never = threading.Event()

    def decide(request: HostRequest) -> HostVerdict:
        never.wait()
        return HostVerdict(True, "")

    verdict = HostDecisions(decide, 0.05).verdict(HostRequest("example.org", 443, ""), lambda: False)
    never.set()
    assert not verdict.allowed
    assert "not decided in time" in verdict.reason


def test_only_so_many_hosts_wait_for_a_decision():
    answer = threading.Event()

    def decide(request: HostRequest) -> HostVerdict:
        answer.wait(10)
        return HostVerdict(False, "no")

    with proxied(decide) as (proxy, connect):
        for number in range(MOST_QUESTIONS):
            connect().sendall(f"CONNECT host{number}.example:443 HTTP/1.1\r\n\r\n".encode())
        time.sleep(0.3)
        assert tunnel(connect(), "one-more.example", 443).startswith(b"HTTP/1.1 403 ")
        answer.set()
        assert "wait for the user" in proxy.refusals[0].reason


def test_sending_more_than_the_budget_asks_again():
    asked, arrived = [], bytearray()

    def collect(connection: socket.socket) -> None:
        while data := connection.recv(1000):
            arrived.extend(data)

    def decide(request: HostRequest) -> HostVerdict:
        asked.append((request.uploaded, len(arrived)))
        return HostVerdict(len(asked) < 3, "it has sent enough", upload=1000)

    server = Server(collect)
    with proxied(decide) as (proxy, connect):
        client = connect()
        tunnel(client, HOST, server.port)
        client.sendall(b"x" * 900)
        assert eventually(lambda: len(arrived) == 900)
        assert asked == [(0, 0)]
        client.sendall(b"x" * 5000)
        assert rest_of(client) == b""
        assert eventually(lambda: len(arrived) == 2000)
        assert [sent for sent, _ in asked] == [0, 1000, 2000]
        assert proxy.refusals[-1].reason == "it has sent enough"
    server.close()


def test_budget_is_shared_by_connections_and_requests(web):
    asked = []

    def decide(request: HostRequest) -> HostVerdict:
        asked.append(request.uploaded)
        return HostVerdict(not request.uploaded, "it has sent enough", upload=1000)

    with proxied(decide) as (_, connect):
        for _ in range(3):
            client = connect()
            client.sendall(f"GET http://{HOST}:{web.port}/{'x' * 400} HTTP/1.1\r\n\r\n".encode())
            rest_of(client)
    assert asked == [0, 0, 0, 1000]


def test_new_grant_has_a_new_budget(server):
    grants = iter("ab")
    decide = lambda request: HostVerdict(not request.uploaded, "enough", grant=next(grants, ""), upload=100)
    with proxied(decide) as (_, connect):
        for _ in range(2):
            client = connect()
            tunnel(client, HOST, server.port)
            client.sendall(b"x" * 100)
            assert exactly(client, 100) == b"x" * 100


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (b"GET / HTTP/1.1\r\nHost: registry.example\r\n\r\n", b"HTTP/1.1 400"),
        (b"GET https://registry.example/ HTTP/1.1\r\n\r\n", b"HTTP/1.1 400"),
        (b"GET http://user@registry.example/ HTTP/1.1\r\n\r\n", b"HTTP/1.1 400"),
        (b"GET http://registry.example/ HTTP/1.1\nHost: x\r\n\r\n", b"HTTP/1.1 400"),
        (b"GET http://registry.example/ HTTP/1.1\r\nContent-Length : 4\r\n\r\n", b"HTTP/1.1 400"),
        (b"GET http://registry.example/ HTTP/1.1\r\n folded: 4\r\n\r\n", b"HTTP/1.1 400"),
        (b"PUT http://registry.example/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", b"HTTP/1.1 400"),
        (b"PUT http://registry.example/ HTTP/1.1\r\nContent-Length: +1\r\n\r\n", b"HTTP/1.1 400"),
        (
            b"PUT http://registry.example/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"HTTP/1.1 400",
        ),
        (b"PUT http://registry.example/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", b"HTTP/1.1 400"),
        (b"CONNECT registry.example HTTP/1.1\r\n\r\n", b"HTTP/1.1 400"),
        (b"CONNECT registry.example:0 HTTP/1.1\r\n\r\n", b"HTTP/1.1 400"),
        (b"CONNECT registry.example:99999 HTTP/1.1\r\n\r\n", b"HTTP/1.1 400"),
        (b"CONNECT regis\0try.example:443 HTTP/1.1\r\n\r\n", b"HTTP/1.1 400"),
        (b"CONNECT r\xc3\xa9gistry.example:443 HTTP/1.1\r\n\r\n", b"HTTP/1.1 400"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"HTTP/1.1 400"),
        (b"\x04\x01\x00\x50\x7f\x00\x00\x01\x00", b""),
        (b"\x16\x03\x01\x00\x05hello", b""),
        (b"\x05\x01\x02", b"\x05\xff"),
        (b"\x05\x01\x00" + socks_request(HOST, 80, 2), b"\x05\x00\x05\x07"),
        (b"\x05\x01\x00" + socks_request(HOST, 80, 3), b"\x05\x00\x05\x07"),
        (b"\x05\x01\x00" + socks_request(b"registry.example\0.evil.example", 80), b"\x05\x00\x05\x02"),
        (b"\x05\x01\x00" + socks_request(b"registry.example\r\n", 80), b"\x05\x00\x05\x02"),
        (b"\x05\x01\x00" + socks_request(b"", 80), b"\x05\x00\x05\x02"),
        (b"\x05\x01\x00" + socks_request(HOST, 0), b"\x05\x00\x05\x02"),
        (b"\x05\x01\x00\x05\x01\x00\x09aaaa", b"\x05\x00\x05\x08"),
    ],
)
def test_nothing_else_is_understood(server, data, answer):
    requests, decide = recording()
    with proxied(decide) as (_, connect):
        client = connect()
        client.sendall(data)
        with contextlib.suppress(OSError):  # it may have answered and closed the connection already
            client.shutdown(socket.SHUT_WR)
        received = rest_of(client)
        assert received.startswith(answer) if answer else received == b""
        assert tunnel(connect(), HOST, server.port).startswith(b"HTTP/1.1 200 ")  # it still serves
    assert requests == [(HOST, server.port, LABEL, 0)]


def test_endless_head_is_cut_off():
    with proxied() as (_, connect):
        client = connect()
        try:
            for _ in range(100):
                client.sendall(b"A" * 10_000)
        except OSError:
            return
        assert rest_of(client) == b""


def test_slow_and_silent_connections_end(server):
    timeouts = ProxyTimeouts(request=0.3, idle=0.3, half_open=0.2)
    with proxied(timeouts=timeouts) as (_, connect):
        slow = connect()
        slow.sendall(b"CONNECT ")
        silent = connect()
        idle = connect()
        assert tunnel(idle, HOST, server.port).startswith(b"HTTP/1.1 200 ")
        assert rest_of(slow) == rest_of(silent) == rest_of(idle) == b""


def test_half_open_connection_ends():
    done = threading.Event()
    server = Server(lambda connection: done.wait(5))
    with proxied(timeouts=ProxyTimeouts(half_open=0.2)) as (_, connect):
        client = connect()
        tunnel(client, HOST, server.port)
        client.shutdown(socket.SHUT_WR)
        started = time.monotonic()
        assert rest_of(client) == b""
    assert time.monotonic() - started < 3
    done.set()
    server.close()


def test_connections_beyond_the_limit_wait_for_a_free_one(server):
    with proxied() as (_, connect):
        clients = [connect() for _ in range(MOST_CONNECTIONS)]
        for client in clients:
            assert tunnel(client, HOST, server.port).startswith(b"HTTP/1.1 200 ")
        late = connect()
        late.sendall(f"CONNECT {HOST}:{server.port} HTTP/1.1\r\n\r\n".encode())
        late.settimeout(0.3)
        with pytest.raises(TimeoutError):
            late.recv(1)
        clients[0].close()
        late.settimeout(10)
        assert head_of(late).startswith(b"HTTP/1.1 200 ")


def test_connection_that_gets_no_thread_ends_and_later_ones_are_served(server, monkeypatch):
    refused, start = 3, threading.Thread.start

    def start_unless_at_the_limit(thread: threading.Thread) -> None:
        nonlocal refused
        if thread.name == f"sandbox {LABEL}" and refused:
            refused -= 1
            raise RuntimeError("can't start new thread")
        start(thread)

    with proxied() as (_, connect):
        monkeypatch.setattr(threading.Thread, "start", start_unless_at_the_limit)
        earlier = [connect() for _ in range(refused)]
        assert [rest_of(client) for client in earlier] == [b""] * 3
        late = connect()
        assert tunnel(late, HOST, server.port).startswith(b"HTTP/1.1 200 ")


def test_close_ends_everything(server):
    abandoned = threading.Event()

    def decide(request: HostRequest) -> HostVerdict:
        if request.port == 443:
            request.on_abandoned(abandoned.set)
            abandoned.wait(10)
        return ALLOWED

    before = set(threading.enumerate())
    with proxied(decide) as (proxy, connect):
        idle, held, fresh = connect(), connect(), connect()
        assert tunnel(idle, HOST, server.port).startswith(b"HTTP/1.1 200 ")
        held.sendall(f"CONNECT {HOST}:443 HTTP/1.1\r\n\r\n".encode())
        time.sleep(0.1)
        proxy.close()
        assert rest_of(idle) == rest_of(held) == rest_of(fresh) == b""
        assert abandoned.is_set()
        with pytest.raises(ConnectionError):
            connect()
    ours = lambda: {each for each in threading.enumerate() if each.name.startswith(("sandbox", "host-"))} - before
    assert eventually(lambda: not ours())


def test_listener_passed_to_a_closed_proxy_is_closed():
    with proxied() as (proxy, _):
        proxy.close()
        listener = socket.create_server(("127.0.0.1", 0))
        proxy.serve(listener, LABEL)
        assert listener.fileno() == -1


@pytest.mark.parametrize("has_splice", [True, False])
def test_large_download_arrives_whole(monkeypatch, has_splice):
    data = bytes(range(256)) * 40_000
    server = Server(lambda connection: connection.sendall(data))
    if not has_splice:
        monkeypatch.delattr("os.splice", raising=False)
    with proxied() as (_, connect):
        client = connect()
        tunnel(client, HOST, server.port)
        assert rest_of(client) == data
    server.close()
