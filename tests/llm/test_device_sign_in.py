"""The sign-in to GitHub Copilot with a device code, against a server that plays GitHub."""

import stat
import threading

import pytest

from tests.fakes.device_server import DeviceServer
from workbench.llm.client import ProviderModel
from workbench.llm.device_sign_in import SignInError, needs_sign_in, request_code, wait_for_token
from workbench.llm.model import Cancel, ModelError, ModelRequest

MODEL = "github_copilot/gpt-5"


class Waits(threading.Event):
    """Records how long each wait would have been, and does not wait; is set after `most` waits."""

    def __init__(self, most: int = 50) -> None:
        super().__init__()
        self.seconds: list[float] = []
        self._most = most

    def wait(self, timeout: float | None = None) -> bool:
        self.seconds.append(timeout or 0)
        if len(self.seconds) > self._most:
            self.set()
        return self.is_set()


@pytest.fixture(autouse=True)
def token(tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_COPILOT_TOKEN_DIR", str(tmp_path / "copilot"))
    return tmp_path / "copilot/access-token"


@pytest.fixture
def github(monkeypatch):
    def start(*script: str, **code) -> DeviceServer:
        server = DeviceServer(*script, code={"interval": 5, **code})
        for name, value in server.env.items():
            monkeypatch.setenv(name, value)
        servers.append(server.__enter__())
        return server

    servers: list[DeviceServer] = []
    yield start
    for server in servers:
        server.__exit__()


def test_token_is_stored_for_the_user_alone_once_the_code_is_entered(github, token):
    server = github("authorization_pending", "authorization_pending")
    assert needs_sign_in(MODEL)
    code, waits = request_code(), Waits()
    assert (code.user_code, code.url) == ("ABCD-1234", "https://github.com/login/device")
    assert wait_for_token(code, waits)
    assert waits.seconds == [5, 5, 5]
    assert {poll["device_code"] for poll in server.polls} == {"dev1"}
    assert token.read_text() == "gho_secret"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert not needs_sign_in(MODEL)


def test_requests_come_more_slowly_when_github_asks_for_it(github):
    github("authorization_pending", "slow_down", "authorization_pending", "slow_down")
    waits = Waits()
    assert wait_for_token(request_code(), waits)
    assert waits.seconds == [5, 5, 10, 10, 15]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ("access_denied", "You refused the sign-in"),
        ("expired_token", "code has expired"),
        ("device_flow_disabled", "refused the sign-in: device_flow_disabled"),
    ],
)
def test_end_without_a_token_says_why(github, token, error, message):
    server = github("authorization_pending", error)
    with pytest.raises(SignInError, match=message):
        wait_for_token(request_code(), Waits())
    assert len(server.polls) == 2
    assert not token.exists()


def test_code_expires_by_the_clock_too(github):
    github(*["authorization_pending"] * 9, expires_in=900)
    times = iter([0, 100, 899, 901])
    with pytest.raises(SignInError, match="code has expired"):
        wait_for_token(request_code(), Waits(), lambda: next(times))


def test_cancelled_sign_in_stores_nothing(github, token):
    server = github(*["authorization_pending"] * 9)
    assert not wait_for_token(request_code(), Waits(most=2))
    assert len(server.polls) == 2
    assert not token.exists()


def test_unreachable_server_is_an_error_for_the_user(monkeypatch):
    monkeypatch.setenv("GITHUB_COPILOT_DEVICE_CODE_URL", "http://127.0.0.1:9/code")
    with pytest.raises(SignInError, match="GitHub cannot be reached"):
        request_code()


@pytest.mark.parametrize("model", ["openai/gpt-5", "anthropic/x", "gpt-5", ""])
def test_other_providers_need_no_sign_in(model):
    assert not needs_sign_in(model)


def test_call_without_a_token_fails_at_once_and_prints_nothing(capfd):
    with pytest.raises(ModelError, match="/model github_copilot/gpt-5 signs you in") as error:
        ProviderModel(MODEL).respond(ModelRequest([], []), lambda delta: None, Cancel())
    assert error.value.kind == "key"
    assert capfd.readouterr() == ("", "")
