"""What the proxy of the sandbox adds to a connection, and how much of loopback's throughput passes through it.

The server and the client are processes of their own, as they are in use; only the proxy runs here.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from tests.bench.measure import Measure
from tests.walls.proxy_client import HOST, LABEL, exactly, policy, tunnel
from workbench.sandbox.host_access import HostVerdict
from workbench.sandbox.proxy import NetworkProxy

_CONNECTIONS = 200
_ADDED = 2.0
_SHARE = 0.6
_SIZE = 400_000_000
_TIMES = 7
_CHUNK = bytes(1 << 18)


def measures() -> list[Measure]:
    """Return all measures of this file."""
    # The processes are started before the proxy has threads.
    with ProcessPoolExecutor(2, get_context("fork")) as pool:
        return [_latency(pool), _throughput(pool)]


def _paired(
    pool: ProcessPoolExecutor, times: int, serve: Callable[[int], None], measure: Callable[[int, int], float]
) -> tuple[float, float]:
    """Return the shortest that `measure` took directly and through the proxy, in turns: others use the machine too."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    serving = pool.submit(serve, port)
    time.sleep(0.2)
    proxy = NetworkProxy(lambda request: HostVerdict(True), policy())
    listener = socket.create_server(("127.0.0.1", 0))
    inside = listener.getsockname()[1]
    proxy.serve(listener, LABEL)
    try:
        pairs = pool.submit(_measured, measure, times, port, inside).result()
        serving.result()
    finally:
        proxy.close()
    direct, proxied = (min(column) for column in zip(*pairs, strict=True))
    return direct, proxied


def _measured(measure: Callable[[int, int], float], times: int, port: int, inside: int) -> list[tuple[float, float]]:
    return [(measure(port, 0), measure(port, inside)) for _ in range(times)]


def _client(port: int, inside: int) -> socket.socket:
    """Connect to the server, through the proxy at the port `inside` unless that is 0."""
    client = socket.create_connection(("127.0.0.1", inside or port))
    if inside:
        tunnel(client, HOST, port)
    return client


def _serve_bytes(port: int) -> None:
    with socket.create_server(("127.0.0.1", port)) as listener:
        for _ in range(2 * _CONNECTIONS):
            with listener.accept()[0] as connection:
                connection.sendall(connection.recv(1))


def _one_byte(port: int, inside: int) -> float:
    start = time.perf_counter()
    with _client(port, inside) as client:
        client.sendall(b"x")
        exactly(client, 1)
        return time.perf_counter() - start


def _latency(pool: ProcessPoolExecutor) -> Measure:
    """Measure connecting and one byte each way."""
    direct, proxied = _paired(pool, _CONNECTIONS, _serve_bytes, _one_byte)
    value = (proxied - direct) * 1e3
    name = "sandbox: a connection through the proxy, over direct"
    return Measure(name, value, "ms", direct * 1e3, _ADDED, value <= _ADDED)


def _serve_downloads(port: int) -> None:
    with socket.create_server(("127.0.0.1", port)) as listener:
        for _ in range(2 * _TIMES):
            with listener.accept()[0] as connection:
                for _ in range(_SIZE // len(_CHUNK)):
                    connection.sendall(_CHUNK)


def _download(port: int, inside: int) -> float:
    buffer = bytearray(1 << 18)
    with _client(port, inside) as client:
        start = time.perf_counter()
        while client.recv_into(buffer):
            pass
        return time.perf_counter() - start


def _throughput(pool: ProcessPoolExecutor) -> Measure:
    """Measure a download as a time: 60% of the throughput is 1/0.6 of the time."""
    direct, proxied = _paired(pool, _TIMES, _serve_downloads, _download)
    value, most = proxied * 1e3, direct * 1e3 / _SHARE
    return Measure("sandbox: a download of 400 MB through the proxy", value, "ms", direct * 1e3, most, value <= most)
