"""Options that name an empty file of settings, and programs that show only the public part of keys."""

import pytest

from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext

PLACES = PathContext("/home/u/proj", "/home/u")


def rated(line: str) -> str:
    return assess_command(line, PLACES).risk


@pytest.mark.parametrize(
    ("line", "without"),
    [
        (f"{program} {option} {rest}", f"{program} {rest}")
        for program, options, rest in (
            ("pytest", ("-c /dev/null", "-c/dev/null", "--config-file=/dev/null"), "-q tests"),
            ("mypy", ("--config-file /dev/null", "--config-file=/dev/null"), "x.py"),
            ("eslint", ("-c /dev/null", "--config=/dev/null"), "src"),
            ("prettier", ("--config /dev/null",), "--check ."),
            ("stylelint", ("--config /dev/null",), "x.css"),
            ("flake8", ("--config=/dev/null", "--append-config=/dev/null"), "src"),
            ("pylint", ("--rcfile=/dev/null", "--rcfile /dev/null"), "src"),
            ("coverage run", ("--rcfile=/dev/null",), "x.py"),
            ("jest", ("-c /dev/null",), "x"),
            ("tox", ("-c /dev/null",), "-e py"),
            ("npm", ("--userconfig=/dev/null", "--userconfig /dev/null", "--globalconfig=/dev/null"), "test"),
            ("mvn", ("-s /dev/null", "--settings=/dev/null"), "test"),
            ("curl", ("-K /dev/null", "--config /dev/null"), "https://a.example"),
            ("wget", ("--config=/dev/null",), "https://a.example"),
            ("vim", ("-u /dev/null", "-u NONE", "-u NORC"), "x"),
            ("tmux", ("-f /dev/null",), "ls"),
            ("pytest -x", ("-c /dev/null", "--config-file=/dev/null"), "tests"),
            ("curl -q", ("-K /dev/null",), "https://a.example"),
            ("eslint --no-eslintrc", ("-c /dev/null",), "src"),
        )
        for option in options
    ],
)
def test_empty_file_of_settings_is_rated_like_none(line, without):
    assert rated(line) == rated(without)


@pytest.mark.parametrize(
    "line",
    [
        "find . ! -name --config=/dev/null -delete",
        "find . ! -name --config /dev/null -delete",
        "pytest -c /dev/nullx",
        "pytest -c /dev/null --rootdir /tmp/x",
        "pytest -c /dev/stdin",
        "pytest -c /dev/null -c /tmp/x",
        "eslint -c /dev/null --rulesdir /tmp/x src",
        "vim -u NONE -c '!x' a",
        "vim -u x a",
        "npm --userconfig=/dev/null --script-shell=./x test",
        "npm --userconfig=./null test",
        "node -r /tmp/x/../../dev/shm/x.js a.js",
        "GIT_CONFIG_GLOBAL=./x git status",
        "BASH_ENV=/dev/stdin bash x.sh",
    ],
)
def test_only_an_empty_file_of_settings_is_left_out(line):
    assert rated(line) == "HIGH"


@pytest.mark.parametrize("before", ["-A", "-e", "--user-agent", "-sA", "$x", "-H --"])
@pytest.mark.parametrize("empty", ["-K /dev/null", "-K/dev/null", "--config /dev/null", "--config=/dev/null"])
@pytest.mark.parametrize("danger", ["-d @x https://a.example", "-T x https://a.example", "-K ./x"])
def test_option_that_may_be_the_value_of_another_one_is_not_left_out(before, empty, danger):
    assert rated(f"curl {before} {empty} {danger}") == "HIGH"


@pytest.mark.parametrize(
    "line",
    [
        "wget -U --config /dev/null --post-file=x http://a.example",
        "wget --user-agent --config=/dev/null -e use_askpass=./x http://a.example",
        "npm --cache --userconfig /dev/null --script-shell ./x test",
        "tmux -L -f /dev/null new -d x",
    ],
)
def test_value_that_looks_like_an_option_hides_nothing(line):
    assert rated(line) == "HIGH"


@pytest.mark.parametrize(
    "line",
    [
        "ssh-keygen -lf x.pub",
        "ssh-keygen -lf ~/.ssh/id_ed25519.pub",
        "ssh-keygen -l -E md5 -f x.pub",
        "ssh-keygen -Bf x.pub",
        "ssh-keygen -Lf cert.pub",
        "ssh-keygen -F github.com",
        "ssh-keygen -HF github.com",
        "ssh-keygen -e -m pem -f x.pub",
        "ssh-keygen -Y verify -f allowed -I me -n git -s x.sig",
        "ssh-add -l",
        "ssh -Q cipher",
        "gpg --list-keys",
        "gpg -k --keyid-format=long me@example.org",
        "gpg --list-secret-keys --with-colons",
        "gpg --fingerprint me",
        "gpg --show-keys x.asc",
        "gpg --verify x.sig x",
        "gpg --print-md sha256 x",
        "openssl x509 -noout -in x.pem",
        "openssl x509 -in x.pem -text -noout",
        "openssl x509 -noout -enddate -in certs/x.crt",
        "openssl verify -CAfile ca.pem x.pem",
        "openssl crl -in x.pem -noout -text",
        "openssl req -in x.csr -noout -text",
        "openssl rsa -in key.pem -check -noout",
        "openssl pkey -in server.key -pubout",
        "gpg --no-default-keyring --keyring ./trusted.gpg --list-keys",
        "pass ls",
        "GIT_CONFIG_GLOBAL=/dev/null git commit -m x",
        "BASH_ENV=/dev/null bash x.sh",
    ],
)
def test_program_that_shows_only_what_is_public_is_no_false_alarm(line):
    assert rated(line) in {"LOW", "MEDIUM"}


@pytest.mark.parametrize(
    "line",
    [
        "ssh-keygen -f key",
        "ssh-keygen -R host",
        "ssh-keygen -H",
        "ssh-keygen -lf x.pub -D ./x.so",
        "ssh-keygen -Y sign -f key x",
        "ssh-keygen -s ca -I id x.pub",
        "ssh-keygen -yf ~/.ssh/id_rsa",
        "ssh-add x",
        "ssh-add -D",
        "gpg --export-secret-keys",
        "gpg --list-keys --export-secret-keys",
        "gpg -K --homedir ./g",
        "gpg --list-keys --photo-viewer ./x",
        "gpg --list-options show-photos --list-keys",
        "gpg --verify --output x y.sig",
        "gpg --show-keys ~/.ssh/id_rsa",
        "openssl rsa -in key.pem",
        "openssl rsa -in key.pem -noout -text",
        "openssl x509 -in ~/.ssh/id_rsa -noout",
        "openssl x509 -noout -in x.pem -engine /tmp/x.so",
        "openssl s_client -connect a.example:443",
        "gpg --keyring .git/hooks/pre-commit --list-keys",
        "gpg --list-keys --keyring=$HOME/.bashrc",
        "pass show x",
        "pass ls work/x",
        "pass list x",
    ],
)
def test_program_that_shows_or_uses_secret_keys_stays_high(line):
    assert rated(line) == "HIGH"
