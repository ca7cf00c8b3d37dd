"""Listing is rated by the path alone: names outside the workspace may be listed, contents are asked about."""

import pytest

from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext

CONTEXT = PathContext("/w/project", "/home/me")
LISTING = [
    "ls {}",
    "ls -la {}",
    "eza {}",
    "stat {}",
    "readlink {}",
    "realpath {}",
    "df -h {}",
    "ls {} | head",
    "ls -d {}",
]
READING = ["cat {}", "head -n 3 {}", "grep x {}", "wc -l {}", "sed -n 1p {}", "diff {} a.txt"]
PLACES = {
    "/tmp": ("LOW", "MEDIUM"),
    "/": ("LOW", "MEDIUM"),
    "..": ("LOW", "MEDIUM"),
    "../other": ("LOW", "MEDIUM"),
    "/nonexistent": ("LOW", "MEDIUM"),
    "/home/me/notes": ("LOW", "MEDIUM"),
    "/srv/data": ("LOW", "MEDIUM"),
    "/etc": ("LOW", "LOW"),
    "/usr/share/doc": ("LOW", "LOW"),
    "sub": ("LOW", "LOW"),
    "/home/other": ("MEDIUM", "MEDIUM"),
    "/home/me/.ssh": ("HIGH", "HIGH"),
    "/home/me/.aws/credentials": ("HIGH", "HIGH"),
    "/root": ("HIGH", "HIGH"),
    "/proc/1/fd": ("HIGH", "HIGH"),
    "/dev/sda": ("HIGH", "HIGH"),
}


@pytest.mark.parametrize("place", PLACES, ids=[place.strip("/").replace("/", "-") or "root" for place in PLACES])
def test_one_place_has_one_rating_for_listing_and_one_for_reading(place):
    listing, reading = PLACES[place]
    rated = {form: assess_command(form.format(place), CONTEXT, "/w/project").risk for form in (*LISTING, *READING)}
    assert rated == {**dict.fromkeys(LISTING, listing), **dict.fromkeys(READING, reading)}


@pytest.mark.parametrize("command", ["ls -R {}", "ls -lR {}", "ls --recursive {}", "eza -T {}", "eza --tree {}"])
def test_listing_everything_below_a_place_outside_is_asked_about(command):
    rated = [
        assess_command(command.format(place), CONTEXT, "/w/project").risk
        for place in ("/home/me", "/tmp", "sub", "/etc")
    ]
    assert rated == ["MEDIUM", "MEDIUM", "LOW", "LOW"]
