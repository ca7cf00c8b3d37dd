"""Secrets are masked in any place and any form; text that only looks like a secret stays."""

import base64
import re
import string
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench
from workbench.secrets.masker import SecretMasker, mask, masks_in, strings_in
from workbench.secrets.secret_names import holds_login
from workbench.secrets.stream import SecretStream

DATA = Path(__file__).parent / "data"
DIGITS = "0123456789abcdefABCDEF"
LONG = (DIGITS * 4)[:60]
JOINED = "".join  # so that no file of ours holds anything that looks like a key

SHAPED = {
    "AWS key": (JOINED(("AK", "IA", "Q3EGRFT5XYZ1ABCD")), "AWS key"),
    "GitHub token": (JOINED(("gh", "p_", LONG[:36])), "GitHub token"),
    "OpenAI key": (JOINED(("sk", "-proj-", LONG)), "API key"),
    "Anthropic key": (JOINED(("sk", "-ant-api03-", LONG)), "API key"),
    "Google key": (JOINED(("AI", "za", LONG[:35])), "Google key"),
    "Slack token": (JOINED(("xo", "xb-", "123456789012-abcdef")), "Slack token"),
    "web token": (JOINED(("ey", "JhbGciOiJI.ey", "JzdWIiOiIx.", LONG)), "web token"),
}
SPOKEN = {
    "header": ("Authorization: Bearer {}", "abcdef0123456789abcdef"),
    "curl": ("curl -H 'authorization: token {}' https://x.example", "abcdef0123456789abcdef"),
    "address": ("postgres://user:{}@db.example/x", "hunter2"),
    "netrc": ("machine x.example login me password {}", "hunter2"),
    "file of variables": ("A=1\nexport DB_PASSWORD='{}'\nB=2", "tr0ub4dor"),
    "file with ends of another system": ("MY_TOKEN={}\r\nB=2\r\n", "abc123def456"),
}
SETTINGS = """
aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
aws_session_token=IQoJb3JpZ2luX2VjEDoaCXVzLWVhc3QtMSJHMEUCIQ
password: hunter2
  password: "hunter2"
db_password: tr0ub4dor&3
"password": "hunter2",
{"user": "x", "password": "hunter2"}
{"apiKey":"abcd1234efgh"}
clientSecret: 8f7d6a5b4c3d
client_secret = "x9y8z7w6v5"
spring.datasource.password=s3cr3tpw
DB_PASSWORD=swordfish
export API_TOKEN=abc123def456
FOO=1 DB_PASSWORD=tr0ub4dor make test
MY_SIGNING_KEY=abcd1234efgh5678
"auth": "dXNlcjpwYXNz"
\t\t"auth": "bWU6aHVudGVyMg=="
//registry.example.org/:_authToken=3a4b5c6d-1111-2222-3333-444455556666
_auth=bWU6aHVudGVyMg==
Server=x;User=me;Password=abc123!;
AccountKey=Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2RlZg==;EndpointSuffix=core
mysql --password=hunter22 x
https://x.example/a?token=abc123def456&b=2
https://x.example/a?b=2&api_key=abc123def456
    client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo=
    token: abcdef.0123456789abcdef
secret_key_base: 1a2b3c4d5e6f7a8b
password = 12345678
pwd=abc12345
     3\tDB_PASSWORD=tr0ub4dor
conf.yml:12:password: hunter2
+password: hunter2
- POSTGRES_PASSWORD=hunter2
ENV DB_TOKEN=abc123def456
cookie: session=abc123def456
passphrase: "correct horse battery 9"
'password' => 'hunter2',
redis.password="p@ss!word"
PGPASSWORD=letmein psql
redis://:p4ssword@h:1/0
https://0123456789abcdef0123456789abcdef@o1.ingest.example.io/1
default login me password hunter2 machine x.example login y password hunter3
machine x.example password hunter2
"""
VALUES = re.compile(
    r"wJalr\S+|IQoJ\S+|hunter\d+|tr0ub4dor(?:&3)?|abcd1234efgh(?:5678)?|8f7d6a5b4c3d|x9y8z7w6v5|s3cr3tpw|swordfish"
    r"|(?:session=)?abc123def456|dXNlcjpwYXNz|bWU6aHVudGVyMg==|3a4b5c6d[\d-]+|abc123!|Zm9v[^;]+|LS0t\S+|abcdef\.\w+|1a2b\w+|12345678|abc12345"
    r"|correct horse battery 9|p@ss!word|letmein|p4ssword|(?<=//)0123456789abcdef0123456789abcdef"
)
ORDINARY = """
4a71ebf2c0ffee00112233445566778899aabbcc
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
123e4567-e89b-12d3-a456-426614174000
sk-learn and task-0123456789-abcdefghijklmnop
API_KEY = os.environ["API_KEY"]
MAX_TOKEN=100000000
TOKEN=$GITHUB_TOKEN
password = getpass.getpass()
https://example.com/a?b=c#d
git@github.com:owner/repository.git
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB public
The bearer of bad news
monkey=banana1234
token: str
password: str = "required"
const token: string = "Bearer"
String password = "password";
define('DB_PASSWORD', 'your-password');
define('TOKEN_TYPE', 'abc12345678');
print("password", "Tr0ub4dor3xY1")
requirepass
api_key: SecretStr
"token": "string",
token = token2
    password=password
token = self.token_2
primary_key = "id_12345678"
cache_key = "abc12345def"
"token_type": "bearer123"
key: value123456
public_key = "ssh-ed25519-abc123"
password: "your-password-1"
DB_PASSWORD=changeme
secret: ${SECRET_1234}
token = f"{prefix}12345678"
auth: basic
token = tokens[i+1]
pass  # x = 1
token_count = 12345678
"auth": "OAuth2Bearer"
if token == "abc12345":
secretName: my-tls-secret-1
passwd: /etc/passwd
AUTH_URL=https://x.example/v2
SSH_AUTH_SOCK=/tmp/ssh-abc123/agent.99
password_file = "/run/secrets/db1"
postgres://user:password@localhost/x
f"https://{user}:{password}@{host}/x"
user@host:~/src$ ls
"""


@pytest.mark.parametrize("name", SHAPED)
def test_key_of_a_known_shape_is_masked(name):
    key, said = SHAPED[name]
    assert SecretMasker().masked(f"a {key}, b") == f"a {mask(said)}, b"


@pytest.mark.parametrize("name", SPOKEN)
def test_secret_is_recognized_by_its_context(name):
    text, secret = SPOKEN[name]
    masked = SecretMasker().masked(text.format(secret))
    assert secret not in masked
    before, _, after = text.partition("{}")
    assert masked.startswith(before) and masked.endswith(after)  # noqa: PT018 - one promise


def test_private_key_is_masked_completely_even_without_its_end():
    begin, end = (f"-----{word} RSA PRIVATE KEY-----" for word in ("BEGIN", "END"))
    for text in (f"x\n{begin}\nMIIE\nabcd\n{end}\ny", f"x\n{begin}\nMIIE\nabcd"):
        assert "MIIE" not in SecretMasker().masked(text)
        assert "abcd" not in SecretMasker().masked(text)
    assert SecretMasker().masked(f"{begin}\nMIIE\n{end}\ny").endswith(f"{end}\ny")


@pytest.mark.parametrize("line", ORDINARY.strip().splitlines())
def test_text_without_secrets_is_unchanged(line):
    assert SecretMasker().masked(line) == line


@pytest.mark.parametrize("line", SETTINGS.strip("\n").splitlines())
def test_only_the_value_of_a_secret_setting_is_masked(line):
    masked = SecretMasker().masked(line)
    assert re.split("‹secret [^›]+›", masked) == VALUES.split(line)
    assert "‹secret" in masked


@pytest.mark.parametrize("line", SETTINGS.strip("\n").splitlines())
@pytest.mark.parametrize("size", [1, 3, 7])
def test_setting_in_chunks_is_masked_like_a_complete_one(line, size):
    text = f"one\n{line}\ntwo\n"
    stream = SecretStream(SecretMasker())
    masked = "".join(stream.feed(text[at : at + size]) for at in range(0, len(text), size)) + stream.rest()
    assert masked == SecretMasker().masked(text)


@pytest.mark.parametrize("size", [1, 5, 11, 40])
def test_netrc_over_several_lines_is_masked_complete_and_in_chunks(size):
    text = "machine x.example\n  login me\n  password hunter2\nmachine y\nlogin you\npassword tr0ub4dor\n"
    assert not VALUES.search(SecretMasker().masked(text))
    stream = SecretStream(SecretMasker())
    masked = "".join(stream.feed(text[at : at + size]) for at in range(0, len(text), size)) + stream.rest()
    assert masked == SecretMasker().masked(text)


def test_password_prompt_is_shown_at_once():
    stream = SecretStream(SecretMasker())
    assert stream.feed("[sudo] password for me: ") == "[sudo] password for me: "
    assert SecretStream(SecretMasker()).feed("Password: ") == "Password: "


def test_ordinary_code_is_rarely_masked():
    """Less than one line in 10,000 is masked, in this repository and in three packages of others."""
    here = Path(workbench.__file__).parent
    roots = [here, *(Path(find_spec(name).origin).parent for name in ("textual", "mcp", "pydantic"))]
    for root in roots:
        lines, masked = 0, []
        for file in sorted(root.rglob("*.py"))[:250]:
            text = file.read_text(errors="replace")
            after = SecretMasker().masked(text)
            lines += text.count("\n")
            if after != text:
                masked += [line for line in after.splitlines() if "‹secret " in line and line not in text]
        assert lines > 10_000, root
        assert len(masked) <= lines / 10_000, (root, masked)


def test_known_values_are_masked_by_name():
    secrets = SecretMasker()
    secrets.add_all({"OPENAI_API_KEY": "abcdefgh12345", "HOME": "/home/u", "EDITOR": "emacs-28", "A_TOKEN": "short"})
    secrets.add("key of fast", "zyxwv-98765")
    assert secrets.masked("k=abcdefgh12345; zyxwv-98765!") == f"k={mask('OPENAI_API_KEY')}; {mask('key of fast')}!"
    assert secrets.masked("/home/u emacs-28 short") == "/home/u emacs-28 short"


def test_only_strings_of_plain_data_are_masked():
    secrets = SecretMasker()
    secrets.add("K", "abcdefgh12345")
    data = {"content": [{"type": "text", "text": "abcdefgh12345"}, {"type": "image", "data": "abcdefgh12345"}], "n": 1}
    assert secrets.masked_data(data)["content"] == [{"type": "text", "text": mask("K")}, data["content"][1]]


def test_mask_in_arguments_is_detected():
    assert masks_in(["a", {"edits": [{"new": f"K={mask('K')}"}]}]) == mask("K")
    assert masks_in(["a ‹b› secret", 3, None]) is None


TEXTS = st.lists(
    st.sampled_from(["abcdefgh12345", "key ", "\n", " ", "a", "gh", "p_", LONG[:36], "Authorization: Bearer "])
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(TEXTS.map("".join), st.lists(st.integers(0, 200), max_size=12))
def test_secret_in_chunks_is_masked_like_a_complete_one(text, cuts):
    secrets = SecretMasker()
    secrets.add("K", "abcdefgh12345")
    stream = SecretStream(secrets)
    ends = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    masked = "".join(stream.feed(text[start:end]) for start, end in pairwise(ends)) + stream.rest()
    assert masked == secrets.masked(text)


def test_question_at_the_end_of_a_line_is_shown_at_once():
    assert SecretStream(SecretMasker()).feed("Continue? [y/n] ") == "Continue? [y/n] "


def test_endless_line_is_not_held_back_forever():
    stream = SecretStream(SecretMasker())
    assert sum(len(stream.feed("x" * 1000)) for _ in range(100)) > 90_000


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(alphabet=string.printable + "é‹›\x1b", max_size=200))
def test_masking_accepts_any_text_and_is_idempotent(text):
    once = SecretMasker().masked(text)
    assert SecretMasker().masked(once) == once


def test_masking_is_fast():
    secrets = SecretMasker()
    for number in range(10):
        secrets.add(f"K{number}", f"value-of-key-{number:04}")
    text = "INFO 12:00:01 module.name: a line of an ordinary log with some words in it, id=4a71ebf2c0\n" * 1100
    spent = []
    for _ in range(5):
        began = time.process_time()
        secrets.masked(text)
        spent.append(time.process_time() - began)
    assert min(spent) < 0.01  # 1 ms on an idle machine


WRITTEN = {
    "a password with a dollar": ("password = {}", "hT9$kLm2!vQx"),
    "in a URL": ("postgres://app:{}@db.example.org/x", "hT9$kLm2!vQx"),
    "in an option": ("mysql --password={} x", "hT9$kLm2!vQx"),
    "curl's user": ("curl -sS -u admin:{} https://x.example", "hT9$kLm2!vQx"),
    "a short login": ("> Authorization: Basic {}", "YTpiY2RlZg=="),
    "a cookie that is set": ("< Set-Cookie: {}; Path=/; HttpOnly", "sid=a8F3kLm92XcVbN4qWe7RtY6u"),
    "pgpass": ("db.example.org:5432:app:bob:{}", "hT9$kLm2!vQx"),
    "pgpass for all": ("*:*:*:postgres:{}", "hT9$kLm2!vQx"),
    "an element of XML": ("<password>{}</password>", "hT9$kLm2!vQx"),
    "attributes of XML": ('<add key="ApiKey" value="{}" />', "a8F3kLm92XcVbN4q"),
    "a variable of Kubernetes": ("- name: DB_PASSWORD\n  value: {}\n", "hT9kLm2vQx"),
    "a variable in JSON": ('{{"name": "API_TOKEN", "value": "{}"}}', "a8F3kLm92XcVbN4q"),
    "a block of YAML": ("password: |\n  {}\nuser: x\n", "hT9kLm2vQx"),
    "JSON in JSON": ('{{\\"password\\": \\"{}\\"}}', "hT9kLm2vQx"),
    "Figma": ("x {}", JOINED(("fi", "gd_", "a8F3kLm92XcVbN4qWe7RtY6u"))),
    "Google's OAuth": ("x {}", JOINED(("GOC", "SPX-", "a8F3kLm92XcVbN4qWe7RtY6u"))),
    "Terraform": ("x {}", JOINED(("a8F3kLm92XcVbN", ".atlas", "v1.", LONG * 2))),
    "an option and its value": ("tool --password {} run", "Tr0ub4dor3x"),
    "an option and a quoted value": ("tool --api-key '{}' run", "a8f5f167f44f4964"),
    "mysql": ("mysql -u root -p{} app", "Tr0ub4dor3x"),
    "mysql of a path": ("$(/usr/bin/mysql -uroot -p'{}' app)", "Tr0ub4dor3x"),
    "sshpass": ("sshpass -p {} ssh host", "Tr0ub4dor3x"),
    "a login of docker": ("docker login -u me -p {} registry.example.com", "Tr0ub4dor3x"),
    "redis": ("redis-cli -a {} ping", "Tr0ub4dor3x"),
    "openssl": ("openssl pkcs12 -in x -passin pass:{}", "Tr0ub4dor3x"),
    "zip": ("zip -P {} a.zip b", "Tr0ub4dor3x"),
    "a user of samba": ("smbclient //h/s -U me%{}", "Tr0ub4dor3x"),
    "htpasswd": ("htpasswd -b file me {}", "Tr0ub4dor3x"),
    "a property of Java": ("java -Djavax.net.ssl.keyStorePassword={} -jar x", "Tr0ub4dor3x"),
    "a string of libpq": ('psql "host=h user=me password={} dbname=x"', "Tr0ub4dor3x"),
    "a literal of kubectl": ("kubectl create secret generic x --from-literal=password={}", "Tr0ub4dor3x"),
    "a setting of npm": ("npm config set //r.example/:_authToken {}", "a8f5f167-f44f-4964-e6c9"),
    "a line of a Dockerfile": ("ENV DB_PASSWORD {}", "Tr0ub4dor3x"),
    "a variable of PowerShell": ('$env:DB_PASSWORD = "{}"', "Tr0ub4dor3x"),
    "an item of a dictionary": ('os.environ["DB_PASSWORD"] = "{}"', "Tr0ub4dor3x"),
    "a header in quotes": ("curl -H 'X-Api-Key: {}' https://x.example", "a8f5f167f44f4964"),
    "a signed URL of Amazon": ("https://b.example/k?X-Amz-Date=1&X-Amz-Signature={}", "fe5f80f77d5fa3beca038a248ff0"),
    "a signed URL of Azure": ("https://b.example/c?sv=2022&sig={}", "9Yb3kX2mZ8Qd1Lr5Tn7Wp%2BfA%3D"),
    "a signed URL of Google": ("https://b.example/c?x=1&X-Goog-Signature={}", "8a7b6c5d4e3f2a1b0c9d8e7f"),
    "a code that is exchanged": ("https://h.example/cb?code={}&state=1", "4/0AeaYSHBq1x2y3z4w5"),
    "a fragment": ("https://h.example/cb#access_token={}&token_type=bearer", "a8f5f167f44f4964"),
    "a name of a file": ("ls backup_{}.txt", JOINED(("gh", "p_", LONG[:36]))),
    "another name of a file": ("sub/token-{}", JOINED(("sk", "-ant-api03-", LONG))),
    "Discord": ("https://discord.com/api/webhooks/12345/{}", LONG[:50]),
    "Telegram": ("https://api.telegram.org/bot{}/getMe", JOINED(("123456789", ":AA", LONG[:33]))),
    "SQL": ("CREATE USER me IDENTIFIED BY '{}'", "Tr0ub4dor3x"),
    "SQL of others": ("ALTER USER me WITH PASSWORD '{}';", "Tr0ub4dor3x"),
    "a login of requests": ('requests.get(url, auth=("me", "{}"))', "Tr0ub4dor3x"),
    "a sentence": ("your temporary password is {}.", "Tr0ub4dor3x"),
    "a line that says it": ("Generated password: {}", "Tr0ub4dor3x"),
    "a password for somebody": ("password for me: {}", "Tr0ub4dor3x"),
    "an error": ("invalid api key: {}", "a8f5f167f44f4964e6c998dee827110c"),
    "a constant of TypeScript": ('const apiKey: string = "{}";', "abcd1234EFGH5678ijkl"),
    "a field of TypeScript": ("  private readonly token: string = '{}';", "abcd1234EFGH5678ijkl"),
    "a variable of Rust": ('let secret: String = "{}";', "q9W8e7R6t5Y4u3I2"),
    "a constant of Rust": ('const API_KEY: &str = "{}";', "q9W8e7R6t5Y4u3I2"),
    "a variable of Go": ('var Password string = "{}"', "Tr0ub4dor3xY"),
    "a short variable of Go": ('apiKey := "{}"', "abcd1234EFGH5678ijkl"),
    "a constant of Java": ('  private static final String API_KEY = "{}";', "abcd1234EFGH5678ijkl"),
    "a variable of Python with a type": ('password: str = "{}"', "Tr0ub4dor&3xY"),
    "a constant of PHP": ("define( 'DB_PASSWORD', '{}' );", "Tr0ub4dor&3xY"),
    "a variable of Ruby": ('@token = "{}"', "abcd1234EFGH5678ijkl"),
    "Redis": ("requirepass {}\n", "S0meP4ssw0rd!x"),
    "LDAP": ("bindpw {}\n", "S0meP4ssw0rd!x"),
    "Apache": ("SetEnv DB_PASS {}", "Tr0ub4dor3xY"),
    "nginx": ("fastcgi_param DB_PASS {};", "Tr0ub4dor3xY"),
    "WireGuard": ("PresharedKey = {}", "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk="),
    "a network": ('    psk="{}"', "Tr0ub4dor3xY"),
    "a key of Kubernetes": ("  tls.key: {}", "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1JSUV2UUlCQURBTkJna3Foa2lH"),
    "logins of Kubernetes": ("  .dockerconfigjson: {}", "eyJhdXRocyI6eyJyLmlvIjp7ImF1dGgiOiJkWE5sY2pwd1lYTnpkMjl5"),
    "Mailgun": ("x {}", JOINED(("ke", "y-", "3ax6xnjp29jd6fds4gc373sgvjxteol0"))),
    "a machine of netrc with a user": ("machine h user bob password {}", "hT9kLm2vQx"),
    "a comment in netrc": ("machine h\n# ours\n  login bob\n  password {}\n", "swordfish"),
    "the default of netrc": ("default\n  login bob\n  password {}\n", "swordfish"),
    "an account of netrc": ("machine h account a passwd {}", "swordfish"),
    "a line of netrc with its number": ("     3\t  password {}\n", "Tr0ub4dor3x"),
    "a line of netrc in grep": ("home/.netrc:3:  password {}\n", "Tr0ub4dor3x"),
    "a router": (" set password {}\n", "Tr0ub4dor3x"),
    "a user of Redis": ("user default on >{} ~* +@all", "Tr0ub4dor3x"),
    "a password with the sign of a host": ("https://me:{}@h.example/x", "tr0ub@4dor"),
    "an encrypted password of Maven": ("<password>{}</password>", "{COQLCE6DU6GtcS5P=}"),
    "a tagged value of YAML": ("password: !!str {}\n", "Tr0ub4dor3x"),
    "shadow with SHA-512": ("root:{}:19000:0:99999:7:::\n", f"$6$rounds=5000$salt${(DIGITS * 4)[:86]}"),
    "shadow with yescrypt": ("me:!{}:19000:0:99999:7:::\n", f"$y$j9T$F5Jx5fExrKuPp53xLKQ..1${(DIGITS * 4)[:43]}"),
    "shadow with DES": ("etc/shadow:1:root:{}:19000:0:99999:7:::\n", "abJnggxhB/yWI"),
    "htpasswd with MD5": ("me:{}\n", f"$apr1$lZL6V/ci${DIGITS}"),
    "htpasswd with bcrypt": ("me:{}\n", f"$2y$05${(DIGITS * 4)[:53]}"),
    "htpasswd with SHA": ("me:{{SHA}}{}\n", "fEqNCco3Yq9h5ZUglD3CZJT4lBs="),
    "argon2": ("hash = {}", f"$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHQ${DIGITS}"),
    "a job of GitLab": ("x {}", JOINED(("glc", "bt-64_", "a8F3kLm92XcVbN4q"))),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_secret_is_masked_in_the_forms_people_and_programs_write(name):
    form, value = WRITTEN[name]
    text = form.format(value)
    whole = SecretMasker().masked(text)
    assert value not in whole
    for size in (2, 5, 11):
        stream = SecretStream(SecretMasker())
        pieces = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
        assert value not in "".join([*pieces, stream.rest()])


CHOSEN = ("SuperSecret2024", "MyDogRex2019x", "swordfish_9", "letmein_2020", "correct horse battery 9", "my h0me net")
"""Passwords that resemble identifiers or sentences."""
FILES = {
    "YAML": "spring:\n  datasource:\n    password: {}\n",
    "YAML with quotes": "DbPassword: '{}'\n",
    "INI": "[database]\npassword = {}\nport = 5432\n",
    "properties": "db.password={}\n",
    "JSON": '{{"password": "{}"}}',
    "a connection string": "Server=h;Uid=sa;Pwd={};Database=x",
    "variables": "PGPASSWORD='{}'\n",
    "wpa_supplicant": '    psk="{}"\n',
}


@pytest.mark.parametrize("value", CHOSEN)
@pytest.mark.parametrize("name", FILES)
def test_password_that_resembles_an_identifier_or_sentence_is_masked(name, value):
    before, _, after = FILES[name].format("\0").partition("\0")
    masked = SecretMasker().masked(before + value + after)
    assert re.sub("‹secret [^›]+›", value, masked) == before + value + after != masked
    stream = SecretStream(SecretMasker())
    assert "".join([*map(stream.feed, before + value + after), stream.rest()]) == masked


COMMANDS = [line.split("\t", 1) for line in (DATA / "secret_commands.txt").read_text().splitlines()]
"""The secret, and a command line with it as one of its words."""


@pytest.mark.parametrize(("value", "line"), COMMANDS)
def test_secret_is_masked_among_the_words_of_a_command(value, line):
    assert value not in SecretMasker().masked(line)
    for size in (1, 7):
        stream = SecretStream(SecretMasker())
        pieces = [stream.feed(line[at : at + size]) for at in range(0, len(line), size)]
        assert value not in "".join([*pieces, stream.rest()])


PLAIN = """
curl -u user: https://x.example
mvn sonar:sonar -Dsonar.login=admin
mvn sonar:sonar -Dsonar.login=${SONAR_TOKEN}
user.login = findTheUserByItsLogin2(name)
session.login=loginWithOauth2Provider
the value of the key: value12345
- name: token_count
  value: 12345678
if password>limit1234 then
<password></password>
5432: listening
db:5432: ready
Authorization: Basic realm
password: |
docker run -p 8080:8080 nginx:1.25
tool --token TOKEN --password PASSWORD --api-key <key>
mkdir -p build123/x9
the password is required since 2.0
password for me is asked at once
call(x, token=token1, key=2)
self.assertEqual(token, b64encode)
parser.add_argument("--password", help="it must have 8 characters or more")
a token is 32 bytes long, a key is base64url-encoded
curl https://x.example/?code=200&signature=none
zip -r out2.zip dir1
mysql -u root -p app2
run cargo login first, then cargo publish --dry-run in v2
vault login -method=oidc role=dev2
Use `wandb login` and see https://wandb.example/authorize2
net use X: \\\\srv2\\share1
docker login -u bob2 registry1.example.com
npm config set registry https://r2.example/
git config --global core.editor vim9
echo build2 done | tee log1
cat token.txt | gh auth login --with-token
gh auth login --with-token < token2.txt
uv publish -t $TOKEN2
http -a bob:$PASS2 x.test
ngrok authtoken YOUR_TOKEN
kubectl create secret generic s --from-file=key=./key2.pem
sudo -S ls <<< "$PASSWORD2"
helm install x y --set image.tag=v1.2.3,replicas=3
helm install x y --set auth.password=$PASSWORD2,auth.token=<token>
cmake -DBUILD_TOKEN_TESTS:BOOL=ON -DTOKEN_DIR:PATH=/srv/build2/tokens ..
docker run -e API_TOKEN -e PASSWORD=$PASSWORD2 img1
docker build --build-arg API_TOKEN --build-arg VERSION=1.2.3 .
grep -e password= -e token2 file3
terraform apply -var region=eu-west-1
java -Dtoken.count=12 -jar x2.jar
token = OAuth2Token
password: Sha256Password
secret: Base64Secret
access_token: AccessTokenV2
password = Argon2Hasher
password = password_1
token = self_made_token_2
API_TOKEN=SomeClass
"password": "Password (8 or more characters)",
password = "Enter 2 words"
password: see page 12 of the manual
password: at least 8 characters
PASSWORD_HELP="it has 8 characters"
    pass  #comment123
    pass  # see issue 1234
password varchar2(64)
user bob2 went on > page2
echo $1$2
cost in $2a$ and $6$ notation
a::b:::c
root:x:0:0:root:/root:/bin/bash
root:*:19000:0:99999:7:::
{SHA} of abcdef
the default password is set up in 2023
""".strip().splitlines()


@pytest.mark.parametrize("line", PLAIN)
def test_similar_text_without_a_secret_is_unchanged(line):
    assert SecretMasker().masked(line) == line


PREFIXES = (
    *("file:12:", "./a/b.sh:12: ", "src/a.py:12:7:", "a b.txt:3:", "12:", "    12\t", "file.sh:", "C:\\x.bat:3:"),
    *("file-12-", "12-", "12-  ", "a-b-12-", "+", "-", "+++", ">", "> ", "$ ", "+ ", "# ", "RUN ", "sudo ", "  run: "),
    *("`", "'", "$(", "(", "|", "&&", ";", "{", "=", "@", "cmd=", "=> ", "[x] ", "/usr/bin/", '"cmd": "', "\n-", "a\n"),
)
"""What grep, diff, a shell or a program writes before a line."""
BEHIND = """
curl -u u:{}
curl -su u:{} https://x.example
curl -uu:{} x
curl --user 'u:{}' -s https://x
curl --user=u:{} x
curl -u u:'{}' x
curl -k -u 'u':'{}' x
curl -u "u:{}" x
curl --proxy-user u:{} x
mysql -p{} db
mysql -h h -uroot -p'{}' x
mysqldump -u root -p"{}" db
docker login -u u -p {} r.example
docker login -u u --password={} r
echo {} | docker login --password-stdin
sshpass -p {} ssh h
redis-cli -a {} ping
smbclient -U u%{} //h/s
ldapsearch -D x -w {} y
http -a u:{} GET x
jdbc:postgresql://h/db?user=u&password={}
jdbc:mysql://h:3306/db?user=u&password={}&ssl=true
jdbc:mysql://u:{}@h/db
jdbc:sqlserver://h;user=u;password={};x=1
jdbc:oracle:thin:u/{}@h:1521/x
jdbc:h2:mem:x;USER=sa;PASSWORD={}
https://{}@github.com/x/y.git
https://u:{}@github.com/x/y.git
http://{}@h:8080/
redis://:{}@h:6379/0
amqp://u:{}@h/
amqps://u:{}@h:5671/v
mongodb+srv://u:{}@c.example/x
Authorization: Basic dX{}c6cGFzc3dvcmQ=
Proxy-Authorization: Basic dX{}c6cGFzc3dvcmQ=
X-Api-Key: {}
x-auth-token: {}
PRIVATE-TOKEN: {}
--password={}
--api-key={}
--db-password {}
-Dspring.datasource.password={}
PGPASSWORD={}
PGPASSWORD={} psql
PGPASSWORD='{}' psql
PGPASSWORD="{}" pg_dump
MYSQL_PWD={} mysql
AWS_SECRET_ACCESS_KEY=wJalr{}MDENG/bPx
_authToken={}
//registry.npmjs.org/:_authToken={}
""".strip().splitlines()


@pytest.mark.parametrize("form", BEHIND)
def test_secret_is_masked_after_any_prefix(form):
    secret, masker = "Tr0ub4dor9x", SecretMasker()
    assert [before for before in PREFIXES if secret in masker.masked(before + form.format(secret))] == []
    for before in ("", "file:12:", "file-12-", "$("):
        text, stream = f"one\n{before}{form.format(secret)}\ntwo\n", SecretStream(masker)
        pieces = "".join(stream.feed(text[at : at + 5]) for at in range(0, len(text), 5)) + stream.rest()
        assert pieces == masker.masked(text)


PLAIN_FORMS = """
curl -u $USER:$PASS https://x.example
curl -u user: https://x.example
docker login -u u r.example
docker run -p 8080:80 -u 1000:1000 x
jdbc:postgresql://h/db?user=u&ssl=true
jdbc:oracle:thin:@h:1521/x
https://github.com/x/y@v1.2.3
https://name@github.com/x/y.git
https://contoso2024@dev.azure.com/contoso2024/_git/x
https://john.smith2@bitbucket.org/x
ssh://git@git.example:22/x.git
PGPASSWORD=$(cat file2)
PGPASSWORD=$SECRET2 psql
Authorization: Basic realm
--password=<password>
--password-stdin
mysql -p db2
_authToken=${NPM_TOKEN}
X-Api-Key: your-key-1
X-Request-Id: 0123456789abcdef
f(API_TOKEN=token2)
the x-auth-token header
""".strip().splitlines()


@pytest.mark.parametrize("form", PLAIN_FORMS)
def test_text_without_a_secret_is_unchanged_after_any_prefix(form):
    masker = SecretMasker()
    assert [before for before in PREFIXES if masker.masked(before + form) != before + form] == []


LONG_TEXTS = {
    "commands": "curl -u u:x1y2z3 https://h\n",
    "no end": "https://",
    "users": "https://" + "a1" * 200,
    "users without end": "https://" + "a" * 3000,
    "names": "PASSWORD=",
    "marks in one word": "pska1",
    "dotted names": "key.auth.token.x.",
    "encoded data": "aKeyB0_x-Pwd9",
    "context": "-1-",
    "headers": "x-api-",
    "queries": "jdbc:oracle:thin:u/",
    "elements": "password>",
    "blocks": "token={",
    "manifests": "kind: Secret\ndata:\n  a: b\n",
}


@pytest.mark.parametrize("name", LONG_TEXTS)
def test_masking_takes_time_proportional_to_the_length_of_the_text(name):
    def seconds(size: int) -> float:
        text, masker = (LONG_TEXTS[name] * size)[:size], SecretMasker()
        began = time.process_time()
        masker.masked(text)
        holds_login("X", text)
        return time.process_time() - began

    # Another process may slow down one of three measurements, a time that is not proportional slows down all.
    assert any(seconds(80_000) < 10 * seconds(20_000) + 0.02 for _ in range(3))


KNOWN_VALUE = "Zq7-Kp93mVx/2Lw8Rt5Y"


@pytest.mark.parametrize(
    "text",
    [
        base64.b64encode(KNOWN_VALUE.encode()).decode(),
        base64.b64encode(f"user:{KNOWN_VALUE}".encode()).decode(),
        base64.b64encode(f"me:{KNOWN_VALUE}\n".encode()).decode(),
        base64.urlsafe_b64encode(f"u:{KNOWN_VALUE}".encode()).decode(),
        KNOWN_VALUE.encode().hex(),
        quote(KNOWN_VALUE, safe=""),
        f"{KNOWN_VALUE[:9]}\n{KNOWN_VALUE[9:]}",
        f"  {KNOWN_VALUE[:7]}\n    {KNOWN_VALUE[7:14]}\n    {KNOWN_VALUE[14:]}",
    ],
)
def test_known_value_is_masked_when_encoded_or_wrapped(text):
    secrets = SecretMasker()
    secrets.add("MY_KEY", KNOWN_VALUE)
    masked = secrets.masked(f"before\n{text}\nbehind")
    assert masked.split() == ["before", "‹secret", "MY_KEY›", "behind"]
    assert secrets.may_stand_in(text) or "\n" in text
    assert secrets.may_stand_in_any(["before", text, "behind"])


def test_search_of_many_texts_at_once_misses_nothing_that_would_be_masked():
    secrets = SecretMasker()
    secrets.add("MY_KEY", KNOWN_VALUE)
    harmless = {"path": "src/a.py", "lines": ["def parse(text):", "    return int(text)"], "data": KNOWN_VALUE}
    assert not secrets.may_stand_in_any(strings_in(harmless))
    assert secrets.masked_data(harmless) == harmless
    for text in (
        KNOWN_VALUE,
        f"{KNOWN_VALUE[:9]}\n{KNOWN_VALUE[9:]}",
        "ghp_" + "a1B2c3D4e5" * 4,
        "password = 'Xy7-qqq9'",
    ):
        data = {"deep": [{"inside": ("a", text)}], **harmless}
        assert secrets.masked_data(data)["deep"] != data["deep"]
        assert secrets.may_stand_in_any(strings_in(data))


ENDINGS = st.sampled_from(
    [
        "<config><password>Xy7qqq9zz",
        "token: Xy7qqq9zz",
        "API_TOKEN=Xy7qqq9zz",
        'x = {"password": "Xy7-qqq9"',
        "Bearer a1B2c3D4",
    ]
)
"""Texts that end with a secret, or nearly."""


@given(st.lists(TEXTS.map("".join) | ENDINGS, min_size=1, max_size=4))
@settings(max_examples=200, deadline=None)
def test_search_of_many_texts_finds_what_is_masked_in_one(texts):
    secrets = SecretMasker()
    secrets.add("MY_KEY", KNOWN_VALUE)
    if any(secrets.masked(text) != text for text in texts):
        assert secrets.may_stand_in_any(texts)


def test_text_that_ends_with_a_secret_is_found_before_others():
    secrets = SecretMasker()
    text = "<config><password>Xy7qqq9zz"
    assert secrets.masked(text) != text
    assert secrets.may_stand_in_any([text, "behind"])


def test_known_multi_line_value_is_masked_in_a_long_text():
    secrets = SecretMasker()
    value = "first-line-1234\nsecond-line-5678"
    secrets.add("A_TOKEN", value)
    text = "".join(f"line {number} of a log\n" for number in range(5_000)) + value
    assert value not in secrets.masked(text)


def test_secret_is_found_among_lines_that_differ_only_in_digits():
    key = "ghp_" + "a1B2c3D4e5" * 4
    text = "".join(f"worker-{number} of 10000 is ready\n" for number in range(3_000))
    for line in (f"token {key}", "worker-77 password=Tr0ub4dor3x", "vault login s3cr3tT0ken9xQ7z"):
        assert line not in SecretMasker().masked(f"{text}{line}\n{text}")


def test_expressions_are_valid_and_compiled_only_when_a_text_may_contain_a_secret(monkeypatch):
    for module in ("shape", "tokens", "shapes"):
        monkeypatch.delitem(sys.modules, f"workbench.secrets.{module}")
    fresh = import_module("workbench.secrets.shapes")
    assert not [shape.name for shape in fresh.SHAPES if "_compiled" in vars(shape.pattern)]
    assert all(shape.pattern.groupindex.keys() <= {"secret"} for shape in fresh.SHAPES)
