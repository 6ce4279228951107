"""What is said where TLS is what is wrong: the cause, and what to do, for both kinds of client."""

import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from tls_servers import Certificates, answering, make_certificates

from allusion_es.core.errors import AllusionError, ServerRefusedError
from allusion_es.es.connection import Server
from allusion_es.es.kibana.client import Kibana
from allusion_es.es.tls import causes, needs_tls, speaks_http

Ask = Callable[..., object]

ELASTICSEARCH = (
    b"HTTP/1.1 200 OK\r\nX-elastic-product: Elasticsearch\r\nContent-Type: application/json\r\n"
    b"Content-Length: 37\r\nConnection: close\r\n\r\n" + b'{"nodes":{"a":{"version":"9.0.0"}}}  '
)
PLAIN = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def elasticsearch(url: str, **trusted: str) -> object:
    with Server.connect(url, timeout=3.0, **trusted) as server:  # type: ignore[arg-type]
        return server.version


def kibana(url: str, **trusted: str) -> object:
    return Kibana(url, timeout=3.0, environment={}, **trusted).version()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("authority"))


def told(ask: Ask, url: str, **trusted: str) -> str:
    with pytest.raises(ServerRefusedError) as caught:
        ask(url, **trusted)
    text = str(caught.value)
    assert "\n" not in text
    return text


both = pytest.mark.parametrize("ask", [elasticsearch, kibana])


@both
@pytest.mark.parametrize(
    ("name", "cause", "advice"),
    [
        (
            "elsewhere",
            "is for es01.example.org, es02.example.org, not for 127.0.0.1",
            "with a name",
        ),
        ("expired", "has expired", "renew it on the server"),
        ("early", "is not valid yet", "set the clock"),
        ("own", "signed by itself", "SHA-256 fingerprint"),
    ],
)
def test_a_certificate_that_does_not_fit(
    ask: Ask, name: str, cause: str, advice: str, certificates: Certificates
) -> None:
    with answering(certificates.context(name), PLAIN) as place:
        text = told(ask, f"https://{place}", ca_certs=str(certificates.authority))
        assert place in text
        assert cause in text
        assert advice in text


@both
def test_an_authority_that_nobody_named(ask: Ask, certificates: Certificates) -> None:
    with answering(certificates.context("good"), PLAIN) as place:
        text = told(ask, f"https://{place}")
        assert "this machine does not know who signed it" in text
        other = str(certificates.folder / "own.pem")
        assert "an authority that is not among those" in told(
            ask, f"https://{place}", ca_certs=other
        )
        text = told(ask, f"https://{place}", fingerprint="ab" * 32)
        assert "another fingerprint than the one given" in text


def test_a_certificate_that_fits_is_used(certificates: Certificates) -> None:
    with answering(certificates.context("good"), ELASTICSEARCH) as place:
        authority = str(certificates.authority)
        assert elasticsearch(f"https://{place}", ca_certs=authority) == "9.0.0"


@both
@pytest.mark.parametrize("answer", [PLAIN, b""])
def test_http_to_a_port_with_tls(ask: Ask, answer: bytes, certificates: Certificates) -> None:
    with answering(certificates.context("good"), answer) as place:
        text = told(ask, f"http://{place}")
        assert text == f"http://{place} speaks TLS; give its URL with https://"


@both
def test_https_to_a_port_without_tls(ask: Ask) -> None:
    with answering(None, PLAIN) as place:
        text = told(ask, f"https://{place}")
        assert text == f"https://{place} does not speak TLS; give its URL with http://"


@both
def test_https_to_what_speaks_neither(ask: Ask) -> None:
    with answering(None, b"220 smtp.example.org\r\n") as place:
        text = told(ask, f"https://{place}")
        assert "does not speak TLS" in text or "TLS handshake" in text


@both
def test_old_versions_of_tls(ask: Ask, certificates: Certificates) -> None:
    context = certificates.context("good")
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(certificates.authority)
    with answering(context, PLAIN) as place:
        # The server wants a certificate of the client, and says so only after the handshake.
        with pytest.raises(AllusionError) as caught:
            ask(f"https://{place}", ca_certs=str(certificates.authority))
        assert place in str(caught.value)
        assert "not trusted" not in str(caught.value)


def test_of_several_nodes_the_one_is_named(certificates: Certificates) -> None:
    with (
        answering(certificates.context("expired")) as one,
        answering(certificates.context("elsewhere")) as other,
    ):
        urls = f"https://{one},https://{other}"
        text = told(elasticsearch, urls, ca_certs=str(certificates.authority))
        assert f"https://{one} has expired" in text


def test_probes(certificates: Certificates, tmp_path: Path) -> None:
    with answering(certificates.context("good"), PLAIN) as place:
        assert needs_tls(f"http://{place}") is not None
        assert not speaks_http(f"https://{place}")
    with answering(None, PLAIN) as place:
        assert needs_tls(f"http://{place}") is None
        assert speaks_http(f"https://{place}")
    # Nobody listens there any more.
    assert needs_tls(f"http://{place}") is None
    assert not speaks_http(f"https://{place}")


def test_causes_end_where_errors_go_round() -> None:
    one, other = ValueError("one"), OSError("other")
    one.__cause__, other.__context__ = other, one
    assert [str(each) for each in causes(one)] == ["one", "other"]
