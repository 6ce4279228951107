"""`kibana install` against a stand-in that answers as Kibana's documented API does."""

import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kibana_stand_in import JSON, StandIn, running
from processes import Run

from allusion_es.core.errors import (
    AllusionError,
    ServerRefusedError,
    ServerUnavailableError,
    UsageError,
)
from allusion_es.es.kibana.client import Kibana
from allusion_es.es.kibana.objects import DASHBOARD, saved_objects

OBJECTS = saved_objects()
KEYS = {(each["type"], each["id"]) for each in OBJECTS}
SECRET = "s3cr3t-pass"
BASIC = "Basic ZWxhc3RpYzpzM2NyM3QtcGFzcw=="
IMPORT = "/api/saved_objects/_import"


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    with running(StandIn()) as kibana:
        yield kibana


def client(stand_in: StandIn, **options: Any) -> Kibana:  # noqa: ANN401
    return Kibana(stand_in.url + stand_in.base, environment={}, **options)


def test_all_objects_are_installed_and_a_second_time_too(stand_in: StandIn) -> None:
    for _ in range(2):
        done = client(stand_in).install(OBJECTS)
        assert (done.version, done.objects) == ("9.5.3", 12)
        assert done.dashboard == f"{stand_in.url}/app/dashboards#/view/{DASHBOARD}"
    assert stand_in.objects["default"].keys() == KEYS
    assert list(stand_in.objects["default"].values()) == OBJECTS


def test_without_overwriting_a_second_import_would_conflict(stand_in: StandIn) -> None:
    """The stand-in does what Kibana does: so that the test above can fail."""
    client(stand_in).install(OBJECTS)
    _, path, headers = stand_in.seen[-1]
    assert path.endswith("?overwrite=true")
    data = b'--b\r\ncontent-disposition: form-data; name="file"; filename="x.ndjson"\r\n\r\n'
    data += b'{"type":"search","id":"allusion-es-candidates-of-a-query"}\r\n--b--\r\n'
    headers = headers | {"content-type": "multipart/form-data; boundary=b"}
    status, _, body = stand_in.answer("POST", IMPORT, headers, data)
    assert status == 200
    assert b'"success": false' in body


@pytest.mark.parametrize("version", ["8.11.0", "8.19.20", "9.0.0-SNAPSHOT", "9.9.1"])
def test_versions_that_are_served(stand_in: StandIn, version: str) -> None:
    stand_in.version = version
    assert client(stand_in).version() == version


@pytest.mark.parametrize("version", ["8.10.4", "7.17.0", "10.0.0", "x"])
def test_versions_that_are_not_served(stand_in: StandIn, version: str) -> None:
    stand_in.version = version
    with pytest.raises(ServerRefusedError, match=rf"Kibana {version} answers .*8\.11 to 9\.x"):
        client(stand_in).install(OBJECTS)
    assert not stand_in.objects


def test_login_space_and_base_path(stand_in: StandIn) -> None:
    stand_in.base, stand_in.spaces, stand_in.authorization = "/kibana", ("latin",), BASIC
    kibana = client(stand_in, user="elastic", password=SECRET, space="latin")
    done = kibana.install(OBJECTS)
    assert done.dashboard == f"{stand_in.url}/kibana/s/latin/app/dashboards#/view/{DASHBOARD}"
    assert stand_in.objects.keys() == {"latin"}
    # In another space the same ids are taken; Kibana gives others, and the address follows.
    again = client(stand_in, user="elastic", password=SECRET, space="default").install(OBJECTS)
    assert again.dashboard == f"{stand_in.url}/kibana/app/dashboards#/view/new-{DASHBOARD}"
    with pytest.raises(ServerRefusedError, match="no space 'greek'; make it"):
        client(stand_in, user="elastic", password=SECRET, space="greek").install(OBJECTS)
    assert stand_in.objects.keys() == {"latin", "default"}


def test_an_api_key_logs_in(stand_in: StandIn) -> None:
    stand_in.authorization = "ApiKey aWQ6a2V5"
    assert client(stand_in, api_key="id:key").install(OBJECTS).objects == 12


def test_what_an_anonymous_user_is_not_told_is_no_fault(stand_in: StandIn) -> None:
    stand_in.version = None
    assert client(stand_in).install(OBJECTS).version == ""


def failed(stand_in: StandIn, **options: Any) -> AllusionError:  # noqa: ANN401
    """What an installation that fails says: one line with the URL, and no secret."""
    with pytest.raises(AllusionError) as caught:
        client(stand_in, **options).install(OBJECTS)
    message = str(caught.value)
    assert stand_in.url in message
    assert "\n" not in message
    assert len(message) < 600
    assert SECRET not in message
    assert BASIC.split()[1] not in message
    return caught.value


@pytest.mark.parametrize("login", [{}, {"user": "elastic", "password": SECRET}])
def test_a_wrong_login(stand_in: StandIn, login: dict[str, str]) -> None:
    stand_in.authorization = "Basic other"
    error = failed(stand_in, **login)
    assert isinstance(error, ServerRefusedError)
    assert "refuses the login (HTTP 401); set ALLUSION_ES_USER and" in str(error)


def test_a_login_without_the_right(stand_in: StandIn) -> None:
    body = b'{"statusCode":403,"error":"Forbidden","message":"Unable to bulk_create\\n search"}'
    stand_in.replies[IMPORT] = (403, JSON, body)
    assert "does not permit this (Unable to bulk_create search)" in str(failed(stand_in))


@pytest.mark.parametrize(
    ("details", "said"),
    [
        ({"type": "conflict"}, "conflict: another object is in its place"),
        ({"type": "ambiguous_conflict", "destinations": []}, "ambiguous_conflict: another object"),
        (
            {
                "type": "missing_references",
                "references": [{"type": "index-pattern", "id": "gone"}],
            },
            "missing_references: index-pattern 'gone' is not there",
        ),
    ],
)
def test_one_bad_object_keeps_all_out(
    stand_in: StandIn, details: dict[str, Any], said: str
) -> None:
    stand_in.errors = [{"type": "search", "id": "allusion-es-x", "error": details}]
    error = failed(stand_in)
    assert isinstance(error, ServerRefusedError)
    assert f"did not take search 'allusion-es-x' ({said}" in str(error)
    assert str(error).endswith("nothing was imported")
    assert not stand_in.objects["default"]


def test_a_partial_failure(stand_in: StandIn) -> None:
    stand_in.errors = [
        {
            "type": "visualization",
            "id": "allusion-es-gold",
            "error": {"type": "unknown", "message": "bad\nstate", "statusCode": 400},
        },
        {"type": "dashboard", "id": DASHBOARD, "error": {"type": "unsupported_type"}},
    ]
    message = str(failed(stand_in))
    assert (
        "did not take visualization 'allusion-es-gold' (unknown: bad state), nor 1 others"
        in message
    )
    assert message.endswith("the others were imported")
    assert len(stand_in.objects["default"]) == 10


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"success": true, "successCount": 11}', "took 11 of 12"),
        (b'{"success": false, "successCount": 12}', "took 12 of 12"),
        (b'{"success": false, "successCount": 0, "errors": []}', "took 0 of 12"),
        (b'{"success": "true", "successCount": 12}', "does not say why"),
        (b'{"success": false, "errors": [{}]}', "did not take None 'None'"),
        (b'{"success": false, "errors": [null, 3]}', "took None of 12"),
        (b"{}", "took None of 12"),
        (b"[]", "is not Kibana (HTTP 200, application/json)"),
        (b"", "is not Kibana (HTTP 200, application/json)"),
    ],
)
def test_answers_to_an_import_that_are_not_good(stand_in: StandIn, body: bytes, said: str) -> None:
    stand_in.replies[IMPORT] = (200, JSON, body)
    assert said in str(failed(stand_in))


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ((422, JSON, b'{"message":"belongs to a more recent version"}'), "(HTTP 422): belongs to"),
        ((400, JSON, b'{"message":"Request must contain a kbn-xsrf header."}'), "must contain"),
        ((413, "text/html", b"<html>"), "refuses so large a request (413)"),
        ((404, "text/html", b"<html>no</html>"), "is not Kibana (HTTP 404, text/html)"),
        ((500, JSON, b'{"message":""}'), "is not Kibana (HTTP 500"),
    ],
)
def test_other_refusals(stand_in: StandIn, reply: tuple[int, str, bytes], said: str) -> None:
    stand_in.replies[IMPORT] = reply
    error = failed(stand_in)
    assert isinstance(error, ServerRefusedError)
    assert said in str(error)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ((200, "text/html", b"<html><title>nginx</title></html>"), "(HTTP 200, text/html)"),
        ((404, JSON, b'{"statusCode":404,"message":"Not Found"}'), "(HTTP 404, application/json)"),
        ((405, JSON, b'{"error":"Incorrect HTTP method"}'), "(HTTP 405, application/json)"),
        ((200, JSON, b'{"tagline":"You Know, for Search"}'), "(HTTP 200, application/json)"),
        ((200, JSON, b'{"status":'), "(HTTP 200, application/json)"),
        ((200, JSON, b"[" * 100_000), "(HTTP 200, application/json)"),
    ],
)
def test_a_wrong_address(stand_in: StandIn, reply: tuple[int, str, bytes], said: str) -> None:
    stand_in.replies["/api/status"] = reply
    error = failed(stand_in)
    assert isinstance(error, ServerRefusedError)
    assert f"is not Kibana {said}; check the URL" in str(error)
    assert not stand_in.objects


def test_a_wrong_base_path(stand_in: StandIn) -> None:
    stand_in.base = "/kibana"
    with pytest.raises(ServerRefusedError, match="HTTP 302, text/html, sent on to /kibana/login"):
        Kibana(stand_in.url, environment={}).install(OBJECTS)


def test_not_ready(stand_in: StandIn) -> None:
    stand_in.not_ready = 1
    error = failed(stand_in)
    assert isinstance(error, ServerUnavailableError)
    assert "is not ready yet; wait until it is, with --wait" in str(error)
    stand_in.not_ready = 2
    assert client(stand_in).install(OBJECTS, wait=60).objects == 12
    stand_in.level = "unavailable"
    assert "is not ready yet (unavailable)" in str(failed(stand_in))


def test_a_server_that_takes_too_long(stand_in: StandIn) -> None:
    stand_in.delay = 1.0
    error = failed(stand_in, timeout=0.1)
    assert isinstance(error, ServerUnavailableError)
    assert "did not answer within 0.1 s" in str(error)


def test_nothing_answers(stand_in: StandIn) -> None:
    with pytest.raises(ServerUnavailableError, match=r"no server answers at http://127.0.0.1:1 "):
        Kibana("http://127.0.0.1:1", environment={}).version()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"url": ""}, "give one URL of Kibana"),
        ({"url": "http://a,http://b"}, "give one URL of Kibana"),
        ({"url": f"http://u:{SECRET}@"}, "must look like http://localhost:5601"),
        ({"url": "http://a", "space": "../x"}, "space: .* not '../x'"),
        ({"url": "http://a", "space": "A"}, "space: .* not 'A'"),
        ({"url": "http://a", "user": "u"}, "give a password"),
        ({"url": "http://a", "ca_certs": "nowhere.pem"}, "no such certificate file"),
    ],
)
def test_options_that_cannot_be_used(options: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        Kibana(**options, environment={})  # type: ignore[arg-type]
    assert SECRET not in str(caught.value)


def test_the_environment_gives_what_is_not_given(stand_in: StandIn) -> None:
    stand_in.authorization = BASIC
    environment = {
        "ALLUSION_KIBANA_URL": stand_in.url,
        "ALLUSION_ES_USER": "elastic",
        "ALLUSION_ES_PASSWORD": SECRET,
        # Elasticsearch's certificates are not Kibana's.
        "ALLUSION_ES_FINGERPRINT": "0" * 64,
    }
    assert Kibana(environment=environment).version() == "9.5.3"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """A self-signed certificate for loopback: its file, its key's and its fingerprint."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    file, key = folder / "cert.pem", folder / "key.pem"
    command = f"{openssl} req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(file)]
    subprocess.run([*command.split(), *names], check=True, capture_output=True)
    shown = subprocess.run(
        [openssl, "x509", "-in", str(file), "-noout", "-fingerprint", "-sha256"],
        check=True,
        capture_output=True,
        text=True,
    )
    return file, key, shown.stdout.partition("=")[2].strip()


def test_tls(certificate: tuple[Path, Path, str], tmp_path: Path) -> None:
    file, key, fingerprint = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, key)
    with running(StandIn(), context) as stand_in:
        for trusted in ({"ca_certs": str(file)}, {"fingerprint": fingerprint}):
            assert client(stand_in, **trusted).version() == "9.5.3"
        seen = len(stand_in.seen)
        with pytest.raises(ServerRefusedError, match=r"certificate of .* is not trusted; name"):
            client(stand_in, user="elastic", password=SECRET).version()
        with pytest.raises(ServerRefusedError, match="has another fingerprint"):
            client(stand_in, fingerprint="0" * 64, user="u", password=SECRET).version()
        assert len(stand_in.seen) == seen  # nothing was sent, and so no password
        nonsense = tmp_path / "nonsense.pem"
        nonsense.write_text("no certificate")
        with pytest.raises(UsageError, match="there is no certificate in it that can be read"):
            client(stand_in, ca_certs=str(nonsense)).version()
        with pytest.raises(AllusionError, match="speaks TLS; give its URL with https://"):
            Kibana(stand_in.url.replace("https", "http"), environment={}).version()
    with running(StandIn()) as plain:
        with pytest.raises(ServerRefusedError, match="does not speak TLS; give its URL with http:"):
            Kibana(plain.url.replace("http", "https"), environment={}).version()
        with pytest.raises(UsageError, match="certificates need a URL with https"):
            client(plain, ca_certs=str(file)).version()


def test_the_command(run: Run, stand_in: StandIn) -> None:
    stand_in.authorization = BASIC
    login = {"ALLUSION_ES_USER": "elastic", "ALLUSION_ES_PASSWORD": SECRET}
    done = run("kibana", "install", "--kibana", stand_in.url, **login)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{stand_in.url}/app/dashboards#/view/{DASHBOARD}\n"
    assert done.stderr == f"12 saved objects in Kibana 9.5.3 at {stand_in.url}\n"
    assert stand_in.objects["default"].keys() == KEYS


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        ({"authorization": "x"}, 10, "refuses the login (HTTP 401)"),
        ({"not_ready": 9}, 3, "is not ready yet"),
        ({"base": "/kibana"}, 10, "is not Kibana"),
        ({"errors": [{"type": "search", "id": "x", "error": {"type": "conflict"}}]}, 10, "'x'"),
    ],
)
def test_failures_of_the_command_are_one_line(
    run: Run, stand_in: StandIn, change: dict[str, Any], status: int, said: str
) -> None:
    stand_in.authorization = BASIC
    for name, value in change.items():
        setattr(stand_in, name, value)
    login = {"ALLUSION_ES_USER": "elastic", "ALLUSION_ES_PASSWORD": SECRET}
    done = run("kibana", "install", "--kibana", stand_in.url, **login)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (status, "", 1)
    assert said in done.stderr
    assert SECRET not in done.stderr


def test_the_command_needs_an_address(run: Run) -> None:
    done = run("kibana", "install")
    assert done.returncode == 2
    assert "--kibana" in done.stderr
