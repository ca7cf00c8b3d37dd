"""Functions with type hints, and classes of OpenManus, as tools; and collections of tools."""

import asyncio
import functools
import json
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Annotated, Any, Literal, NotRequired, Optional, Required, TypedDict

import pytest
from pydantic import BaseModel, Field

from workbench import tool
from workbench.tools import (
    BaseTool,
    BashTool,
    ImageContent,
    Observation,
    TextContent,
    ThinkTool,
    Tool,
    ToolBase,
    ToolCollection,
    ToolContext,
    ToolError,
    ToolFailure,
    ToolResult,
    UnknownTool,
    tool_from_function,
)
from workbench.tools.factories import settable

CIRCLE: dict[str, Any] = {}
CIRCLE["circle"] = CIRCLE


class Client:
    """An object of a program that no model can send."""


class Place(BaseModel):
    city: str
    country: str = "Italy"


async def forecast(
    place: Place,
    days: int = 1,
    *,
    unit: Literal["C", "F"] = "C",
    tags: Annotated[tuple[str, ...], Field(max_length=2)] = (),
) -> str:
    """Forecast the weather.

    It covers up to ten days.

    Args:
        place: where, as city
            and country
        days (int): how many days
    Returns:
        one line
    """
    await asyncio.sleep(0)
    return f"{place.city} {days} {unit} {tags}"


def test_hints_become_the_schema_and_the_docstring_the_description():
    made = tool_from_function(forecast)
    parameters = made.schema["properties"]
    assert (made.name, made.description) == ("forecast", "Forecast the weather.\n\nIt covers up to ten days.")
    assert list(parameters) == ["place", "days", "unit", "tags"]
    assert made.schema["required"] == ["place"]
    assert parameters["days"] == {"default": 1, "description": "how many days", "type": "integer"}
    assert parameters["place"]["description"] == "where, as city and country"
    assert parameters["unit"]["enum"] == ["C", "F"]
    assert parameters["tags"]["maxItems"] == 2
    assert not made.is_read_only


def test_arguments_are_validated_and_converted_for_the_function():
    with tool_from_function(forecast) as made:
        assert made({"place": {"city": "Rome"}, "days": "3"}).text == "Rome 3 C ()"
        assert "`unit` is 'K'" in made({"place": {"city": "Rome"}, "unit": "K"}).text
        assert made({}).is_error


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("text", "text"),
        (None, "Done."),
        (3, "3"),
        ({"a": [1, "é"]}, '{"a":[1,"é"]}'),
        ([Place(city="Rome")], '[{"city":"Rome","country":"Italy"}]'),
        (Observation.from_text("own", is_error=True), "own"),
        (TextContent(text="block"), "block"),
        (b"bytes", '"bytes"'),
        (object, "<class 'object'>"),
        (b"\xff", "b'\\xff'"),
        ({"a": [b"\xff"]}, "{'a': [b'\\xff']}"),
        (CIRCLE, "{'circle': {...}}"),
    ],
    ids=[
        "text",
        "none",
        "number",
        "dict",
        "models",
        "observation",
        "block",
        "bytes",
        "other",
        "binary",
        "inside",
        "circle",
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
def test_any_result_can_be_shown(result, text, is_async):
    async def later() -> Any:
        return result

    def now() -> Any:
        return result

    with tool_from_function(later if is_async else now) as made:
        assert text in made({}).text


async def async_parts():
    yield {"a": 1}
    yield "b"


def parts():
    yield {"a": 1}
    yield "b"


@pytest.mark.parametrize("function", [parts, async_parts], ids=["sync", "async"])
def test_generators_give_the_list_of_what_they_yield(function):
    with tool_from_function(function, read_only=True) as made:
        assert made({}).text == '[{"a":1},"b"]'


UNSENDABLE = {
    "function": Callable[[], int],
    "optional function": Callable[[], int] | None,
    "own class": Client,
    "optional own class": Client | None,
    "list": list[Client],
    "list of functions": list[Callable[[], int]],
    "dictionary": dict[str, Client],
    "lock": type(threading.Lock()),
    "module": ModuleType,
}


@pytest.mark.parametrize("hint", UNSENDABLE.values(), ids=UNSENDABLE)
@pytest.mark.parametrize("wrapped", [False, True], ids=["plain", "annotated"])
def test_parameter_that_no_model_can_send_keeps_its_default_or_is_refused(hint, wrapped, caplog):
    kind = Annotated[hint, "what it is"] if wrapped else hint

    def search(words: str, client: Any = "the default", most: int = 3) -> str:
        return f"{words} {client} {most}"

    search.__annotations__["client"] = kind
    made = tool_from_function(search)
    assert list(made.schema["properties"]) == ["words", "most"]
    assert list(made.to_openai_tool()["function"]["parameters"]["properties"])[-2:] == ["words", "most"]
    assert made({"words": "a", "most": "5"}).text == "a the default 5"
    assert made({"words": "a", "client": "b"}).is_error
    assert [record.getMessage() for record in caplog.records] == [
        "search: `client` is omitted, because no model can send a value for it"
    ]

    def required(client: Any, words: str = "") -> str:
        return words

    required.__annotations__["client"] = kind
    with pytest.raises(ValueError, match="required: no model can send a value for `client`"):
        tool_from_function(required)


def test_an_image_is_an_image():
    image = ImageContent(data="AA==", mime_type="image/png")
    assert tool_from_function(lambda: image, name="draw")({}).content == (image,)


def test_an_exception_is_an_error_for_the_model():
    def fail() -> None:
        raise LookupError("nothing there")

    assert "LookupError: nothing there" in tool_from_function(fail)({}).text


def test_the_decorator_works_with_and_without_options():
    @tool
    def plain() -> str:
        return "a"

    @tool(name="other", description="Other words.", read_only=True)
    def named() -> str:
        return "b"

    assert (plain.name, plain.is_read_only, plain.description) == ("plain", False, "Call the function plain.")
    assert (named.name, named.is_read_only, named.description) == ("other", True, "Other words.")
    assert (plain.annotations.destructiveHint, named.annotations.destructiveHint) == (True, False)
    assert not tool_from_function(lambda: 1, name="add", destructive=False).annotations.destructiveHint


class Counter:
    def __init__(self) -> None:
        self.count = 0

    def add(self, amount: int = 1) -> int:
        """Add to the count."""
        self.count += amount
        return self.count


def _power(base: int, exponent: int) -> int:
    return int(base**exponent)


def test_methods_and_partials_are_functions_too():
    counter = Counter()
    assert tool_from_function(counter.add)({"amount": 3}).text == "3"
    assert counter.count == 3
    power = tool_from_function(functools.partial(_power, exponent=2), name="square")
    assert power({"base": 3}).text == "9"


def test_parameters_may_have_the_names_of_a_models_own_attributes():
    def odd(schema: str, json: int = 1, model_config: str = "", _private: str = "p", copy: bool = True) -> str:
        return f"{schema} {json} {model_config} {_private} {copy}"

    made = tool_from_function(odd)
    assert list(made.schema["properties"]) == ["schema", "json", "model_config", "_private", "copy"]
    arguments = {"schema": "s", "json": 2, "model_config": "m", "_private": "q", "copy": False}
    assert made(arguments).text == "s 2 m q False"


@pytest.mark.parametrize(
    ("function", "name"),
    [(lambda: 1, ""), (lambda *args: 1, "f"), (lambda **named: 1, "f"), (lambda a, /: 1, "f"), (len, "two words")],
    ids=["nameless", "args", "kwargs", "positional", "words"],
)
def test_a_function_that_no_model_can_call_is_refused(function, name):
    with pytest.raises(ValueError, match="name"):
        tool_from_function(function, name=name)


class Weather(BaseTool):
    """Tells the weather."""

    name = "weather"
    description = "Forecast the weather of a city."
    parameters = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    }

    async def execute(self, city: str, days: int = 1) -> ToolResult:  # type: ignore[override]
        if city == "Nowhere":
            return ToolFailure(error="there is no such city")
        return ToolResult(output=f"{city} {days}", base64_image="AA==")


class ByHints(BaseTool):
    """Double a number."""

    def execute(self, number: int) -> dict[str, int]:  # type: ignore[override]
        return {"result": number * 2}


def test_message_of_a_tool_error_is_the_result_that_the_model_gets():
    async def later(city: str) -> str:
        raise ToolError(f"{city} is closed\ud800")

    def now(city: str) -> str:
        raise ToolError(f"{city} is closed\ud800")

    class Closed(BaseTool):
        async def execute(self, city: str) -> str:  # type: ignore[override]
            raise ToolError(f"{city} is closed\ud800")

    for made in (tool_from_function(later), tool_from_function(now), Closed()):
        with made:
            result = made({"city": "Rome"})
        assert (result.is_error, result.text) == (True, "Rome is closed\ufffd")


def test_a_tool_of_openmanus_runs():
    with Weather() as made:
        result = made({"city": "Rome"})
        assert isinstance(result, ToolResult)
        assert (result.text, result.output, result.is_error) == ("Rome 1", "Rome 1", False)
        assert [block.type for block in result.content] == ["text", "image"]
        failed = made({"city": "Nowhere"})
        assert (failed.text, failed.is_error) == ("Error: there is no such city", True)
        assert "`city` is missing" in made({}).text
        assert made.to_openai_tool()["function"]["description"] == "Forecast the weather of a city."


def test_without_a_schema_the_hints_of_execute_count():
    made = ByHints()
    assert (made.name, made.description) == ("by_hints", "Double a number.")
    assert made({"number": "4"}).text == '{"result":8}'


@pytest.fixture
def collection():
    tools = ToolCollection("think", Weather(), forecast)
    yield tools
    tools.close()


def test_a_collection_has_its_tools_by_name(collection):
    assert [each.name for each in collection] == ["think", "weather", "forecast"] == list(collection.tool_map)
    assert len(collection) == 3
    assert "weather" in collection
    assert collection.get_tool("nothing") is None
    assert [each["function"]["name"] for each in collection.to_params()] == ["think", "weather", "forecast"]


def test_a_collection_changes(collection):
    assert collection.add_tool("bash").get_tool("execute_bash") is collection.get_tool("bash")
    assert collection.add_tools(ByHints(), Tool("task_tracker")) is collection
    assert collection.remove_tool("think").name == "think"
    assert [each.name for each in collection] == ["weather", "forecast", "execute_bash", "by_hints", "task_tracker"]
    with pytest.raises(UnknownTool):
        collection.remove_tool("think")
    version = collection.version
    weather = collection.get_tool("weather")
    collection.add_tool(weather)
    assert len(collection) == 5
    assert collection.version > version


@pytest.mark.parametrize("twice", [Weather, lambda: Tool("think"), lambda: ThinkTool()], ids=["class", "spec", "tool"])
def test_the_second_of_two_tools_with_one_name_is_left_out(collection, twice, caplog):
    before = list(collection)
    collection.add_tools("glob", twice())
    assert list(collection)[:3] == before
    assert [each.name for each in collection] == ["think", "weather", "forecast", "glob"]
    assert "the other one is ignored" in caplog.text


def test_a_collection_runs_its_tools(collection):
    async def run():
        return [
            await collection.execute(name="weather", tool_input={"city": "Rome"}),
            await collection.execute(name="nothing"),
            await collection.execute(name="weather", tool_input={"town": 1}),
            *await ToolCollection(ByHints(), "think").execute_all(),
        ]

    results = asyncio.run(run())
    assert results[0].text == "Rome 1"
    assert [result.is_error for result in results[1:]] == [True, True, True, True]


def test_tools_are_created_for_each_session_that_opens_the_collection(tmp_path):
    tools = ToolCollection(BashTool, "glob", Weather())
    one = tools.open(ToolContext(str(tmp_path))).current()
    other = tools.open(ToolContext("/"))
    assert one["execute_bash"].working_dir() == str(tmp_path)
    assert other.current()["execute_bash"].working_dir() == "/"
    assert one["weather"] is other.current()["weather"]
    child = tools.open(ToolContext("/"), is_child=True)
    child.close()
    assert one["weather"]({"city": "Rome"}).text == "Rome 1"
    tools.close()


def test_a_session_follows_the_changes_of_its_collection():
    closed = []

    class Closing(ThinkTool):
        name = "closing"

        def close(self):
            closed.append(self.name)

    tools = ToolCollection(Closing, "glob")
    opened = tools.open(ToolContext("/"))
    mapping = {**opened.current(), "of_a_server": ThinkTool()}
    assert not opened.update(mapping)
    tools.add_tool("grep")
    tools.remove_tool("closing")
    assert closed == []
    assert opened.update(mapping)
    assert not opened.update(mapping)
    assert list(mapping) == ["glob", "of_a_server", "grep"]
    assert closed == ["closing"]
    tools.add_tool(Closing)
    opened.update(mapping)
    assert "closing" in mapping
    opened.close()
    assert closed == ["closing", "closing"]


def test_one_of_several_tools_of_a_class_can_be_removed():
    class Pair(ToolBase):
        @classmethod
        def create(cls, conv_state, **params):
            return [tool_from_function(lambda: 1, name="one"), tool_from_function(lambda: 2, name="two")]

    tools = ToolCollection(Pair, "think")
    tools.remove_tool("one")
    assert [each.name for each in tools] == ["two", "think"]
    tools.remove_tool("two")
    assert [each.name for each in tools] == ["think"]
    tools.add_tool(Pair)
    assert [each.name for each in tools] == ["think", "one", "two"]
    tools.close()


def test_a_name_that_only_a_type_checker_knows_costs_no_other_type():
    def search(words: "list[str]", most: "int" = 5, where: "NoSuchName" = None) -> "str":  # type: ignore[name-defined]  # noqa: F821
        """Search."""
        return f"{words} {most + 1}"

    searching = tool_from_function(search)
    assert searching.schema["properties"]["words"] == {"type": "array", "items": {"type": "string"}}
    assert searching.schema["properties"]["most"] == {"type": "integer", "default": 5}
    assert searching({"words": ["a"], "most": "7"}).text == "['a'] 8"
    assert searching({"words": "a"}).is_error


class Site(TypedDict):
    """A place on a map."""

    name: str
    height: NotRequired[int]


class Route(TypedDict, total=False):
    """A way."""

    stops: Required[list[Site]]
    back: "Route | None"


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (Site, {"name": "a"}),
        (Site | None, {"name": "a", "height": 1}),
        (list[Site], [{"name": "a"}]),
        (dict[str, list[Site]], {"b": [{"name": "a", "height": 2}]}),
        (Annotated[Site, Field(description="Where.")], {"name": "a"}),
        (Optional[Site], {"name": "a"}),  # noqa: UP045
        (tuple[Site, Literal["x"]], [{"name": "a"}, "x"]),
        (Route, {"stops": [{"name": "a"}], "back": {"stops": []}}),
    ],
)
def test_typed_dict_of_the_standard_library_is_a_type_of_arguments(hint, value):
    def go(where):
        """Go."""
        return repr(where)

    go.__annotations__["where"] = hint
    going = tool_from_function(go)
    assert "name" in json.dumps(going.schema["properties"]["where"])
    assert not going({"where": value}).is_error
    assert "'name': 'a'" in going({"where": value}).text
    assert going({"where": 7}).is_error
    assert going({"where": {"height": 1}}).is_error


def test_parameters_of_a_factory_are_checked_beside_one_with_an_unknown_type():
    def create(conv_state, most: "int" = 5, where: "NoSuchName" = None):  # type: ignore[name-defined]  # noqa: F821
        return []

    assert settable(create) == ({"most": int, "where": Any}, False)
