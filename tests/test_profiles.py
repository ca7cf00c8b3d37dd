import re
from pathlib import Path

import pytest

from workbench.config.locations import Locations
from workbench.config.settings import Profile, Settings, load_settings
from workbench.engine.launch import Launch
from workbench.errors import UsageError

WHOLE = """
model = "fast"
api_base = "http://127.0.0.1:1/v1"
calls = "native"

[models.fast]
model = "openai/small"
api_base = "http://127.0.0.1:8000/v1"
api_key_env = "FAST_KEY"
temperature = 0
reasoning_effort = "low"
max_output_tokens = 2000
context_window = 32000
calls = "text"
price = { input = 0.5, output = 2, cached = 0.05 }

[models."far/away"]
model = "anthropic/large"
"""


def written(tmp_path: Path, text: str) -> Locations:
    where = Locations(tmp_path, tmp_path, tmp_path, tmp_path)
    where.settings_file.write_text(text)
    return where


def test_profile_has_everything_its_table_sets(tmp_path: Path):
    settings = load_settings(written(tmp_path, WHOLE), {})
    assert settings.profile("fast") == Profile(
        name="fast",
        model="openai/small",
        api_base="http://127.0.0.1:8000/v1",
        api_key_env="FAST_KEY",
        temperature=0.0,
        reasoning_effort="low",
        max_output_tokens=2000,
        context_window=32000,
        calls="text",
        price={"input": 0.5, "output": 2.0, "cached": 0.05},
    )


def test_profile_takes_precedence_over_a_provider_and_has_its_own_url(tmp_path: Path):
    settings = load_settings(written(tmp_path, WHOLE), {})
    assert settings.profile("far/away") == Profile("far/away", "anthropic/large", calls="native")
    assert settings.profile("openai/x") == Profile("openai/x", "openai/x", "http://127.0.0.1:1/v1", calls="native")


def test_url_given_as_a_flag_is_for_the_profile_of_the_start(tmp_path: Path):
    settings = load_settings(written(tmp_path, WHOLE), {}, api_base="http://[::1]:2")
    assert settings.profile("fast").api_base == "http://[::1]:2"
    assert settings.profile("far/away").api_base is None


OWN = 'model = "openai/gpt-5"\napi_base = "http://127.0.0.1:1/v1"\napi_key_env = "CORP"\n'
SAVED = '[models.fast]\nmodel = "anthropic/small"\n'


@pytest.mark.parametrize(
    ("text", "model", "is_for_it"),
    [
        (OWN, "openai/gpt-5-mini", True),
        (OWN, "gpt-5-mini", True),
        (OWN, "anthropic/claude-opus-4-5", False),
        (OWN + SAVED, "fast", True),
        (OWN.replace("openai/gpt-5", "fast") + SAVED, "anthropic/claude-opus-4-5", True),
        (OWN.replace('model = "openai/gpt-5"', ""), "anthropic/claude-opus-4-5", True),
    ],
)
@pytest.mark.parametrize("source", ["flag", "environment"])
def test_key_and_url_of_the_file_are_for_models_of_its_own_provider(
    tmp_path: Path, text: str, model: str, is_for_it: bool, source: str
):
    where = written(tmp_path, text)
    settings = load_settings(where, {}, model=model) if source == "flag" else load_settings(where, {"OHW_MODEL": model})
    expected = ("http://127.0.0.1:1/v1", "CORP") if is_for_it else (None, None)
    assert (settings.model, settings.api_base, settings.api_key_env) == (model, *expected)


def test_profiles_come_from_the_file_only_and_reach_the_engine(tmp_path: Path):
    where = written(tmp_path, WHOLE)
    settings = load_settings(where, {"OHW_MODELS": "x"})
    assert Launch.from_json(Launch(where, settings, "s").to_json()).settings == settings


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("models = 3", "models must contain tables"),
        ("[models]\nfast = 'openai/x'", "models.fast must be a table: [models.fast]"),
        ("[models.'a b']\nmodel = 'x'", "a name is made of letters, digits"),
        ("[models.'']\nmodel = 'x'", "a name is made of letters, digits"),
        ("[models.fast]", "models.fast.model is missing"),
        ("[models.fast]\nmodel = 3", "models.fast.model must be text in one line"),
        ("[models.fast]\nmodel = ''", "models.fast.model must be text in one line"),
        ("[models.fast]\nmodel = 'x'\nheat = 1", "models.fast has no entry 'heat'; known are api_base, "),
        ("[models.fast]\nmodel = 'x'\napi_base = 1", "models.fast.api_base must be text"),
        ("[models.fast]\nmodel = 'x'\napi_base = 'here:1'", "models.fast.api_base must be a URL such as http"),
        (
            "[models.fast]\nmodel = 'x'\napi_key_env = 'A'\napi_key_file = 'b'",
            "models.fast: give one of api_key_env, api",
        ),
        ("[models.fast]\nmodel = 'x'\ntemperature = 3", "models.fast.temperature must be a number from 0 to 2, not 3"),
        ("[models.fast]\nmodel = 'x'\ntemperature = true", "models.fast.temperature must be a number"),
        ("[models.fast]\nmodel = 'x'\ntemperature = nan", "models.fast.temperature must be a number"),
        ("[models.fast]\nmodel = 'x'\nreasoning_effort = 'so'", "models.fast.reasoning_effort must be one of none, "),
        ("[models.fast]\nmodel = 'x'\nreasoning_effort = []", "models.fast.reasoning_effort must be one of none, "),
        ("[models.fast]\nmodel = 'x'\nmax_output_tokens = 0", "models.fast.max_output_tokens must be a whole number"),
        ("[models.fast]\nmodel = 'x'\ncontext_window = 1.5", "models.fast.context_window must be a whole number"),
        ("[models.fast]\nmodel = 'x'\ncalls = 'any'", "models.fast.calls must be one of auto, native, text, not 'any'"),
        ("[models.fast]\nmodel = 'x'\nprice = 1", "models.fast.price must be { input = …, output = … }"),
        ("[models.fast]\nmodel = 'x'\nprice = {input = 1}", "models.fast.price must be { input = …, output = … }"),
        ("[models.fast]\nmodel = 'x'\nprice = {input = -1, output = 1}", "models.fast.price.input must be a number of"),
    ],
)
def test_invalid_profile_is_one_line_with_file_and_key(tmp_path: Path, text: str, message: str):
    with pytest.raises(UsageError, match=re.escape(message)) as error:
        load_settings(written(tmp_path, text), {})
    assert str(error.value).startswith(f"{tmp_path}/settings.toml:")
    assert "\n" not in str(error.value)


def test_name_without_a_profile_is_a_providers_model():
    assert Settings().profile("openai/x") == Profile("openai/x", "openai/x")


FALLBACKS = """
[models.fast]
model = "openai/small"
{fast}

[models."far/away"]
model = "anthropic/large"
{far}
"""


def test_fallback_models_are_saved_models_or_models_of_a_provider(tmp_path: Path):
    names = 'fallback_models = ["far/away", "gemini/x", "openai/small"]'
    settings = load_settings(written(tmp_path, FALLBACKS.format(fast=names, far="")), {})
    assert settings.profile("fast").fallback_models == ("far/away", "gemini/x", "openai/small")
    assert settings.profile("far/away").fallback_models == ()
    assert settings.profile("gemini/x").fallback_models == ()


@pytest.mark.parametrize(
    ("fast", "far", "line", "message"),
    [
        ("fallback_models = 'far/away'", "", 2, "models.fast.fallback_models must be a list of models, such as"),
        ("fallback_models = [3]", "", 2, "models.fast.fallback_models must be a list of models"),
        ("fallback_models = ['far']", "", 4, "models.fast.fallback_models: no model is saved as 'far'; write it as"),
        ("fallback_models = ['fsat']", "", 4, "; did you mean 'fast'"),
        ("fallback_models = ['']", "", 4, "no model is saved as ''"),
        ("fallback_models = ['openai/']", "", 4, "no model is saved as 'openai/'"),
        ("fallback_models = ['none']", "", 4, "no model is saved as 'none'"),
        ("fallback_models = ['far/away', 'fast']", "", 4, "models.fast.fallback_models names fast itself"),
        ("", "fallback_models = ['far/away']", 8, "models.far/away.fallback_models names far/away itself"),
        (
            "fallback_models = ['far/away']",
            "fallback_models = ['fast']",
            4,
            "models.fast.fallback_models leads back to fast: fast → far/away → fast",
        ),
    ],
    ids=["text", "number", "unknown", "slip", "empty", "no model", "none", "itself", "itself quoted", "cycle"],
)
def test_fallback_models_that_cannot_be_used_are_named_with_their_line(tmp_path: Path, fast, far, line, message):
    where = written(tmp_path, FALLBACKS.format(fast=fast, far=far))
    with pytest.raises(UsageError, match=re.escape(message)) as error:
        load_settings(where, {})
    assert str(error.value).startswith(f"{tmp_path}/settings.toml:{line}: ")
    assert "\n" not in str(error.value)


def test_unusable_fallback_models_leave_the_model_usable(tmp_path: Path):
    both = FALLBACKS.format(fast="fallback_models = ['far/away']", far="fallback_models = ['fast']")
    settings = load_settings(written(tmp_path, both), {}, lenient=True)
    assert [len(settings.problems), *map(set, settings.models.values())] == [2, {"model"}, {"model"}]


def test_a_model_that_is_not_valid_is_no_fallback_model(tmp_path: Path):
    text = FALLBACKS.format(fast="fallback_models = ['worse']", far="") + "[models.worse]\nmodel = 3\n"
    settings = load_settings(written(tmp_path, text), {}, lenient=True)
    assert settings.profile("fast").fallback_models == ()
    assert "no model is saved as 'worse'" in settings.problems[1]


def test_fallback_models_of_a_program_are_checked_too(tmp_path: Path):
    models = {"fast": {"model": "openai/x", "fallback_models": ["slow"]}}
    with pytest.raises(UsageError, match=r"models\.fast\.fallback_models: no model is saved as 'slow'"):
        load_settings(written(tmp_path, ""), {}, models=models)
