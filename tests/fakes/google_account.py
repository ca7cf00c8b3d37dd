"""A service account of Google: a key in a file, and a server that issues tokens for signed assertions."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

TOKEN = "ya29.of-the-fake-account"
PROJECT = "a-project"


class GoogleAccount:
    """`path` is the file that GOOGLE_APPLICATION_CREDENTIALS names."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "account.json"

    def __enter__(self) -> GoogleAccount:
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self._write(f"http://127.0.0.1:{self._http.server_address[1]}/token")
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(10)

    def _write(self, token_uri: str) -> None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        account = {
            "type": "service_account",
            "project_id": PROJECT,
            "private_key_id": "1",
            "private_key": pem.decode(),
            "client_email": f"fake@{PROJECT}.iam.gserviceaccount.com",
            "client_id": "1",
            "token_uri": token_uri,
        }
        self.path.write_text(json.dumps(account))


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        """Issue a token for a signed assertion (RFC 7523), and for nothing else."""
        form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
        if form.get("grant_type") != ["urn:ietf:params:oauth:grant-type:jwt-bearer"]:
            self.send_error(400)
            return
        body = json.dumps({"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Write nothing to stderr."""
