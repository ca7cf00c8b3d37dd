"""OpenAPI documents as tools: how they are read, what is sent over HTTP, and messages about unusable operations."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import jsonschema
import pytest

from tests.tools.web.site import Site, Visit, free_port
from tests.tools.web.small_api import PET, content, document, given, operation
from workbench.cli.main import main
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.errors import UsageError
from workbench.risk import RatingContext, assess
from workbench.tools import ArgumentError, Tool, ToolContext, ToolDefinition, resolve_tool
from workbench.tools.openapi.calls import Keys
from workbench.tools.openapi.source import read_source
from workbench.tools.schema import Observation
from workbench.tools.selection import select_tools
from workbench.web.network import proxy_of

FIGMA = Path(__file__).with_name("figma") / "openapi.yaml"
KEY = "k3y-0f-the-tests"


@pytest.fixture(autouse=True)
def _places(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("THE_KEY", KEY)


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as made:
        yield made


class Opened:
    """The tools of one document, by the ids of their operations."""

    def __init__(self, directory: Path, **table: Any) -> None:
        self.context = ToolContext(str(directory / "work"))
        self.tools = {tool.name: tool for tool in resolve_tool(Tool("openapi", {"api": table}), self.context)}
        self.notices = self.context.notices

    def __getitem__(self, name: str) -> ToolDefinition:
        return self.tools[f"api_{name}"]

    def call(self, name: str, **arguments: Any) -> Observation:
        return self[name](self[name].action_from_arguments(arguments))


def opened(directory: Path, made: dict[str, Any], **table: Any) -> Opened:
    (directory / "api.json").write_text(json.dumps(made))
    server = made["servers"][0]["url"] if made.get("servers") else ""
    if "://127.0.0.1" in server or "://localhost" in server:
        table.setdefault("base_url", server)  # without it, no address of this machine may be called
    return Opened(directory, document=str(directory / "api.json"), **table)


def answer(text: str = '{"ok": true}', status: int = 200, **headers: str):
    return lambda visit: visit.answer(text.encode(), "application/json", status, **headers)


def test_real_document_becomes_valid_tools_with_read_only_hints():
    figma = Opened(FIGMA.parent, document=str(FIGMA))
    assert figma.notices == []
    assert len(figma.tools) == 54
    for tool in figma.tools.values():
        schema = tool.to_mcp_tool()["inputSchema"]
        jsonschema.Draft202012Validator.check_schema(schema)
        assert "$ref" not in json.dumps(schema)
        assert tool.is_read_only is (tool.description.split("\n")[-1].startswith("GET "))
        assert issubclass(tool.action_type, tool.action_type.__mro__[1])
    post = figma["postComment"]
    assert post.description.startswith("Add a comment to a file\n")
    assert "POST /v1/files/{file_key}/comments" in post.description
    assert post.schema["required"] == ["file_key", "body"]
    with pytest.raises(ArgumentError, match="message"):
        post.action_from_arguments({"file_key": "a", "body": {}})


def test_calls_of_a_real_document_are_signed_and_never_show_the_key(site):
    figma = Opened(FIGMA.parent, document=str(FIGMA), base_url=site.url("/"), key_env="THE_KEY")
    site.pages["/v1/files/a%2Fb/comments"] = answer(f'{{"echo": "{KEY}"}}')
    site.pages["/v1/images/abc"] = answer("{}")
    result = figma.call("postComment", file_key="a/b", body={"message": "Grüße", "client_meta": {"x": 1, "y": 2}})
    figma.call("getImages", file_key="abc", ids="1:2,1:3", scale=2, svg_outline_text=False)
    posted, got = site.visits
    assert (posted.method, posted.headers["x-figma-token"]) == ("POST", KEY)
    assert json.loads(posted.body) == {"message": "Grüße", "client_meta": {"x": 1, "y": 2}}
    assert dict(parse_qsl(urlsplit(got.path).query)) == {"ids": "1:2,1:3", "scale": "2", "svg_outline_text": "false"}
    assert result.text == '200 OK\n{"echo": "‹secret THE_KEY›"}'
    assert "THE_KEY" not in os.environ


ITEMS = {"type": "array", "items": {}}
IN_JSON = {"name": "q", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}}
SENT: dict[str, Any] = {
    "plain": (given("q", "query"), "a b&c", "q=a%20b%26c"),
    "list": (given("q", "query", {"type": "array", "items": {"type": "integer"}}), [1, 2], "q=1&q=2"),
    "joined": (given("q", "query", ITEMS, explode=False), ["a", "b"], "q=a%2Cb"),
    "piped": (given("q", "query", ITEMS, style="pipeDelimited", explode=False), ["a", "b"], "q=a%7Cb"),
    "deep": (
        given("q", "query", {"type": "object"}, style="deepObject"),
        {"a": 1, "b": True},
        "q%5Ba%5D=1&q%5Bb%5D=true",
    ),
    "object": (given("q", "query", {"type": "object"}), {"a": 1}, "a=1"),
    "json": (IN_JSON, {"a": 1}, "q=%7B%22a%22%3A%201%7D"),
    "odd name": (given("filter[name]", "query"), "x", "filter%5Bname%5D=x"),
}


@pytest.mark.parametrize("case", SENT)
def test_queries_are_serialized_as_documented(tmp_path, site, case):
    parameter, value, expected = SENT[case]
    site.pages["/v1/it"] = answer()
    api = opened(tmp_path, document({"/it": {"get": operation("get", parameter)}}, url=site.url("/v1")))
    (argument,) = api["get"].schema["properties"]
    assert argument == ("filter_name" if case == "odd name" else "q")
    assert not api.call("get", **{argument: value}).is_error
    assert urlsplit(site.visits[0].path).query == expected


def test_paths_headers_and_cookies_are_serialized_and_cannot_change_the_path(tmp_path, site):
    parameters = [
        *(given("id", "path"), given("id", "query"), given("X-Tags", "header", {"type": "array", "items": {}})),
        *(given("seen", "cookie"), given("Authorization", "header")),
    ]
    api = opened(tmp_path, document({"/of/{id}": {"get": operation("get", *parameters)}}, url=site.url()))
    assert list(api["get"].schema["properties"]) == ["path_id", "query_id", "X-Tags", "seen"]
    site.pages["/of/a%20b%3F"] = answer()
    assert not api.call("get", path_id="a b?", query_id="2", seen="ye;s", **{"X-Tags": ["a", "b"]}).is_error
    (visit,) = site.visits
    assert visit.path == "/of/a%20b%3F?id=2"
    assert (visit.headers["x-tags"], visit.headers["cookie"]) == ("a,b", "seen=ye%3Bs")
    for bad in ("..", ".", ""):
        assert "not made" in api.call("get", path_id=bad).text
    api.call("get", path_id="../admin")
    assert site.visits[-1].path == "/of/..%2Fadmin"
    assert "line break" in api.call("get", path_id="a", **{"X-Tags": ["a\r\nX: y"]}).text


@pytest.mark.parametrize(
    ("media", "value", "kind", "sent"),
    [
        ("application/json", {"a": [1]}, "application/json", b'{"a": [1]}'),
        ("application/merge-patch+json", {"a": None}, "application/merge-patch+json", b'{"a": null}'),
        ("application/x-www-form-urlencoded", {"a": "x y", "b": [1, 2]}, "application/x-www-form", b"a=x+y&b=1&b=2"),
        ("text/plain", "words", "text/plain", b"words"),
        ("multipart/form-data", {"a": "x"}, "multipart/form-data; boundary=", b'name="a"\r\n\r\nx'),
    ],
)
def test_bodies_are_sent_in_their_media_type(tmp_path, site, media, value, kind, sent):
    site.pages["/v1/it"] = answer(status=201)
    body = content(media, {"type": "string" if media == "text/plain" else "object"}, required=True)
    api = opened(tmp_path, document({"/it": {"post": operation("post", body=body)}}, url=site.url("/v1")))
    assert api.call("post", body=value).text.startswith("201")
    (visit,) = site.visits
    assert visit.headers["content-type"].startswith(kind)
    assert sent in visit.body


def test_openapi_3_0_and_recursive_schemas_become_simple_ones(tmp_path):
    made = document(
        {"/pets": {"post": operation("add", body={"$ref": "#/components/requestBodies/Pet"})}}, schemas={"Pet": PET}
    )
    made["components"]["requestBodies"] = {
        "Pet": content("application/json", {"$ref": "#/components/schemas/Pet"}, required=True)
    }
    api = opened(tmp_path, made)
    assert api.notices == []
    pet = api["add"].schema["properties"]["body"]
    assert sorted(pet["properties"]) == ["age", "friends", "mother", "name"]
    assert pet["required"] == ["name"]
    assert pet["properties"]["age"]["exclusiveMinimum"] == 0
    assert api["add"].action_from_arguments({"body": {"name": "Rex", "age": None, "mother": {"name": "Ada"}}})
    with pytest.raises(ArgumentError, match="age"):
        api["add"].action_from_arguments({"body": {"name": "Rex", "age": 0}})
    with pytest.raises(ArgumentError, match="name"):
        api["add"].action_from_arguments({"body": {}})


def test_references_into_files_beside_the_document_are_followed_and_no_others(tmp_path):
    (tmp_path / "outside.yaml").write_text("Name: {type: string}")
    directory = tmp_path / "api"
    directory.mkdir()
    (directory / "parts.yaml").write_text(
        "Kind: {$ref: '#/Word'}\nWord: {type: string, enum: [cat, dog]}\nSince: 2020-01-02"
    )
    paths = {
        "/in": {"get": operation("inside", given("kind", "query", {"$ref": "parts.yaml#/Kind"}))},
        "/out": {"get": operation("outside", given("name", "query", {"$ref": "../outside.yaml#/Name"}))},
        "/web": {"get": operation("web", given("name", "query", {"$ref": "http://127.0.0.1:9/x.yaml#/Name"}))},
    }
    api = opened(directory, document(paths, "3.1.0"))
    assert list(api.tools) == ["api_inside"]
    assert api["inside"].schema["properties"]["kind"]["enum"] == ["cat", "dog"]
    assert len(api.notices) == 2
    assert "the operation web is ignored: http://127.0.0.1:9/x.yaml#/Name cannot be resolved" in api.notices[1]


def test_broken_operations_are_named_and_the_rest_works(tmp_path, site):
    nowhere = {"$ref": "#/components/schemas/Missing"}
    deep = {"type": "object", "properties": {"a": {"items": {"$ref": "#/components/schemas/Half"}}}}
    paths = {
        "/good": {"get": operation("good")},
        "/schema": {"get": operation("schema", given("a", "query", nowhere))},
        "/deep": {"post": operation("deep", body=content("application/json", deep))},
        "/parameter": {"get": operation("parameter", {"$ref": "#/components/parameters/None"})},
        "/path/{id}": {"get": operation("unsaid")},
        "/odd": {"get": operation("odd", {"name": "x", "in": "nowhere"})},
        "/file": {"post": operation("file", body=content("image/png", {}))},
        "/item": {"$ref": "#/components/pathItems/None"},
        "/answers": {"get": operation("answers", responses={"200": nowhere})},
    }
    api = opened(tmp_path, document(paths, url=site.url("/"), schemas={"Half": {"allOf": [nowhere]}}))
    site.pages["/good"] = answer()
    assert sorted(api.tools) == ["api_answers", "api_good"]
    assert not api.call("good").is_error
    notices = "\n".join(api.notices)
    assert "the operation schema is ignored: #/components/schemas/Missing cannot be resolved" in notices
    assert "the operation deep is ignored: #/components/schemas/Missing cannot be resolved" in notices
    assert "the operation parameter is ignored: #/components/parameters/None cannot be resolved" in notices
    assert "the operation unsaid is ignored: its path names id" in notices
    assert "the operation odd is ignored" in notices
    assert "2 more are ignored" in notices


@pytest.mark.parametrize(
    ("scheme", "header", "value"),
    [
        ({"type": "http", "scheme": "bearer"}, "authorization", f"Bearer {KEY}"),
        ({"type": "oauth2", "flows": {}}, "authorization", f"Bearer {KEY}"),
        ({"type": "http", "scheme": "basic"}, "authorization", "Basic azN5LTBmLXRoZS10ZXN0cw=="),
        ({"type": "apiKey", "in": "header", "name": "X-Key"}, "x-key", KEY),
        ({"type": "apiKey", "in": "cookie", "name": "session"}, "cookie", f"session={KEY}"),
        ({"type": "apiKey", "in": "query", "name": "key"}, "", KEY),
    ],
)
def test_every_security_scheme_is_applied(tmp_path, site, scheme, header, value):
    site.pages["/it"] = answer()
    made = document(
        {"/it": {"get": operation("get", security=[{"Main": []}])}}, url=site.url("/"), securitySchemes={"Main": scheme}
    )
    opened(tmp_path, made, auth={"Main": "THE_KEY"}).call("get")
    (visit,) = site.visits
    assert visit.headers.get(header, visit.path.partition("key=")[2]) == value


def test_missing_key_is_named_and_nothing_is_sent(tmp_path, site):
    schemes = {"Main": {"type": "http", "scheme": "bearer"}}
    made = document({"/it": {"get": operation("get")}}, url=site.url("/"), securitySchemes=schemes)
    made["security"] = [{"Main": []}]
    assert "variable NOT_SET" in opened(tmp_path, made, key_env="NOT_SET").call("get").text
    assert "key_env in [tools.openapi.api]" in opened(tmp_path, made).call("get").text
    made["security"].append({})
    assert "404" in opened(tmp_path, made).call("get").text
    assert len(site.visits) == 1


def test_keys_stay_on_their_server_and_only_reading_calls_follow_redirects(tmp_path, site, monkeypatch):
    with Site(address="127.0.0.2") as other:
        paths = {name: {"get": operation(name[1:])} for name in ("/near", "/far", "/round")}
        paths["/post"] = {"post": operation("post")}
        api = opened(tmp_path, document(paths, url=site.url("/")), key_env="THE_KEY")
        site.pages |= {"/near": lambda visit: visit.send_on("/there"), "/there": answer("arrived")}
        site.pages |= {
            "/far": lambda visit: visit.send_on(other.url("/x")),
            "/post": lambda visit: visit.send_on("/there", 307),
        }
        site.pages["/round"] = lambda visit: visit.send_on("/round")
        assert api.call("near").text.endswith("arrived")
        assert all(visit.headers["authorization"] == f"Bearer {KEY}" for visit in site.visits)
        assert f"sent on to {other.url('/x')}, which was not followed" in api.call("far").text
        assert "not followed" in api.call("post").text
        assert "more than 5 times" in api.call("round").text
        assert other.visits == []


def test_binary_long_and_error_responses_are_reported(tmp_path, site):
    paths = {f"/{name}": {"get": operation(name)} for name in ("none", "picture", "long", "wrong")}
    api = opened(tmp_path, document(paths, url=site.url("/")))
    site.pages["/none"] = lambda visit: visit.answer(b"", status=204)
    site.pages["/picture"] = lambda visit: visit.answer(b"\x89PNG\0", "image/png")
    site.pages["/long"] = answer("x" * 2_500_000)
    site.pages["/wrong"] = answer('{"message": "no such pet"}', status=422)
    assert api.call("none").text == "204 No Content\n[no content]"
    assert "image/png, 5 bytes" in api.call("picture").text
    assert "only the first 2 MB" in api.call("long").text
    wrong = api.call("wrong")
    assert wrong.is_error
    assert "422" in wrong.text
    assert "no such pet" in wrong.text


def test_calls_use_the_proxy_and_an_invalid_certificate_is_reported(tmp_path, site, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", site.url("/"))
    monkeypatch.setenv("NO_PROXY", "direct.example")
    site.pages["http://service.example/v1/it"] = answer('{"by": "the proxy"}')
    made = document({"/it": {"get": operation("get")}}, url="http://service.example/v1")
    assert "the proxy" in opened(tmp_path, made).call("get").text
    assert site.visits[-1].headers["host"] == "service.example"
    assert (
        proxy_of("http://direct.example/it") == proxy_of("http://127.0.0.1/") == proxy_of("https://other.example") == ""
    )
    with Site(tls=True) as secret:
        made = document({"/it": {"get": operation("get")}}, url=secret.url("", "127.0.0.1"))
        result = opened(tmp_path, made).call("get")
        assert result.is_error
        assert "its certificate is not valid" in result.text
        assert secret.visits == []


def test_hanging_server_and_interrupt_end_with_what_is_known(tmp_path, site):
    def hang(visit: Visit) -> None:
        visit.hold()

    site.pages["/it"] = hang
    paths = {"/it": {"get": operation("get"), "post": operation("post")}}
    slow = opened(tmp_path, document(paths, url=site.url("/")), seconds=1)
    assert slow.call("get").text == "The server did not answer within 1 seconds."
    assert "carried out is not known" in slow.call("post").text
    gone = opened(tmp_path, document(paths, url=f"http://127.0.0.1:{free_port()}/"))
    assert "could not be called" in gone.call("post").text
    assert "not known" not in gone.call("post").text

    patient = opened(tmp_path, document(paths, url=site.url("/")))
    site.arrived.clear()
    observations: list[Observation] = []
    thread = threading.Thread(target=lambda: observations.append(patient.call("get")))
    thread.start()
    assert site.arrived.wait(20)
    patient["get"].interrupt()
    thread.join(20)
    assert [each.text for each in observations] == ["The call was interrupted."]


def test_remote_document_is_cached_for_when_it_cannot_be_fetched(tmp_path, site):
    made = document({"/it": {"get": operation("get")}}, url="/v2")
    site.pages["/api.json"] = answer(json.dumps(made))
    address = site.url("/api.json")
    first = Opened(tmp_path, document=address)
    assert first.notices == []
    site.pages["/v2/it"] = answer()
    assert not first.call("get").is_error
    assert list(Opened(tmp_path, document=address).tools) == ["api_get"]
    assert len([visit for visit in site.visits if visit.path == "/api.json"]) == 1
    (copy,) = (tmp_path / "data/ohw/openapi").iterdir()
    os.utime(copy, (0, 0))
    site.pages["/api.json"] = answer("gone", 500)
    later = Opened(tmp_path, document=address)
    assert list(later.tools) == ["api_get"]
    assert "could not be fetched" in later.notices[0]
    assert "500" in Opened(tmp_path, document=site.url("/other.json")).notices[0] or site.visits
    assert (copy.stat().st_mode & 0o777, copy.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_changed_remote_document_is_not_used_before_approval(tmp_path, site, monkeypatch, capsys):
    """Row M05 for documents: pinned, the difference shown, then approved."""
    made = document({"/it": {"get": operation("get")}}, url="/v2")
    changed = {**made, "paths": {"/it": {"get": operation("get"), "delete": operation("wipe")}}}
    other = {**made, "info": {"title": "Another title", "version": "9"}}
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    settings = Locations.from_environment().settings_file
    settings.parent.mkdir(parents=True)
    settings.write_text(f'[tools.openapi.api]\ndocument = "{site.url("/api.json")}"\n')

    def serve(settings):
        site.pages["/api.json"] = answer(json.dumps(settings))
        for each in (tmp_path / "data/ohw/openapi").glob("*"):
            os.utime(each, (0, 0))
        return Opened(tmp_path, document=site.url("/api.json"))

    def told(action):
        assert main(["openapi", action, "api"]) == 0
        return capsys.readouterr().out

    assert list(serve(made).tools) == ["api_get"]
    assert serve(other).notices == []  # nothing that defines a tool
    assert "as approved" in told("list")
    later = serve(changed)
    assert list(later.tools) == ["api_get"]
    assert "ohw openapi changes api" in later.notices[0]
    assert "changed; the approved version is used" in told("list")
    assert main(["openapi", "approve", "api"]) == 2
    assert "were not shown yet; review it first: ohw openapi changes api" in capsys.readouterr().err
    assert "DELETE /it is new" in told("changes")
    assert '+ "operationId": "wipe"' in told("changes")
    number = told("changes").split()[-1]
    serve({**changed, "servers": [{"url": "https://elsewhere.test/"}]})  # after the user has looked
    for given_too in ([], [number]):
        assert main(["openapi", "approve", "api", *given_too]) == 2
        assert "changed since they were shown" in capsys.readouterr().err
    assert list(serve(changed).tools) == ["api_get"]
    assert main(["openapi", "approve", "api", number]) == 0
    assert "approved: api" in capsys.readouterr().out
    assert sorted(serve(changed).tools) == ["api_get", "api_wipe"]
    assert "api has no changes to approve" in told("approve")
    assert sorted(serve(made).tools) == ["api_get", "api_wipe"]  # a removed operation is not dropped silently either
    assert serve(changed).notices == []
    assert main(["openapi", "changes", "none"]) == 2
    assert "which document? There are: api" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("swagger: '2.0'", "version 2.0"),
        ("{'a: [", "neither JSON nor YAML"),
        ("just words", "not an OpenAPI document"),
        ("openapi: 3.1.0", "no paths"),
        ("", "not an OpenAPI document"),
        ("\x00\x01", "neither JSON nor YAML"),
    ],
)
def test_unusable_document_is_omitted_with_its_reason_and_others_work(tmp_path, text, why):
    (tmp_path / "bad.yaml").write_text(text)
    (tmp_path / "good.json").write_text(json.dumps(document({"/it": {"get": operation("get")}})))
    context = ToolContext(str(tmp_path))
    spec = Tool(
        "openapi",
        {"bad": {"document": "bad.yaml"}, "none": {"document": "none.yaml"}, "good": {"document": "good.json"}},
    )
    assert [tool.name for tool in resolve_tool(spec, context)] == ["good_get"]
    assert why in context.notices[0]
    assert "No such file" in context.notices[1]


def test_excluded_operations_are_omitted(tmp_path):
    paths = {
        "/a": {"get": operation("read_a"), "delete": operation("drop_a", tags=["danger"])},
        "/b": {"get": operation("b")},
    }
    assert list(opened(tmp_path, document(paths), read_only=True).tools) == ["api_read_a", "api_b"]
    assert list(opened(tmp_path, document(paths), only=["danger", "/b"]).tools) == ["api_drop_a", "api_b"]


def test_names_are_valid_for_providers_and_unique(tmp_path):
    paths = {
        "/a": {"get": operation("bash"), "post": operation("pets/list.all"), "put": operation("pets-list all")},
        "/b": {"get": operation("x" * 100), "post": {"responses": {}}},
    }
    (tmp_path / "api.json").write_text(json.dumps(document(paths, "3.1.0")))
    context = ToolContext(str(tmp_path))
    names = [tool.name for tool in resolve_tool(Tool("openapi", {"execute": {"document": "api.json"}}), context)]
    assert names[:3] == ["execute_bash_2", "execute_pets_list_all", "execute_pets_list_all_2"]
    assert all(len(name) <= 64 for name in names)
    assert names[4] == "execute_post_b"


def test_risk_depends_on_the_method_and_the_arguments(tmp_path):
    item = {method: operation(method, given("a", "query")) for method in ("get", "post", "delete")}
    api = opened(tmp_path, document({"/it": item}))
    assert [assess(api[name], {}, RatingContext("/w")).risk for name in item] == ["LOW", "MEDIUM", "HIGH"]
    assert assess(api["post"], {}, RatingContext("/w")).reasons == (
        "a tool of another program: POST https://api.test/v1/it",
    )
    assert assess(api["get"], {"a": "file:///etc/shadow"}, RatingContext("/w")).risk == "HIGH"


def test_third_party_document_decides_neither_key_targets_nor_approval(tmp_path, site):
    made = document({"/it": {"get": operation("get")}}, url="https://elsewhere.test/")
    site.pages["/api.json"] = answer(json.dumps(made))
    (tmp_path / "work").mkdir()
    (tmp_path / "work/api.json").write_text(json.dumps(made))
    for place in ("api.json", site.url("/api.json")):
        refused = Opened(tmp_path, document=place, key_env="THE_KEY")
        assert refused.tools == {}
        assert "your key go to https://elsewhere.test/" in refused.notices[0]
        assert "base_url" in refused.notices[0]
        said = Opened(tmp_path, document=place, key_env="THE_KEY", base_url="https://api.test/")
        assert assess(said["get"], {}, RatingContext("/w")).risk == "LOW"
        assert assess(Opened(tmp_path, document=place)["get"], {}, RatingContext("/w")).risk == "MEDIUM"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "169.254.169.254", "10.0.0.1", "2130706433"])
def test_document_alone_reaches_no_private_address(tmp_path, site, monkeypatch, host):
    site.pages["/v1/it"] = answer('{"inner": 1}')
    made = document({"/it": {"get": operation("get")}}, url=f"http://{host}:{site.port}/v1")
    (tmp_path / "own.json").write_text(json.dumps(made))
    api = Opened(tmp_path, document=str(tmp_path / "own.json"))
    for proxy in ("", site.url("/")):
        monkeypatch.setenv("HTTP_PROXY", proxy)
        result = api.call("get")
        assert result.is_error
        assert "not a public address" in result.text
        assert "`base_url` in [tools.openapi.api]" in result.text
    assert site.visits == []
    assert assess(api["get"], {}, RatingContext("/w")).risk == ("HIGH" if host == "169.254.169.254" else "LOW")
    monkeypatch.setenv("HTTP_PROXY", "")
    if host in ("127.0.0.1", "localhost"):
        named = Opened(tmp_path, document=str(tmp_path / "own.json"), base_url=f"http://{host}:{site.port}/v1")
        assert "inner" in named.call("get").text


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"api": {"dokument": "x"}}, "api has no entry 'dokument'; did you mean document"),
        ({"api": {}}, "api.document is missing"),
        ({"api": True}, "api must be a table"),
        ({"api": {"document": "x", "base_url": "nowhere"}}, "api.base_url must be a URL"),
        ({"api": {"document": "x", "auth": {"Main": 3}}}, "api.auth must be a table"),
        ({"my api": {"document": "x"}}, "'my api'"),
    ],
)
def test_invalid_settings_are_named(tmp_path, table, message):
    with pytest.raises(UsageError, match=message.replace("(", "\\(")):
        resolve_tool(Tool("openapi", table), ToolContext(str(tmp_path)))


def test_settings_enable_tools_show_notices_and_register_keys_as_secrets(tmp_path):
    paths = {"/a": {"get": operation("good")}, "/b": {"get": operation("bad", {"$ref": "#/x"})}}
    (tmp_path / "api.json").write_text(json.dumps(document(paths)))
    settings = Settings(tools={"openapi": {"api": {"document": str(tmp_path / "api.json"), "key_env": "THE_KEY"}}})
    selection = select_tools(settings, tmp_path / "settings.toml", ToolContext(str(tmp_path / "work")))
    selection.close()
    assert "api_good" in selection.tools
    assert selection.secrets == {"THE_KEY": KEY}
    assert any("the operation bad is ignored" in line for line in selection.notices)


def test_libraries_are_not_loaded_before_a_document_is_read():
    code = (
        "import sys, workbench.tools.registry, workbench.tools.selection, workbench.tools.openapi.definition;"
        "print([n for n in ('httpx', 'openapi_pydantic', 'referencing', 'yaml') if n in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_key_is_masked_in_every_encoding_it_is_sent_in(monkeypatch):
    monkeypatch.setenv("BASIC_PAIR", "ada:w0rd/f0r-tests")
    source = read_source("it", {"document": "x", "key_env": "BASIC_PAIR", "headers": {"X-Team": "Token h3ader-value"}})
    masked = Keys(source).masked("ada:w0rd/f0r-tests YWRhOncwcmQvZjByLXRlc3Rz ada%3Aw0rd%2Ff0r-tests h3ader-value")
    assert masked == "‹secret BASIC_PAIR› ‹secret BASIC_PAIR› ‹secret BASIC_PAIR› ‹secret X-Team›"
