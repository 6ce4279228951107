"""Kibana's API for saved objects: are they there, and put them there.

Source: the routes `/api/status`, `/api/spaces/space/{id}` and `/api/saved_objects/_import` as
Kibana 8.11 to 9.x has them.
"""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from allusion_es.core.errors import (
    AllusionError,
    ServerRefusedError,
    ServerUnavailableError,
    UsageError,
)
from allusion_es.es import address
from allusion_es.es.kibana.https import Reply, exchange
from allusion_es.es.kibana.objects import DASHBOARD, SavedObject, as_lines
from allusion_es.es.readiness import is_between, until_ready
from allusion_es.es.tls import needs_tls

# What Kibana answers when something is wrong, told in one line each.


OLDEST = (8, 11)
NEWEST_MAJOR = 9

_MAX_REASON = 300
_NOTHING_WRITTEN = frozenset({"conflict", "ambiguous_conflict", "missing_references"})


def unfit_version(version: str, url: str) -> AllusionError | None:
    """Why a Kibana of this version cannot be used, or None if it can.

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
    """The error for an answer that is not what was asked for.

    Args:
        reply: The answer.
        url: Whose it is.
        of_kibana: Whether Kibana has answered there before.
    """
    body = reply.json()
    message = str(body.get("message", "")) if isinstance(body, dict) else ""
    reason = _one_line(message)
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
    what = f"HTTP {reply.status}, {_one_line(reply.media)[:60] or 'no content type'}"
    if reply.location:
        what += f", sent on to {_one_line(reply.location)[:100]}"
    return ServerRefusedError(
        f"what answers at {url} is not Kibana ({what}); check the URL, and Kibana's base path"
    )


def import_failure(answer: Mapping[str, Any], expected: int, url: str) -> AllusionError | None:
    """The error for an import that did not take every object, or None where it did.

    Kibana counts objects as taken that it did not write since others are wrong; so what counts
    is whether it says that all went well.

    Example:
        >>> import_failure({"success": True, "successCount": 2}, 2, "http://localhost:5601")
    """
    errors = [each for each in _list(answer.get("errors")) if isinstance(each, dict)]
    if answer.get("success") is True and answer.get("successCount") == expected and not errors:
        return None
    if not errors:
        return ServerRefusedError(
            f"Kibana at {url} took {_one_line(str(answer.get('successCount')))[:20]} of {expected} "
            "saved objects and does not say why; see its log"
        )
    kinds = {_kind(each) for each in errors}
    rest = "nothing was imported" if kinds & _NOTHING_WRITTEN else "the others were imported"
    others = f", nor {len(errors) - 1} others" if len(errors) > 1 else ""
    first = errors[0]
    name = f"{_one_line(str(first.get('type')))[:60]} {_one_line(str(first.get('id')))[:100]!r}"
    return ServerRefusedError(
        f"Kibana at {url} did not take {name} ({_reason(first)}){others}; {rest}"
    )


def _reason(error: Mapping[str, Any]) -> str:
    told = error.get("error")
    details = told if isinstance(told, dict) else {}
    kind = _kind(error)
    if kind == "missing_references":
        missing = [
            f"{each.get('type')} {each.get('id')!r}"
            for each in _list(details.get("references"))
            if isinstance(each, dict)
        ]
        return _one_line(f"{kind}: {', '.join(missing)} is not there")
    if kind in ("conflict", "ambiguous_conflict"):
        return f"{kind}: another object is in its place; delete that one in Kibana"
    message = str(details.get("message") or "no reason given")
    return _one_line(f"{kind or 'unknown'}: {message}")


def _kind(error: Mapping[str, Any]) -> str:
    told = error.get("error")
    return _one_line(str(told.get("type", "")))[:60] if isinstance(told, dict) else ""


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_REASON else line[: _MAX_REASON - 1] + "…"


URL = "ALLUSION_KIBANA_URL"
CA_CERTS = "ALLUSION_KIBANA_CA_CERTS"
FINGERPRINT = "ALLUSION_KIBANA_FINGERPRINT"

PORT = 5601

_SPACE = re.compile(r"[a-z0-9_-]{1,100}")


@dataclass(frozen=True, slots=True)
class Installed:
    """What was put into Kibana.

    Attributes:
        version: Kibana's version, "" where it does not tell.
        objects: How many objects there are.
        dashboard: The dashboard's address.
    """

    version: str
    objects: int
    dashboard: str


class Kibana:
    """A Kibana server; every failure is an `AllusionError` of one line, and holds no secret.

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
        url: Its URL, fit for messages.

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
            raise UsageError(f"give one URL of Kibana (--kibana or {URL})")
        if not _SPACE.fullmatch(space or "default"):
            raise UsageError(f"--space {space[:60]!r}: give the space's identifier, as in its URL")
        self._address = address.find_address(
            url,
            ca_certs=ca_certs or environment.get(CA_CERTS),
            fingerprint=fingerprint or environment.get(FINGERPRINT),
            api_key=api_key,
            user=user,
            password=password,
            port=PORT,
            # Elasticsearch has certificates of its own.
            environment={name: environment[name] for name in known if name in environment},
        )
        self.url = self._address.shown
        self._space = "" if space == "default" else space
        self._timeout = timeout

    def version(self, wait: float = 0.0) -> str:
        """Its version, "" where it does not tell; it can be used.

        Args:
            wait: Seconds to go on trying while nothing answers or Kibana is starting.

        Raises:
            ServerUnavailableError: Nothing answers, not in time, or it is not ready.
            ServerRefusedError: Wrong login, product or version.
        """
        return until_ready(self._ready, wait)

    def install(self, objects: list[SavedObject], wait: float = 0.0) -> Installed:
        """Put objects into the space; those that are there are overwritten.

        Args:
            objects: From `kibana_objects.saved_objects`.
            wait: As for `version`.

        Raises:
            ServerUnavailableError, ServerRefusedError: As for `version`; or Kibana does not take
                all objects: the message names the first that it did not take, and says why.
        """
        version = self.version(wait)
        self._check_space()
        data, media = _form(as_lines(objects))
        path = f"{self._prefix}/api/saved_objects/_import?overwrite=true"
        answer = self._call("POST", path, data, media)
        if failure := import_failure(answer, len(objects), self.url):
            raise self._scrubbed(failure)
        return Installed(version, len(objects), self._dashboard(answer))

    @property
    def _prefix(self) -> str:
        return f"/s/{self._space}" if self._space else ""

    def _ready(self) -> str:
        reply = self._exchange("GET", "/api/status", b"", "")
        body = reply.json()
        # It tells of itself even where it answers 503.
        status = body.get("status") if isinstance(body, dict) else None
        overall = status.get("overall") if isinstance(status, dict) else None
        level = overall.get("level") if isinstance(overall, dict) else None
        if not isinstance(body, dict) or not isinstance(level, str):
            # Some servers with TLS answer what comes without it.
            plain = needs_tls(self._address.urls[0]) if reply.status == 400 else None
            raise self._scrubbed(plain or reply_failure(reply, self.url, of_kibana=False))
        version = body.get("version")
        number = str(version.get("number", "")) if isinstance(version, dict) else ""
        if number and (failure := unfit_version(number, self.url)):
            raise failure
        if reply.status == 503 or level in ("unavailable", "critical"):
            raise starting(self.url, level)
        return number

    def _check_space(self) -> None:
        """Importing into a space that does not exist would put the objects out of reach."""
        if not self._space:
            return
        reply = self._exchange("GET", f"/api/spaces/space/{self._space}", b"", "")
        if reply.status == 404:
            raise unknown_space(self._space, self.url)
        if reply.status != 200:
            raise self._scrubbed(reply_failure(reply, self.url))

    def _dashboard(self, answer: Mapping[str, Any]) -> str:
        """Its address; an object that another space has already gets another id."""
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
            raise self._scrubbed(reply_failure(reply, self.url))
        return body

    def _exchange(self, method: str, path: str, data: bytes, media: str) -> Reply:
        headers = {"kbn-xsrf": "true", "accept": "application/json"}
        headers |= self._address.login.header()
        if media:
            headers["content-type"] = media
        one = replace(self._address, urls=self._address.urls[:1])
        return exchange(one, method, path, data, headers, self._timeout)

    def _scrubbed(self, failure: AllusionError) -> AllusionError:
        text = str(failure)
        for secret in self._address.login.secrets():
            text = text.replace(secret, "***")
        return type(failure)(text)


def _form(lines: bytes) -> tuple[bytes, str]:
    """The body and media type of a form with one file; its name tells Kibana what it is."""
    boundary = hashlib.sha256(lines).hexdigest()
    head = (
        f'--{boundary}\r\ncontent-disposition: form-data; name="file"; '
        'filename="allusion-es.ndjson"\r\ncontent-type: application/ndjson\r\n\r\n'
    )
    body = head.encode() + lines + f"\r\n--{boundary}--\r\n".encode()
    return body, f"multipart/form-data; boundary={boundary}"
