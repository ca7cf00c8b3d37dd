"""Environment variables that hold secrets, by name or in a URL, and the environment of child processes.

Used wherever a process is started, so it imports no other module of the workbench.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from workbench.lazy_pattern import lazy_pattern

_NAME = lazy_pattern(
    r"(?:^|_|API|ACCESS|SECRET|PRIVATE|PRIV|MASTER)KEYS?(?:_?ID|_BASE|_DATA|_JSON|_PEM|_HEX|_B64|_BASE64)?"
    r"(?:_?V?\d+|_(?:OLD|NEW|DEV|TEST|LIVE|STAGING|PROD(?:UCTION)?))?$|PASS|PWD|PASSPHRASE|SECRET|TOKEN|BEARER|COOKIE"
    r"|(?:BIND|ROOT)_?PW$|(?:^|_)PSK$|(?:^|_)ID_(?:RSA|DSA|ECDSA|ED25519)$|(?:^|_)X[CS]RF$|(?:RECOVERY|BACKUP)_CODES?$"
    r"|(?:^|_)(?:PW|(?:SSH|SIGNING|GPG|RSA|DSA|ECDSA|ED25519)_PRIVATE|(?:HMAC|HASH(?:ID)?S?|PASSWORD|SESSION)_SALT)$"
    r"|(?:WALLET|TOTP|OTP|MFA)_SEED$|STORAGE_SAS$|KEYRING_DATA$|(?:ACCESS|AUTH)_CODE$"
    r"|(?:^|_)(?:MNEMONIC|SEED_?PHRASE|SERVICE_ACCOUNT_JSON|WEBHOOK(?:_URL)?|CREDS?|HMAC|PEPPER|PIN_CODE"
    r"|(?:NETRC|KEYFILE|KUBECONFIG|SERVICE_ACCOUNT|SA)_(?:CONTENTS?|DATA|JSON|B64|BASE64))$"
    r"|(?:^|_)SK$|(?<![SP])PIN(?:_?\d+)?$|(?:^|[^A-Za-z])[TH]?OTP(?:$|[^A-Za-z])|OTP$"
    r"|^OTEL_EXPORTER_OTLP_(?:[A-Z]+_)?HEADERS$|(?:^|_)DSN$|(?:^|_)AUTH(?!OR(?!IZ))|CREDENTIAL|(?:^|_)(?:PAT|JWT)$|CONN(?:ECTION)?_?STR(?:ING)?$",
    re.IGNORECASE,
)
_NO_SECRETS = frozenset({"PWD", "OLDPWD", "SSH_AUTH_SOCK", "OTP_VERSION", "OTP_RELEASE"})
"""Names that look like secrets but are not: the working directories, the socket of the SSH agent, Erlang's release."""
TOKEN_AS_USER = (
    r"(?=[\w.~+%-]{10,400}@)(?-i:(?=[\w.~+%-]{20})(?=[^\d@]*\d)"
    r"|(?<=http://|ttps://)(?:(?=(?:[^\d@]*\d+[A-Za-z]){2})|(?=[^\d@]*\d)(?=[^a-z@]*[a-z][^A-Z@]*[A-Z])))"
)
"""A lookahead, for use after the `://` of a URL, that matches a token in the position of the user name.

The token has at least 20 characters with a digit, or at least 10 in which letters, digits and cases alternate unlike in
a name.
"""
_LOGIN = (
    rf"://(?:[^/\s:@\"']{{0,200}}:[^/\s@\"']{{1,400}}|{TOKEN_AS_USER}[^\s/@]{{10,400}})@"
    r"|\bjdbc:oracle:\w{1,10}:[^\s/@]{1,80}/[^\s/@]{1,200}@"
    r"|(?:^|[?&;#\s])(?:(?:(?:-D|--)?\w[\w.-]{0,40}?)?(?:passw(?:or)?d|pwd|passphrase|secret|token|(?:api|account)[_-]?key)|sig)"
    r"[ \t]*=[ \t]*(?![$<{])[^\s&;]{3}"
    r"|(?:^|\s)--(?:[\w-]{0,40}-)?(?:password|secret|token|api-key) +(?![$<{-])[^\s&;]{3}"
    r"|[\"'](?:\w{0,40}_)?(?:password|secret|token|auth|api_?key|private_key)[\"']\s*:\s*[\"'][^\s\"']{6}"
    r"|\bauthorization[\"']?\s{0,9}[:=]\s{0,9}[\"']?(?:(?:bearer|basic|token)(?:\s|%20))?[\w.~+/-]{8}"
    r"|\bbearer(?:\s|%20)[\w.~+/-]{16}"
)
"""Matches a login in a URL, its query, a connection string or a header; compile it with IGNORECASE."""
_MARKS = ("://", "passw", "pwd", "passphrase", "secret", "token", "key", "auth", "bearer", "sig", "jdbc")
"""Each login contains one of these, in lower case."""
_SHORTEST_TOKEN = 20
_TOKEN = (
    r"-----BEGIN [A-Z ]*PRIVATE KEY|hooks\.slack\.com/services/\w|/api/webhooks/\d+/[\w-]{20}|(?<![A-Za-z0-9])(?:"
    r"gh[pousr]_\w{30}|github_pat_\w{30}|gl(?:pat|rt|dt|ptt|cbt|ft|oas|soat)-[\w-]{16}|(?:xox[abprs]|xapp)-[\w-]{10}"
    r"|(?:sk|gsk|xai|whsec|rk_live|sk_live|sk_test)[-_](?=[\w-]{0,80}\d)[\w-]{20}|A[KS]IA[0-9A-Z]{16}"
    r"|AIza[\w-]{35}|npm_\w{36}|pypi-AgE[\w-]{40}|SG\.[\w-]{20}|hf_\w{30}|dop_v1_\w{40}|hvs\.[\w-]{20}"
    r"|(?:lin_api|dckr_pat|shpss|figd|glsa|sbp|sntrys|sntryu|pscale_tkn|pscale_pw|ATATT3|NRAK|tskey|ntn|PMAK|xkeysib)"
    r"[-_A-Za-z](?=[\w.=-]{0,80}\d)[\w.=-]{14}|1//0[\w-]{40}|\d{8,10}:AA[\w-]{30}|[\w~.-]{3}[78]Q~[\w~.-]{31}"
    r"|AGE-SECRET-KEY-1|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.|dapi[0-9a-f]{32}|shpat_\w{20}|rubygems_\w{40}|ya29\.[\w-]{30})"
)
"""Matches a key or token that starts with its issuer's prefix; the name of the variable does not matter."""
_PROXY = lazy_pattern(r"_PROXY$", re.IGNORECASE)


def holds_secret(variable: str) -> bool:
    """Return whether a variable's name suggests that its value is secret."""
    return variable.upper() not in _NO_SECRETS and bool(_NAME.search(variable))


def holds_login(variable: str, value: str) -> bool:
    """Return whether the value contains a login, as in a URL; always False for a proxy, whose URL is useless without
    its login.
    """
    if _PROXY.search(variable) or not any(mark in value.lower() for mark in _MARKS):
        return False
    return bool(re.search(_LOGIN, value, re.IGNORECASE))  # compiled when it is needed first, not at the start


def holds_token(value: str) -> bool:
    """Return whether the value contains a private key, or a token with the prefix of its issuer."""
    return len(value) >= _SHORTEST_TOKEN and bool(re.search(_TOKEN, value))


class PassedOn:
    """The names of the variables that child processes get although they look like secrets."""

    def __init__(self) -> None:
        self._names: frozenset[str] = frozenset()

    def set(self, names: Iterable[str]) -> None:
        """Replace the names."""
        self._names = frozenset(names)

    def __contains__(self, name: object) -> bool:
        return name in self._names


PASSED_ON = PassedOn()
"""The variables in the setting `pass_env`, for this process."""


OWN_VARIABLES: dict[str, str] = {}
"""The variables that this process added to its own environment, for its libraries; the user's programs do not get
them.
"""


@lru_cache(maxsize=1_000)
def _is_secret(name: str, value: str) -> bool:
    """Return whether a variable contains a secret; cached, because each program start asks about the same variables."""
    return holds_secret(name) or holds_login(name, value) or holds_token(value)


def child_environment(env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of a child process: without secrets, except those in `PASSED_ON`, and without
    `OWN_VARIABLES`.
    """
    return {
        name: value
        for name, value in env.items()
        if (name in PASSED_ON or not _is_secret(name, value)) and OWN_VARIABLES.get(name) != value
    }
