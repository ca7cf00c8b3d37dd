"""The table `[container]`: what the file and the flag say together, and what is refused."""

from __future__ import annotations

import pytest

from tests.sandbox import Sandbox as User
from workbench.config.settings import load_settings, read_container
from workbench.errors import UsageError


def test_the_flag_gives_the_image_and_leaves_the_rest_of_the_table(local_sandbox: User):
    file = local_sandbox.locations.settings_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('[container]\nimage = "old"\ndockerfile = "Dockerfile"\nnetwork = "none"\n')
    settings = read_container(load_settings(local_sandbox.locations, local_sandbox.env, container="new").container)
    assert (settings.image, settings.dockerfile, settings.network) == ("new", "", "none")
    none = read_container(load_settings(local_sandbox.locations, local_sandbox.env, container="").container)
    assert not none.is_used


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"imge": "x"}, "image"),
        ({"network": "host"}, "ask, none, open"),
        ({"mounts": ["data:/data"]}, "SOURCE:TARGET"),
        ({"env": {"A B": "x"}}, "name of a variable"),
        ({"memory": "lots"}, "such as"),
        ({"memory": "4"}, "such as"),
        ({"runtime": "lxc"}, "podman, docker"),
    ],
)
def test_what_is_wrong_in_the_table_is_named(table: dict[str, object], says: str):
    with pytest.raises(UsageError, match=says):
        read_container(table)
