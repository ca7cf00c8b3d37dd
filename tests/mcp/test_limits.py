"""Limits for servers: images in a result, regular expressions, addresses that count as public."""

from ipaddress import ip_address
from types import SimpleNamespace

from workbench.mcp.elicitation import fields_of
from workbench.mcp.executor import content_of
from workbench.tools.schema import ImageContent
from workbench.web.network import is_public


def test_only_the_first_images_of_a_result_are_kept_and_others_counted():
    image = SimpleNamespace(type="image", data="AAAA", mime_type="image/png")
    made = content_of([image] * 11)
    assert [isinstance(each, ImageContent) for each in made] == [*[True] * 8, False]
    assert "3 more images omitted" in made[-1].text
    assert len(content_of([image] * 8)) == 8


def test_regular_expression_from_a_server_is_not_executed():
    (field,) = fields_of("fake", {"properties": {"name": {"type": "string", "pattern": "^(a+)+$", "maxLength": 99}}})
    assert field.value("a" * 40 + "!") == "a" * 40 + "!"
    assert "of the form ^(a+)+$" in field.describe(listed=True)


def test_site_local_addresses_are_not_public():
    assert not is_public(ip_address("fec0::1"))
    assert is_public(ip_address("2606:4700::1111"))
