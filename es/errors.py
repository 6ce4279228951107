"""What servers and networks answer when something is wrong, told in one line each."""

from collections.abc import Mapping, Sequence
from typing import Any

from allusion_es.core.errors import (
    AllusionError,
    IndexMissingError,
    ServerRefusedError,
    ServerUnavailableError,
)
from allusion_es.es import address, tls
from allusion_es.es.readiness import is_between

OLDEST = (8, 13)
NEWEST_MAJOR = 9
START = "start one with 'docker compose up --wait', or give another URL"

_MAX_REASON = 300
_BUSY = frozenset({502, 503, 504})


class RequestTooLargeError(ServerRefusedError):
    """A request has more bytes than the server, or something before it, takes."""


def version_failure(version: str, client: str, url: str) -> AllusionError | None:
    """Why a server of this version cannot be used, or None if it can.

    Example:
        >>> version_failure("9.5.3", "9.5.1", "http://localhost:9200") is None
        True
    """
    if is_between(version, OLDEST, NEWEST_MAJOR):
        return None
    oldest = ".".join(map(str, OLDEST))
    return ServerRefusedError(
        f"Elasticsearch {version[:40]} answers at {url}, but this program (with client {client}) "
        f"works with {oldest} to {NEWEST_MAJOR}.x; {START}"
    )


def network_failure(
    error: Exception,
    url: str,
    timeout: float,
    urls: Sequence[str] = (),
    ca_certs: str | None = None,
) -> AllusionError:
    """The error for a request that got no answer.

    Args:
        error: What the client raised.
        url: All URLs, fit for messages.
        timeout: How long it waited, in seconds.
        urls: The URLs one by one, without logins: they are asked whether TLS is what is wrong.
        ca_certs: The file of authorities that was given, if any.
    """
    kind = type(error).__name__
    if kind == "TlsError":
        return _tls_failure(error, url, urls, ca_certs)
    if kind in ("ConnectionError", "ConnectionTimeout"):
        for each in urls:
            if each.startswith("https:") and tls.speaks_http(each):
                return _tls_failure(error, each, (each,), ca_certs)
            if failure := tls.needs_tls(each):
                return failure
    if kind == "ConnectionTimeout":
        return ServerUnavailableError(
            f"the Elasticsearch server at {url} did not answer within {timeout:g} s; "
            f"see whether it is overloaded, or {START}"
        )
    if kind == "SerializationError":
        return _wrong_product(url, "its answer is not JSON")
    return ServerUnavailableError(
        f"no Elasticsearch server answers at {url} ({_system_reason(error)}); {START}"
    )


def answer_failure(
    status: int, headers: Mapping[str, str], body: object, url: str
) -> AllusionError | None:
    """The error for an answer, or None where it is one of Elasticsearch's and all is well."""
    kind, reason = reason_of(body)
    if status in (401, 403) and kind != "cluster_block_exception":
        return _login_failure(status, reason if status == 403 else "", url)
    if status in _BUSY:
        return ServerUnavailableError(
            f"the Elasticsearch server at {url} is not ready (HTTP {status}"
            f"{': ' + reason if reason else ''}); wait until it is, or {START}"
        )
    if status == 413:
        return RequestTooLargeError(f"{url} refuses so large a request (413); give less at once")
    if 300 <= status < 400:
        return ServerRefusedError(
            f"{url} sends requests elsewhere (HTTP {status}); give the URL of Elasticsearch itself"
        )
    # Some of Elasticsearch's errors lack its header, but none a type.
    known = headers.get("x-elastic-product") == "Elasticsearch" or (status >= 400 and kind)
    if not known or not isinstance(body, dict):
        media = headers.get("content-type", "no content type").split(";")[0][:60]
        return _wrong_product(url, f"HTTP {status}, {media}")
    if 200 <= status < 300:
        return None
    if kind == "cluster_block_exception":
        return ServerRefusedError(
            f"{url} does not let anything be written: {reason}; free disk space or lift the block"
        )
    if status == 404:
        return IndexMissingError(f"{url}: {reason or 'not found'}")
    if status == 429:
        return ServerRefusedError(f"{url} is overloaded (429: {reason}); try again later")
    return ServerRefusedError(f"{url} refuses the request (HTTP {status}, {kind}): {reason}")


def is_lock(status: int, body: object) -> bool:
    """Whether a write met a lock, which no retrying opens; that of a missing master is none."""
    return status != 503 and reason_of(body)[0] == "cluster_block_exception"


def too_large_failure(url: str) -> AllusionError:
    """The error for an answer that is larger than any can be."""
    return ServerRefusedError(
        f"what answers at {url} sends more than any answer can have; check the URL"
    )


def search_failure(answer: Mapping[str, Any], url: str) -> AllusionError | None:
    """The error for one of several searches that failed as a whole, or None."""
    if not answer.get("error"):
        return None
    status = answer.get("status")
    status = status if isinstance(status, int) else 500
    return answer_failure(status, {"x-elastic-product": "Elasticsearch"}, answer, url)


def reason_of(body: object) -> tuple[str, str]:
    """Type and reason of the error in an answer, as far as it tells them, in one line.

    Example:
        >>> reason_of({"error": {"type": "x_exception", "reason": "no  room"}})
        ('x_exception', 'no room')
    """
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return "", _one_line(error) if isinstance(error, str) else ""
    causes = error.get("root_cause")
    first = causes[0] if isinstance(causes, list) and causes else None
    deepest = first if isinstance(first, dict) else error
    reason = str(deepest.get("reason") or "")
    while isinstance(deepest.get("caused_by"), dict):
        deepest = deepest["caused_by"]
        reason += f": {deepest.get('reason', '')}"
    return str(error.get("type", "")), _one_line(reason)


def _login_failure(status: int, reason: str, url: str) -> AllusionError:
    said = "refuses the login" if status == 401 else f"does not permit this ({reason})"
    return ServerRefusedError(
        f"{url} {said} (HTTP {status}); set {address.USER} and {address.PASSWORD}, or "
        f"{address.API_KEY}"
    )


def _tls_failure(
    error: Exception, url: str, urls: Sequence[str], ca_certs: str | None
) -> AllusionError:
    cause: BaseException = error
    if len(urls) > 1 and (found := tls.failing(urls, ca_certs)):
        url, cause = found
    return tls.tls_failure(cause, url, ca_certs, (address.CA_CERTS, address.FINGERPRINT))


def _wrong_product(url: str, what: str) -> AllusionError:
    return ServerRefusedError(f"what answers at {url} is not Elasticsearch ({what}); check the URL")


def _system_reason(error: BaseException) -> str:
    """What the operating system said, which libraries wrap several times."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.strerror:
            return _one_line(seen.strerror)
        seen = seen.__cause__ or seen.__context__
    return "connection failed"


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_REASON else line[: _MAX_REASON - 1] + "…"
