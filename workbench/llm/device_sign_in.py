"""Signs in to GitHub Copilot with a device code (RFC 8628), and stores the token where litellm reads it.

litellm has the same flow, but prints the code to stdout, blocks for a minute and runs in the main thread only. The
environment variables with which litellm's URLs, client ID and token file are set apply here too.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from workbench.errors import WorkbenchError
from workbench.text import first_line

PROVIDER: Final = "github_copilot"
_CODE_URL: Final = "https://github.com/login/device/code"
_TOKEN_URL: Final = "https://github.com/login/oauth/access_token"
_CLIENT: Final = "Iv1.b507a08c87ecfe98"
_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
_PATIENCE: Final = 20.0
"""Seconds to wait for one response."""
_INTERVAL, _SLOWER, _EXPIRES = 5.0, 5.0, 900.0
"""Defaults in seconds: between two requests for the token, added to that by `slow_down`, and until a code expires."""
_ENDS: Final = {
    "access_denied": "You refused the sign-in on GitHub.",
    "expired_token": "The code has expired.",
}


class SignInError(WorkbenchError):
    """The sign-in failed; the message is one line for the user."""


class DeviceCode(NamedTuple):
    """A code that the user enters at a URL; times are in seconds."""

    user_code: str
    url: str
    device_code: str
    interval: float
    expires_in: float


def needs_sign_in(model: str) -> bool:
    """Return whether the model's provider signs in with a device code, and no token is stored."""
    if model.partition("/")[0] != PROVIDER:
        return False
    try:
        return not _token_file().read_text().strip()
    except (OSError, ValueError):
        return True


def request_code() -> DeviceCode:
    """Request a device code. Raises SignInError if GitHub cannot be reached or sends none."""
    answer = _post(_setting("DEVICE_CODE_URL", _CODE_URL), {"scope": "read:user"})
    try:
        return DeviceCode(
            str(answer["user_code"]),
            str(answer["verification_uri"]),
            str(answer["device_code"]),
            float(answer.get("interval", _INTERVAL)),
            float(answer.get("expires_in", _EXPIRES)),
        )
    except (LookupError, TypeError, ValueError) as error:
        raise SignInError("GitHub sent no device code.") from error


def wait_for_token(code: DeviceCode, cancelled: threading.Event, clock: Callable[[], float] = time.monotonic) -> bool:
    """Wait until the user has entered the code, and store the token; return False if `cancelled` is set meanwhile.

    Raises SignInError if the user refuses, the code expires, or the token cannot be requested or stored.
    """
    interval, ends = code.interval, clock() + code.expires_in
    while not cancelled.wait(interval):
        if clock() > ends:
            raise SignInError(_ENDS["expired_token"])
        answer = _post(
            _setting("ACCESS_TOKEN_URL", _TOKEN_URL), {"device_code": code.device_code, "grant_type": _GRANT}
        )
        token, problem = answer.get("access_token"), str(answer.get("error", ""))
        if token and not cancelled.is_set():
            _store(str(token))
            return True
        if problem == "slow_down":
            interval = max(interval + _SLOWER, float(answer.get("interval") or 0))
        elif problem != "authorization_pending" and not token:
            words = first_line(str(answer.get("error_description") or problem or "no reason given"), 200)
            raise SignInError(_ENDS.get(problem, f"GitHub refused the sign-in: {words}"))
    return False


def _post(url: str, fields: Mapping[str, str]) -> dict[str, Any]:
    import httpx

    try:
        response = httpx.post(
            url,
            json={"client_id": _setting("CLIENT_ID", _CLIENT), **fields},
            headers={"accept": "application/json", "user-agent": "GithubCopilot/1.155.0"},
            timeout=_PATIENCE,
        )
        answer = response.raise_for_status().json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise SignInError(f"GitHub cannot be reached: {first_line(str(error), 200) or type(error).__name__}") from error
    if not isinstance(answer, dict):
        raise SignInError("GitHub sent an answer that cannot be read.")
    return answer


def _setting(name: str, default: str) -> str:
    return os.environ.get(f"GITHUB_COPILOT_{name}", default)


def _token_file() -> Path:
    directory = os.environ.get("GITHUB_COPILOT_TOKEN_DIR") or "~/.config/litellm/github_copilot"
    return Path(directory).expanduser() / _setting("ACCESS_TOKEN_FILE", "access-token")


def _store(token: str) -> None:
    """Write the token into a file that only the user can read. Raises SignInError if that fails."""
    file = _token_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        new = file.with_name(f"{file.name}.new")
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
            stream.write(token)
        new.replace(file)
    except OSError as error:
        raise SignInError(f"The token cannot be saved in {file.parent}: {error.strerror or error}") from error
