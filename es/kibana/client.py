"""Kibana's API for saved objects: check what is there, and import them.

Source: the routes `/api/status`, `/api/spaces/space/{id}` and `/api/saved_objects/_import` as
Kibana 8.11 to 9.x has them. Requests go through urllib3, with the same limits of time and size as
those to Elasticsearch, and certificates are always checked.
"""

import hashlib
import json
import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import urllib3
from urllib3 import exceptions

from allusion_es.core.errors import (
    AllusionError,
    ServerRefusedError,
    ServerUnavailableError,
    UsageError,
)
from allusion_es.es import address
from allusion_es.es.connection import TooLargeError, bounded_urlopen, until_ready
from allusion_es.es.errors import is_between, one_line, system_reason, too_large_failure
from allusion_es.es.kibana.objects import DASHBOARD, SavedObject, as_lines
from allusion_es.es.tls import needs_tls, speaks_http, tls_failure

URL = "ALLUSION_KIBANA_URL"
CA_CERTS = "ALLUSION_KIBANA_CA_CERTS"
FINGERPRINT = "ALLUSION_KIBANA_FINGERPRINT"

PORT = 5601
"""Port of Kibana where its URL names none."""

# Saved objects are those of 8.11, and Kibana refuses what is newer than itself.
OLDEST = (8, 11)
NEWEST_MAJOR = 9

# True answers have some kilobytes.
_MOST_BYTES = 50_000_000

# Kinds of errors of one object that keep Kibana from importing all others too.
_NOTHING_WRITTEN = frozenset({"conflict", "ambiguous_conflict", "missing_references"})

_SPACE = re.compile(r"[a-z0-9_-]{1,100}")


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of Kibana, or of whatever answers at its address.

    Attributes:
        status: HTTP status.
        media: Media type, or "" if there is none.
        body: The body.
        location: Where a redirection leads, or "".
    """

    status: int
    media: str
    body: bytes
    location: str = ""

    def json(self) -> object:
        """The body as a JSON value; None if it is not JSON.

        Example:
            >>> Reply(200, "application/json", b'{"a": 1}').json()
            {'a': 1}
        """
        try:
            value: object = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        return value


@dataclass(frozen=True, slots=True)
class Installed:
    """The result of an installation.

    Attributes:
        version: Kibana's version, or "" if it does not tell.
        objects: Number of installed objects.
        dashboard: URL of the dashboard.
    """

    version: str
    objects: int
    dashboard: str


class Kibana:
    """A Kibana server. Every failure is an `AllusionError` of one line that holds no secret.

    Args:
        url: Its URL, with its base path if it has one; this and the next five can come from the
            environment: `ALLUSION_KIBANA_URL`, `_CA_CERTS` and `_FINGERPRINT`, and the login
            that Elasticsearch has.
        ca_certs: File with the certificates of the authorities to trust.
        fingerprint: SHA-256 of the certificate to trust.
        api_key: An API key, as Elasticsearch shows it.
        user: A user's name.
        password: The user's password.
        space: Kibana's space to install in, "" for the default one.
        timeout: Seconds to wait for each answer.
        environment: Where to look the variables up.

    Attributes:
        url: Its URL for messages, without a login.

    Raises:
        UsageError: One of the arguments cannot be used.

    Example:
        >>> Kibana("me:secret@kibana.example.org", environment={}).url
        'http://kibana.example.org:5601'
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        ca_certs: str | None = None,
        fingerprint: str | None = None,
        api_key: str | None = None,
        user: str | None = None,
        password: str | None = None,
        space: str = "",
        timeout: float = 60.0,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        known = (address.API_KEY, address.USER, address.PASSWORD)
        url = url or environment.get(URL, "")
        if not url.strip() or "," in url:
            raise UsageError(f"give one URL of Kibana (or {URL})", argument="kibana")
        if not _SPACE.fullmatch(space or "default"):
            raise UsageError(
                f"give the space's identifier, as in its URL, not {space[:60]!r}", argument="space"
            )
        self._address = address.find_address(
            url,
            ca_certs=ca_certs or environment.get(CA_CERTS),
            fingerprint=fingerprint or environment.get(FINGERPRINT),
            api_key=api_key,
            user=user,
            password=password,
            port=PORT,
            argument="kibana",
            # Elasticsearch has certificates of its own.
            environment={name: environment[name] for name in known if name in environment},
        )
        self.url = self._address.shown
        self._space = "" if space == "default" else space
        self._timeout = timeout

    def version(self, wait: float = 0.0) -> str:
        """Check that Kibana can be used, and return its version, or "" if it does not tell.

        Args:
            wait: Seconds to go on trying while nothing answers or Kibana is starting.

        Raises:
            ServerUnavailableError: Nothing answers, not in time, or it is not ready.
            ServerRefusedError: Wrong login, product or version.
        """
        return until_ready(self._ready, wait)

    def install(self, objects: list[SavedObject], wait: float = 0.0) -> Installed:
        """Import objects into the space; those of an earlier import are overwritten.

        Args:
            objects: The result of `saved_objects`.
            wait: Seconds to go on trying, as for `version`.

        Raises:
            ServerUnavailableError, ServerRefusedError: As `version` raises; or Kibana does not
                import every object: the message names the first that it did not, and says why.
        """
        version = self.version(wait)
        self._check_space()
        data, media = _form(as_lines(objects))
        path = f"{self._prefix}/api/saved_objects/_import?overwrite=true"
        answer = self._call("POST", path, data, media)
        if failure := import_failure(answer, len(objects), self.url):
            raise self._address.login.without_secrets(failure)
        return Installed(version, len(objects), self._dashboard(answer))

    @property
    def _prefix(self) -> str:
        return f"/s/{self._space}" if self._space else ""

    def _ready(self) -> str:
        """Kibana's version, or an error if it cannot be used now."""
        reply = self._exchange("GET", "/api/status", b"", "")
        body = reply.json()
        # The answer describes Kibana even if its status is 503.
        status = body.get("status") if isinstance(body, dict) else None
        overall = status.get("overall") if isinstance(status, dict) else None
        level = overall.get("level") if isinstance(overall, dict) else None
        if not isinstance(body, dict) or not isinstance(level, str):
            # Some servers with TLS answer what comes without it.
            plain = needs_tls(self._address.urls[0]) if reply.status == 400 else None
            raise self._address.login.without_secrets(
                plain or reply_failure(reply, self.url, of_kibana=False)
            )
        version = body.get("version")
        number = str(version.get("number", "")) if isinstance(version, dict) else ""
        if number and (failure := unfit_version(number, self.url)):
            raise failure
        if reply.status == 503 or level in ("unavailable", "critical"):
            raise starting(self.url, level)
        return number

    def _check_space(self) -> None:
        """Raise an error if the space does not exist: Kibana would import into it all the same."""
        if not self._space:
            return
        reply = self._exchange("GET", f"/api/spaces/space/{self._space}", b"", "")
        if reply.status == 404:
            raise unknown_space(self._space, self.url)
        if reply.status != 200:
            raise self._address.login.without_secrets(reply_failure(reply, self.url))

    def _dashboard(self, answer: Mapping[str, Any]) -> str:
        """URL of the dashboard. If another space has its id, Kibana gives it another one here."""
        identifier = DASHBOARD
        results = answer.get("successResults")
        for result in results if isinstance(results, list) else ():
            if isinstance(result, dict) and result.get("id") == DASHBOARD:
                identifier = str(result.get("destinationId") or DASHBOARD)
        return f"{self.url}{self._prefix}/app/dashboards#/view/{identifier}"

    def _call(self, method: str, path: str, data: bytes, media: str) -> dict[str, Any]:
        reply = self._exchange(method, path, data, media)
        body = reply.json()
        if reply.status != 200 or not isinstance(body, dict):
            raise self._address.login.without_secrets(reply_failure(reply, self.url))
        return body

    def _exchange(self, method: str, path: str, data: bytes, media: str) -> Reply:
        headers = {"kbn-xsrf": "true", "accept": "application/json"}
        headers |= self._address.login.header()
        if media:
            headers["content-type"] = media
        return exchange(self._address, method, path, data, headers, self._timeout)


def exchange(
    server: address.Address,
    method: str,
    path: str,
    data: bytes,
    headers: dict[str, str],
    timeout: float,
) -> Reply:
    """Send a request to an address of one URL; redirections are not followed.

    Args:
        server: The address; its login is not used.
        method: HTTP method.
        path: Path below that of the address's URL.
        data: The body; none is sent if it is empty.
        headers: All headers but the host and the length.
        timeout: Seconds for the answer to begin, and as many for it to end.

    Raises:
        UsageError: Certificates are given for a URL without TLS, or cannot be read.
        ServerUnavailableError: Nothing answers, or not in time.
        ServerRefusedError: The certificate is not trusted, what answers does not speak HTTP, or
            its answer has no end.
    """
    with _pool(server) as pool:
        try:
            answer = bounded_urlopen(
                pool.urlopen,
                method,
                urlsplit(server.urls[0]).path + path,
                timeout,
                most=_MOST_BYTES,
                body=data or None,
                headers=headers,
                retries=False,
                redirect=False,
                # A small body could be inflated to one that fills the memory.
                decode_content=False,
            )
        except exceptions.HTTPError as error:
            raise _http_failure(error, server, timeout) from None
        except TooLargeError:
            raise too_large_failure(server.shown) from None
    media = answer.headers.get("content-type", "").split(";")[0].strip()
    return Reply(answer.status, media, answer.data, answer.headers.get("location", ""))


def _pool(server: address.Address) -> urllib3.HTTPConnectionPool:
    """A pool of connections that trusts the certificates of an address."""
    if not server.urls[0].startswith("https:"):
        if server.ca_certs or server.fingerprint:
            raise UsageError(f"{server.shown}: certificates need a URL with https://")
        return urllib3.connection_from_url(server.urls[0])
    try:
        context = ssl.create_default_context(cafile=server.ca_certs or None)
    except (OSError, ValueError) as error:
        raise UsageError(f"{server.ca_certs}: no certificates can be read ({error})") from None
    if not server.fingerprint:
        return urllib3.connection_from_url(server.urls[0], ssl_context=context)
    # Only this one certificate is trusted, whoever signed it: urllib3 compares its fingerprint
    # before it sends anything.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return urllib3.connection_from_url(
        server.urls[0], ssl_context=context, assert_fingerprint=server.fingerprint
    )


def _http_failure(
    error: exceptions.HTTPError, server: address.Address, timeout: float
) -> AllusionError:
    """The error for a request that got no answer."""
    url, asked = server.shown, server.urls[0]
    if isinstance(error, exceptions.SSLError) or (
        asked.startswith("https:") and speaks_http(asked)
    ):
        return tls_failure(error, asked, server.ca_certs, ("--ca-certs", "--fingerprint"))
    if failure := needs_tls(asked):
        return failure
    # urllib3 wraps the error of the socket or HTTP that it met; its own have texts instead.
    cause = next((each for each in error.args if isinstance(each, Exception)), None)
    # The oldest urllib3 has errors of new connections among those of time.
    unreached = isinstance(error, exceptions.NewConnectionError)
    if isinstance(error, exceptions.TimeoutError) and not unreached:
        return ServerUnavailableError(
            f"the server at {url} did not answer within {timeout:g} s; see whether it is "
            "overloaded, and try again"
        )
    if unreached or isinstance(cause, OSError):
        return ServerUnavailableError(
            f"no server answers at {url} ({system_reason(error)}); check the URL"
        )
    return ServerRefusedError(f"what answers at {url} does not speak HTTP; check the URL")


def _form(lines: bytes) -> tuple[bytes, str]:
    """Body and media type of a form with one file; Kibana wants a name that ends in `.ndjson`."""
    # The hash of the file cannot occur in the file itself.
    boundary = hashlib.sha256(lines).hexdigest()
    head = (
        f'--{boundary}\r\ncontent-disposition: form-data; name="file"; '
        'filename="allusion-es.ndjson"\r\ncontent-type: application/ndjson\r\n\r\n'
    )
    body = head.encode() + lines + f"\r\n--{boundary}--\r\n".encode()
    return body, f"multipart/form-data; boundary={boundary}"


def unfit_version(version: str, url: str) -> AllusionError | None:
    """The error for a Kibana of a version that cannot be used, or None if it can be used.

    Example:
        >>> unfit_version("9.5.3", "http://localhost:5601") is None
        True
    """
    if is_between(version, OLDEST, NEWEST_MAJOR):
        return None
    oldest = ".".join(map(str, OLDEST))
    return ServerRefusedError(
        f"Kibana {version[:40]} answers at {url}, but the saved objects are for {oldest} to "
        f"{NEWEST_MAJOR}.x; give the URL of one of these"
    )


def starting(url: str, level: str = "") -> AllusionError:
    """The error for a Kibana that is not ready."""
    said = f" ({level[:40]})" if level else ""
    return ServerUnavailableError(
        f"Kibana at {url} is not ready yet{said}; wait until it is, with --wait SECONDS"
    )


def unknown_space(space: str, url: str) -> AllusionError:
    """The error for a space that Kibana does not have."""
    return ServerRefusedError(
        f"Kibana at {url} has no space {space!r}; make it there, or leave out --space"
    )


def reply_failure(reply: Reply, url: str, of_kibana: bool = True) -> AllusionError:
    """The error for an answer that does not fit the request.

    Args:
        reply: The answer.
        url: Kibana's URL.
        of_kibana: True if the address is known to be Kibana's from an earlier answer.
    """
    body = reply.json()
    message = str(body.get("message", "")) if isinstance(body, dict) else ""
    reason = one_line(message)
    if reply.status in (401, 403):
        said = "refuses the login" if reply.status == 401 else f"does not permit this ({reason})"
        return ServerRefusedError(
            f"Kibana at {url} {said} (HTTP {reply.status}); set {address.USER} and "
            f"{address.PASSWORD}, or {address.API_KEY}"
        )
    if reply.status in (502, 503, 504):
        return starting(url)
    if reply.status == 413:
        return ServerRefusedError(f"{url} refuses so large a request (413); raise its limit")
    if reason and of_kibana:
        return ServerRefusedError(f"Kibana at {url} refuses (HTTP {reply.status}): {reason}")
    what = f"HTTP {reply.status}, {one_line(reply.media)[:60] or 'no content type'}"
    if reply.location:
        what += f", sent on to {one_line(reply.location)[:100]}"
    return ServerRefusedError(
        f"what answers at {url} is not Kibana ({what}); check the URL, and Kibana's base path"
    )


def import_failure(answer: Mapping[str, Any], expected: int, url: str) -> AllusionError | None:
    """The error for an import that left objects out, or None if it imported all.

    `successCount` is not enough: Kibana also counts objects that it did not write because of errors
    in others.

    Example:
        >>> import_failure({"success": True, "successCount": 2}, 2, "http://localhost:5601")
    """
    errors = [each for each in _list(answer.get("errors")) if isinstance(each, dict)]
    if answer.get("success") is True and answer.get("successCount") == expected and not errors:
        return None
    if not errors:
        return ServerRefusedError(
            f"Kibana at {url} took {one_line(str(answer.get('successCount')))[:20]} of {expected} "
            "saved objects and does not say why; see its log"
        )
    kinds = {_kind(each) for each in errors}
    rest = "nothing was imported" if kinds & _NOTHING_WRITTEN else "the others were imported"
    others = f", nor {len(errors) - 1} others" if len(errors) > 1 else ""
    first = errors[0]
    name = f"{one_line(str(first.get('type')))[:60]} {one_line(str(first.get('id')))[:100]!r}"
    return ServerRefusedError(
        f"Kibana at {url} did not take {name} ({_reason(first)}){others}; {rest}"
    )


def _reason(error: Mapping[str, Any]) -> str:
    """Why one object was not imported."""
    told = error.get("error")
    details = told if isinstance(told, dict) else {}
    kind = _kind(error)
    if kind == "missing_references":
        missing = [
            f"{each.get('type')} {each.get('id')!r}"
            for each in _list(details.get("references"))
            if isinstance(each, dict)
        ]
        return one_line(f"{kind}: {', '.join(missing)} is not there")
    if kind in ("conflict", "ambiguous_conflict"):
        return f"{kind}: another object is in its place; delete that one in Kibana"
    message = str(details.get("message") or "no reason given")
    return one_line(f"{kind or 'unknown'}: {message}")


def _kind(error: Mapping[str, Any]) -> str:
    """The type of the error of one object, or ""."""
    told = error.get("error")
    return one_line(str(told.get("type", "")))[:60] if isinstance(told, dict) else ""


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
