"""Secrets in source code, in tables, in blocks and over several lines; names and labels of programs stay."""

import pytest

from workbench.secrets.masker import SecretMasker
from workbench.secrets.secret_names import child_environment
from workbench.secrets.stream import SecretStream

RANDOM = "k7Qz92LmXp41TvRb8sWd"
JOINED = "".join  # so that no file of ours holds anything that looks like a key


def streamed(text, size):
    stream = SecretStream(SecretMasker())
    return "".join([*(stream.feed(text[at : at + size]) for at in range(0, len(text), size)), stream.rest()])


ANYWHERE = {
    "an argument": 'connect(host="db", user="me", password="{}")',
    "a field of a record": "Namespace(password='{}', x=1)",
    "an inline table": 'auth = {{ user = "me", password = "{}" }}',
    "an attribute of XML": '<user name="me" password="{}" roles="x"/>',
    "a named element of XML": '<string name="google_api_key">{}</string>',
    "an element on its own line": "<a><password>\n  {}\n</password></a>",
    "a property list": "<key>ApiSecret</key>\n<string>{}</string>",
    "a setter": 'client.setApiKey("{}");',
    "a builder": '    .password("{}")',
    "a type that hides it": 'password=SecretStr("{}")',
    "a default of the environment": 'os.environ.setdefault("API_TOKEN", "{}")',
    "a fallback of the environment": 'os.getenv("API_TOKEN", "{}")',
    "a fallback of JavaScript": 'const token = process.env.TOKEN || "{}";',
    "a fallback of a variable": "url=${{DB_PASSWORD:-{}}}",
    "a header that is set": 'request.setRequestHeader("X-Api-Key", "{}")',
    "an atom of Elixir": '{{:password, "{}"}}',
    "a setting of Elixir": 'config :app, secret_key_base: "{}"',
    "an f-string": "api_key = f'{}'",
    "bytes": "token = b'{}'",
    "a value in brackets": "PASSWORD = (\n    '{}'\n)",
    "a list": '{{"tokens": ["{}"]}}',
    "the second item of a list": '{{"tokens": ["a8F3kLm92XcVbN4q", "{}"]}}',
    "a long string": 'token = """\n{}\n"""\n',
    "a here-document": "token = <<EOT\n{}\nEOT\n",
    "a continued line": "oauth.client-secret=\\\n  {}\n",
    "a tagged block of YAML": "db_password: !vault |\n  {}\n",
    "a variable of Terraform": 'variable "db_password" {{\n  type    = string\n  default = "{}"\n}}\n',
    "an output of Terraform": 'output "token" {{ value = "{}" }}\n',
    "a state of Terraform": '{{"outputs":{{"db_password":{{"value":"{}","type":"string"}}}}}}',
    "a table": "| password | {} |\n",
    "a line break in a string": "PASSWORD=foo\\nTOKEN={}\\n",
    "a message": "Access key created: secret={}\n",
    "a flow of YAML": "mail: {{host: x, password: {}}}\n",
    "an anchor of YAML": "token: &tok {}\n",
    "a comment": "# password: {}\n",
    "a template string": "const PASSWORD = `{}`",
    "a quoted name of SQL": "`password`='{}'",
    "a quote of bash": "export DB_PASSWORD=$'{}'\n",
    "a comparison": "assert token == '{}'",
    "an arrow": 'password <- "{}"',
    "an arrow to it": "client_secret -> {}\n",
    "a record of Go": "&{{Token:{} Port:1}}",
    "a record of Java": "{{Token={}, port=1}}",
    "a list of variables": "env: DB_PASSWORD={}, PORT=1",
    "leaders": "Password ............ {}\n",
    "a property of Hadoop": "<property>\n  <name>db.password</name>\n  <value>{}</value>\n</property>",
    "an element with attributes": '<ApiToken xsi:type="x">{}</ApiToken>',
    "a section of XML": "<password><![CDATA[{}]]></password>",
    "a salt": "SIGNING_SALT={}\n",
    "a short name": "ADMIN_PW={}\n",
    "a constant of C": '#define API_KEY "{}"',
    "the log of a database": "A temporary password is generated for root@localhost: {}\n",
    "an escaped quote": '{{"password": "x9\\"{}"}}',
    "escaped blanks": "DB_PASSWORD=correct\\ {}\\ battery\n",
    "a login": 'HTTPBasicAuth("admin", "{}")',
    "a plain word of SQL": "ALTER ROLE app PASSWORD '{}';",
    "cookies": "Cookie: a=b; JSESSIONID={}\n",
    "a quoted user of curl": "curl --user 'admin:my {} 9' https://x.example",
    "a slash in a password": "amqp://u:pa/{}@h/v",
    "a key of PuTTY": "Private-Lines: 1\nAAAAIHq8w7e6r5t4{}\nPrivate-MAC: 11",
    "Postman": JOINED(("PM", "AK-0123456789abcdef01234567-{}")),
    "Square": JOINED(("sq", "0atp-{}")),
    "Perplexity": JOINED(("pp", "lx-{}")),
    "Notion": JOINED(("nt", "n_{}")),
    "a Secret": "apiVersion: v1\nkind: Secret\nstringData:\n  uri: {}\n",
    "a Secret that is printed": "apiVersion: v1\ndata:\n  config: {}\nkind: Secret\nmetadata:\n  name: x\n",
    "a Secret in JSON": '{{"apiVersion": "v1", "data": {{"config": "{}"}}, "kind": "Secret"}}',
    "a Secret in JSON in JSON": '{{\\"data\\":{{\\"a\\":\\"{}\\"}},\\"kind\\":\\"Secret\\"}}',
    "the block of a Secret": "apiVersion: v1\nkind: Secret\nstringData:\n  config: |\n    [db]\n    key = {}\n",
}


@pytest.mark.parametrize("name", ANYWHERE)
def test_random_value_of_a_secret_is_masked_in_any_place(name):
    text = f"x = 1\n{ANYWHERE[name].format(RANDOM)}"
    assert RANDOM not in SecretMasker().masked(text)
    assert [size for size in (1, 3, 7, 40) if RANDOM in streamed(text, size)] == []


CHOSEN = {
    "words in CamelCase": "GreenTurtleMoonRiver",
    "words in CamelCase and a year": "GreenTurtleMoon24",
}
PLACES = {
    "YAML": "password: {}\n",
    "properties": "spring.datasource.password: {}\n",
    "Terraform": '  password = "{}"\n',
    "Java": 'String password = "{}";',
    "Rust": 'let password: &str = "{}";',
    "an argument": 'connect(user="me", password="{}")',
    "an attribute": '<user name="me" password="{}" roles="x"/>',
    "a setter": 'setPassword("{}")',
    "a variable": "COOKIE_SECRET={}\n",
    "an exported variable": "export TOKEN={}",
    "a traced variable": "+ API_TOKEN={}",
    "an option": "wget --http-password={} x.example",
    "a message": "Generated password: {}\n",
    "a string of libpq": "psql 'host=db password={} user=x'",
    "SQL": "CREATE USER me IDENTIFIED BY '{}';",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", CHOSEN)
def test_password_of_words_in_camel_case_is_masked(value, place):
    text = PLACES[place].format(CHOSEN[value])
    assert CHOSEN[value] not in SecretMasker().masked(text)
    assert CHOSEN[value] not in streamed(text, 5)


@pytest.mark.parametrize("line", ["password: 'swordfish',", '{"passphrase":"swordfish"}', 'password = "swordfish"'])
def test_plain_word_in_quotes_is_masked_as_a_password(line):
    assert "swordfish" not in SecretMasker().masked(line)


HARMLESS = r"""
password: UserPasswordInput
password = PasswordFieldWidgetFactory
token: CohereV2ChatResponseUsageTokens
"password": "wachtwoord",
"password": "required",
"password": "plaintext",
"password": "textbox",
"output_token": "NextPartNumberMarker",
get_secret("prod-db-1-x2")
loadPassword("key1a2b3c")
auth = SigV4Auth2Class(config=config, auth=auth)
secretKey = messages.MessageField('V2alpha1ApiKey', 2)
token = r"[A-Za-z0-9]+[a-z]1b2"
TOKEN = re.compile(r"^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$")
os.environ.get("API_TOKEN", "default")
const token = options.token || "none";
password: ${DB_PASSWORD:-}
loadToken("key1a2b3c")
| password | string |
class Token { value = 1 }
if token == "abc12345":
call(token=token_2_of_3, key=value)
{Token=TokenKind.Name, port=1}
password: `${first}${second}`
token -> next_token_1
the password ... is required
<ApiToken xsi:type="x">string</ApiToken>
tokens = ["NAME", "NUMBER"]
salt = os.urandom(16)
self.setPassword("password")
Cookie: a=b; c=d
SELECT user FROM role WHERE name = 'a1b2c3'
redis://localhost:6379/0?x=user@host
kind: Secret
apiVersion: v1\ndata:\n  config: abc1234567\nkind: ConfigMap
""".strip().splitlines()


@pytest.mark.parametrize("line", HARMLESS)
def test_similar_text_is_unchanged(line):
    text = line.replace("\\ndata", "\ndata").replace("\\nkind", "\nkind").replace("\\n  config", "\n  config")
    assert SecretMasker().masked(text) == text == streamed(text, 3)


def test_text_after_the_beginning_of_a_key_without_its_end_stays():
    begin = JOINED(("-----BEGIN RSA PRIVATE ", "KEY-----"))
    text = f'label: "{begin}\\n..."\nfunction f() {{ return 1 }}\n' + "const a = b;\n" * 50
    assert SecretMasker().masked(text).endswith("function f() { return 1 }\n" + "const a = b;\n" * 50)


def test_template_of_a_secret_is_unchanged():
    text = "apiVersion: v1\nkind: Secret\ndata:\n  config: {{ .Values.config | b64enc }}\n  other: ${OTHER}\n"
    assert SecretMasker().masked(text) == text


WITHHELD = {
    **dict.fromkeys(("LDAP_BINDPW", "WIFI_PSK", "ID_RSA", "ED25519_PRIVATE", "HASHIDS_SALT", "XSRF"), "x"),
    **dict.fromkeys(("RECOVERY_CODE", "BACKUP_CODES", "WALLET_SEED", "AZURE_STORAGE_SAS", "KEYRING_DATA"), "x"),
    "AN_OPTION": f"--token {RANDOM}",
    "A_PROPERTY": f"-Ddb.password={RANDOM}",
    "A_RECORD": f'{{"private_key":"{RANDOM}"}}',
    "LOGINS": '{"auths":{"x":{"auth":"bWU6aHVudGVyMg=="}}}',
    "LINEAR": JOINED(("lin_", f"api_{RANDOM}{RANDOM}")),
    "DOCKER": JOINED(("dckr", f"_pat_{RANDOM}")),
    "TELEGRAM": JOINED(("123456789", f":AA{RANDOM}{RANDOM}")),
    "SENTRY": JOINED(("sntr", f"ys_{RANDOM}")),
}


@pytest.mark.parametrize("name", WITHHELD)
def test_variable_with_a_secret_reaches_no_child(name):
    assert child_environment({name: WITHHELD[name], "HOME": "/h"}) == {"HOME": "/h"}


@pytest.mark.parametrize(
    "value", ["--token-file /run/x", "-Dtoken.count=1", '{"auth": "none"}', "12:AA", "lin_apiary", "--no-token"]
)
def test_variable_that_only_resembles_a_secret_is_passed_on(value):
    assert child_environment({"PLAIN": value}) == {"PLAIN": value}
