"""Variables whose names say that they hold a secret reach no child process, unless the settings list them."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import workbench
from workbench.mcp.config import ServerConfig, server_environment
from workbench.processes import spawn
from workbench.processes.shell_environment import shell_environment
from workbench.secrets.secret_names import PASSED_ON, child_environment, holds_secret

SECRET = (
    *("OPENAI_API_KEY", "MY_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "DB_PASS", "PASSWORD"),
    *("PGPASSWORD", "MYSQL_PWD", "SECRET_KEY_BASE", "CLIENT_SECRET", "GITHUB_TOKEN", "TOKEN_FOR_X"),
    *("NPM_CONFIG__AUTHTOKEN",),
    *("MY_BEARER", "SESSION_COOKIE", "AUTHORIZATION", "SENTRY_DSN", "DSN", "DOCKER_AUTH_CONFIG"),
    *("REGISTRY_AUTH", "AUTH_HEADER", "GOOGLE_APPLICATION_CREDENTIALS", "SSH_KEY_PASSPHRASE", "GITHUB_PAT"),
    *("my_api_key", "VaultToken", "APIKEY", "AZURE_STORAGE_CONNECTION_STRING", "PIP_PASSWORD"),
    *("UV_INDEX_SECRET", "OPENAI_API_KEY_2", "API_KEY_PROD", "PRIVATE_KEY_PEM", "WALLET_MNEMONIC", "SEED_PHRASE"),
    *("AWS_SK", "USER_PIN", "CARDPIN", "LOGIN_OTP", "OTP", "TOTP_SEED", "OTP_CODE", "KEY_PASSPHRASE", "PASSPHRASES"),
    *("SLACK_WEBHOOK_URL", "SERVICE_ACCOUNT_JSON", "SIGNING_KEY_BASE64", "STRIPE_KEY_LIVE"),
    *("ENCRYPTION_KEY_V2", "KEY_V10", "WALLET_PRIVKEY", "AccessKeyId", "DB_PW", "pw", "LDAP_BIND_PW", "HMAC_SALT"),
    *("PASSWORD_SALT", "SSH_PRIVATE", "GPG_PRIVATE", "DISCORD_WEBHOOK", "MASTERKEY", "DB_CREDS", "SIGNING_HMAC"),
    *("NETRC_CONTENT", "KUBECONFIG_DATA", "PIN_CODE"),
    *("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"),
)  # fmt: skip
PLAIN = (
    *("HOME", "PATH", "PWD", "OLDPWD", "LANG", "SHELL", "USER", "TERM", "EDITOR", "KEYBOARD", "MONKEY"),
    *("AUTHOR", "GIT_AUTHOR_NAME", "XAUTHORITY", "SSH_AUTH_SOCK", "DISPLAY", "VIRTUAL_ENV", "KEYMAP"),
    *("DISK", "RISK", "SPIN", "PINS", "PING", "PIN_VERSION", "BOOTPATH", "HOTPLUG", "OTP_VERSION", "OPTS"),
    *("HTTP_PROXY", "NODE_ENV", "XDG_RUNTIME_DIR", "PATTERN", "DSNX", "WEBHOOK_PORT", "KEY_BINDINGS"),
    *("SALT_LAKE", "SALT_MASTER", "PWM", "UPW0", "KEY_VALUE", "PRIVATE_DIR", "NPW_HOST", "KEY_VERSION"),
    *("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_SERVICE_NAME", "CURL_HEADERS"),
)  # fmt: skip
SERVER = ServerConfig(name="s", kind="stdio", source="settings.toml", command="x")
OWN_PROGRAMS = {"engine/launch.py", "engine/model_test.py"}
"""Our own engine calls the models, so it has the keys; it starts nothing with its own environment."""


@pytest.fixture(autouse=True)
def _nothing_is_listed() -> Iterator[None]:
    yield
    PASSED_ON.set(())


@pytest.mark.parametrize("name", SECRET)
def test_variable_named_like_a_secret_reaches_no_child(name):
    env = {name: "x", "HOME": "/h"}
    assert holds_secret(name)
    assert child_environment(env) == {"HOME": "/h"}
    assert name not in shell_environment(env, "nonce")
    assert name not in server_environment(SERVER, env)


@pytest.mark.parametrize("name", PLAIN)
def test_other_variables_are_passed_on(name):
    assert child_environment({name: "x"}) == {name: "x"}


def test_variables_listed_in_the_settings_are_passed_on():
    PASSED_ON.set(("GITHUB_TOKEN",))
    env = {"GITHUB_TOKEN": "x", "NPM_TOKEN": "y"}
    assert child_environment(env) == {"GITHUB_TOKEN": "x"}
    assert "GITHUB_TOKEN" in shell_environment(env, "nonce")
    assert "NPM_TOKEN" not in shell_environment(env, "nonce")


def _joined(*parts: str) -> str:
    return "".join(parts)


TOKENS = {
    "GitHub": _joined("gh", "p_", "abcdefghijklmnopqrstuvwxyz0123456789"),
    **{f"GitLab, {kind}": _joined("gl", kind, "-abcdefghij0123456789") for kind in ("pat", "cbt", "ft", "oas", "soat")},
    "Slack's sockets": _joined("xa", "pp-", "1-A0123456789-abcdef"),
    "a model's provider": _joined("s", "k-", "proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"),
    "Amazon": _joined("AK", "IA", "IOSFODNN7EXAMPL3"),
    "Google": _joined("AI", "za", "SyA1234567890abcdefghijklmnopqrstuvw"),
    "npm": _joined("//r.example/:_x=np", "m_", "abcdefghijklmnopqrstuvwxyz0123456789"),
    "a web token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcDEFghiJKLmnoPQRstu",
    "a private key": "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIE",
    "a private key in JSON": '{"k": "-----BEGIN PRIVATE ' + 'KEY-----\\nMIIE"}',
    "Slack": "https://hooks.slack.com/services/" + "T00/B00/abcdefghijkl",
}


@pytest.mark.parametrize("issuer", TOKENS)
def test_variable_whose_value_is_a_token_reaches_no_child(issuer):
    env = {"PLAIN_NAME": TOKENS[issuer], "HOME": "/h"}
    assert child_environment(env) == {"HOME": "/h"}
    PASSED_ON.set(("PLAIN_NAME",))
    assert child_environment(env) == env


@pytest.mark.parametrize(
    "value", ["task-0123456789-abcdefghijklmnop", "ghp_", "https://github.com/a/b", "/home/u/sk-data", "a" * 60, "eyJx"]
)
def test_value_that_is_no_token_is_passed_on(value):
    assert child_environment({"PLAIN_NAME": value}) == {"PLAIN_NAME": value}


LOGINS = {
    "DATABASE_URL": "postgres://me:hunter2@db.example/x",
    "REDIS_URI": "redis://:hunter2@r.example:6379/0",
    "BROKER": "amqps://me:p%40ss@q.example//",
    "MONGO": "mongodb+srv://me:hunter2@c.example/?retryWrites=true",
    "PIP_INDEX_URL": "https://me:hunter2@x.example/index",
    "REPOSITORIES": "https://x.example https://me:hunter2@y.example",
    "GIT_REMOTE": "https://0123456789abcdef0123456789abcdef01234567@git.example/x.git",
    "SHORT": "https://Tr0ub4dor9x@git.example/x.git",
    "DOTTED": "https://s.AbCdEf.01.GhIjKlMnOpQr@git.example/x.git",
    "JDBC": "jdbc:postgresql://h/db?user=u&password=hunter2",
    "JDBC_END": "jdbc:mysql://h:3306/db?password=hunter2&user=u",
    "ORACLE": "jdbc:oracle:thin:scott/hunter2@h:1521/x",
    "SQLSERVER": "jdbc:sqlserver://h;user=u;password=hunter2;x=1",
    "ADO": "Server=h;User Id=u;Password=hunter2;",
    "LIBPQ": "host=h user=u password=hunter2",
    "AZURE": "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=Zm9vYmFyYmF6==;EndpointSuffix=x",
    "QUERY": "https://h.example/?a=1&access_token=hunter2abc",
    "SAS": "https://h.example/c?sv=1&sig=9Yb3kX2mZ8Qd",
    "HEADERS": "authorization=Bearer%20abcdef0123456789,x=1",
    "HEADER": "Authorization: Basic dXNlcjpwYXNzd29yZA==",
}
NO_LOGINS = {
    "DATABASE_URL": "postgres://me@db.example:5432/x",
    "HOMEPAGE_URI": "https://x.example:8080/a:b@c",
    "HTTPS_PROXY": "http://me:hunter2@p.example:3128",
    "REMOTE": "git@git.example:me/x.git",
    "SSH": "ssh://git@git.example:22/me/x.git",
    "NAME": "https://name@github.com/x/y.git",
    "AZURE": "https://contoso2024@dev.azure.com/contoso2024/_git/x",
    "JDBC": "jdbc:postgresql://h/db?user=u&ssl=true",
    "ORACLE": "jdbc:oracle:thin:@h:1521/x",
    "JAVA_OPTS": "-Xmx1g -Djavax.net.ssl.trustStore=/etc/x -Dtoken.count=12",
    "DOCKER": "-u 1000:1000 -p 8080:80",
    "LESS": "--RAW-CONTROL-CHARS",
    "QUERY": "https://h.example/?password=$DB_WORD&token=",
}


@pytest.mark.parametrize("name", LOGINS)
def test_url_with_a_password_reaches_no_child_unless_listed(name):
    env = {name: LOGINS[name], "HOME": "/h"}
    assert child_environment(env) == {"HOME": "/h"}
    assert name not in shell_environment(env, "nonce")
    PASSED_ON.set((name,))
    assert child_environment(env) == env


def test_url_without_a_password_is_passed_on():
    assert child_environment(NO_LOGINS) == NO_LOGINS


def test_package_index_url_with_a_login_reaches_no_server():
    env = {
        "PIP_INDEX_URL": "https://me:hunter2@x.example/index",
        "UV_INDEX_URL": "https://x.example/index",
        "HTTPS_PROXY": "http://me:hunter2@p.example:3128",
    }
    environment = server_environment(SERVER, env)
    assert "PIP_INDEX_URL" not in environment
    assert {"UV_INDEX_URL", "HTTPS_PROXY"} <= set(environment)


def test_process_gets_no_secret_unless_its_environment_is_explicit(monkeypatch):
    """One function starts all processes (`tests.contracts.test_program`); only our own engine is given the keys."""
    monkeypatch.setenv("SOME_API_KEY", "sk-1")
    show = ["sh", "-c", "echo =$SOME_API_KEY="]
    assert spawn.run(show, capture_output=True, text=True).stdout == "==\n"
    assert spawn.run(show, is_users=True, capture_output=True, text=True).stdout == "==\n"
    assert spawn.run(show, env=dict(os.environ), capture_output=True, text=True).stdout == "=sk-1=\n"
    root = Path(workbench.__file__).parent
    giving = {
        file.relative_to(root).as_posix()
        for file in root.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.keyword) and node.arg == "env" and ast.unparse(node.value) == "os.environ"
    }
    assert giving <= OWN_PROGRAMS
