"""Where the server is and how to log in, from arguments and environment."""

from pathlib import Path
from typing import Any

import pytest
from tls_servers import make_certificates

from allusion_es.core.errors import AllusionError, UsageError
from allusion_es.es.address import Login, find_address

SECRET = "geheim-4711"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("http://localhost:9200", "http://localhost:9200"),
        ("http://localhost", "http://localhost:9200"),
        ("localhost:9201", "http://localhost:9201"),
        ("https://es.example.org", "https://es.example.org:443"),
        ("https://es.example.org/search/", "https://es.example.org:443/search"),
        ("http://[::1]:9200", "http://[::1]:9200"),
        ("http://a:1, http://b:2,", "http://a:1, http://b:2"),
        (f"http://me:{SECRET}@a:1", "http://a:1"),
    ],
)
def test_urls(given: str, shown: str) -> None:
    assert find_address(given, environment={}).shown == shown


@pytest.mark.parametrize(
    "given",
    ["ftp://a", "http://", "http://a:x", "http://a b", "http://a:99999", "http://a?b", "/a"],
)
def test_what_is_no_url(given: str) -> None:
    with pytest.raises(UsageError, match="must look like http://localhost:9200"):
        find_address(given, environment={})


def test_no_url_at_all() -> None:
    with pytest.raises(UsageError, match="ALLUSION_ES_URL"):
        find_address(None, environment={})


def test_arguments_come_before_the_url_and_the_url_before_the_environment() -> None:
    environment = {
        "ALLUSION_ES_URL": "http://c",
        "ALLUSION_ES_USER": "env",
        "ALLUSION_ES_PASSWORD": SECRET,
    }
    assert find_address(environment=environment).login == Login("", "env", SECRET)
    inside = find_address("http://url:pw%40@c", environment=environment)
    assert inside.login == Login("", "url", "pw@")
    given = find_address("http://url:pw@c", user="arg", password="x", environment=environment)
    assert given.login == Login("", "arg", "x")
    mixed = find_address("http://c", user="arg", environment=environment)
    assert mixed.login == Login("", "arg", SECRET)


def test_headers() -> None:
    assert Login().header() == {}
    assert Login("abc=").header() == {"authorization": "ApiKey abc="}
    assert Login("id:key").header() == {"authorization": "ApiKey aWQ6a2V5"}
    assert Login("", "u", "p").header() == {"authorization": "Basic dTpw"}


@pytest.mark.parametrize(
    "options",
    [
        {"api_key": SECRET, "user": "u", "password": "p"},
        {"user": "u"},
        {"password": SECRET},
        {"api_key": f"{SECRET}\nx: y"},
        {"fingerprint": "12:34"},
        {"ca_certs": "nowhere.pem"},
        {"ca_certs": __file__},
    ],
)
def test_options_that_cannot_be_used(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        find_address("http://a", environment={}, **options)
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_certificates(tmp_path: Path) -> None:
    authority = make_certificates(tmp_path).authority
    fingerprint = ":".join(["AB"] * 32)
    address = find_address(
        "https://a", ca_certs=str(authority), fingerprint=fingerprint, environment={}
    )
    assert address.ca_certs == str(authority)
    assert address.fingerprint == "ab" * 32


def test_secrets_are_not_shown() -> None:
    address = find_address(f"http://me:{SECRET}@a", environment={})
    assert SECRET not in repr(address)
    assert str(address.login.without_secrets(AllusionError(f"no {SECRET}"))) == "no ***"
