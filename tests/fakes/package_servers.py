"""Servers of packages and of a repository for tests, as real programs use them: pip, npm over TLS, git over HTTP."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import ssl
import subprocess
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

NAME = "ohw_demo"
"""The name of the package for Python, and of the one for Node."""
Answer = tuple[str, bytes]
"""A content type and a body."""


def wheel() -> bytes:
    """Return a wheel with one module."""
    files = {
        f"{NAME}.py": "def answer():\n    return 42\n",
        f"{NAME}-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.0\n",
        f"{NAME}-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = f"{NAME}-1.0.dist-info/RECORD"
    files[record] = "".join(f"{name},,\n" for name in (*files, record))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()


def node_package() -> bytes:
    """Return a package of Node with one module."""
    files = {
        "package/package.json": json.dumps({"name": NAME, "version": "1.0.0", "main": "index.js"}),
        "package/index.js": "module.exports = () => 42;\n",
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


def packages(url: str) -> Mapping[str, Answer]:
    """Return what a server at a URL answers: an index of wheels below `/simple/`, a registry of Node at `/`."""
    file, packed = f"{NAME}-1.0-py3-none-any.whl", node_package()
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(packed).digest()).decode()
    version = {
        "name": NAME,
        "version": "1.0.0",
        "main": "index.js",
        "dist": {"tarball": f"{url}/{NAME}-1.0.0.tgz", "integrity": integrity},
    }
    registry = {"name": NAME, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
    return {
        f"/simple/{NAME.replace('_', '-')}/": ("text/html", f'<a href="{url}/{file}">{file}</a>'.encode()),
        f"/{file}": ("application/zip", wheel()),
        f"/{NAME}": ("application/json", json.dumps(registry).encode()),
        f"/{NAME}-1.0.0.tgz": ("application/octet-stream", packed),
    }


@contextmanager
def serve_packages(host: str, directory: Path) -> Iterator[tuple[str, Path]]:
    """Serve packages over TLS; yield the URL, and the certificate to trust."""
    certificate, key = directory / "certificate.pem", directory / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={host}"]
    # Over a proxy, npm looks for `localhost` in the certificate if the host is an address.
    names = f"subjectAltName=IP:{host},DNS:localhost"
    command += ["-addext", names, "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    answers: dict[str, Answer] = {}

    def answer(handler: BaseHTTPRequestHandler) -> None:
        kind, body = answers.get(handler.path, ("text/plain", b""))
        handler.send_response(200 if body else 404)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    with _serving(host, answer, context) as port:
        answers.update(packages(f"https://{host}:{port}"))
        yield f"https://{host}:{port}", certificate


@contextmanager
def serve_repository(host: str, directory: Path) -> Iterator[str]:
    """Serve the git repositories in a directory with git's own program; yield the URL."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        path, _, query = handler.path.partition("?")
        length = int(handler.headers.get("Content-Length") or 0)
        env = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(directory),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "REQUEST_METHOD": handler.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": handler.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(length),
            "HTTP_CONTENT_ENCODING": handler.headers.get("Content-Encoding", ""),
            "REMOTE_ADDR": handler.client_address[0],
        }
        done = subprocess.run(["git", "http-backend"], input=handler.rfile.read(length), capture_output=True, env=env)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        handler.send_response(200 if body else 500)
        for line in head.decode().splitlines():
            name, _, value = line.partition(": ")
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    with _serving(host, answer) as port:
        yield f"http://{host}:{port}"


@contextmanager
def _serving(
    host: str, answer: Callable[[BaseHTTPRequestHandler], None], context: ssl.SSLContext | None = None
) -> Iterator[int]:
    """Answer requests at a port of a host, which is yielded; with a context, over TLS."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer((host, 0), Handler) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
