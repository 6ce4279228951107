"""Errors of Elasticsearch, as exceptions of one line each, and which of them are transient.

Elasticsearch reports failures in four places: the HTTP status, an `error` object, the `error` of
one search or one document among several, and `_shards.failures` of an answer with status 200. The
functions here read all four, so that the rest of the package asks for the exception to raise.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from elastic_transport import ConnectionError as TransportConnectionError
from elastic_transport import ConnectionTimeout, SerializationError, TlsError, TransportError

from allusion_es.core.characters import shorten
from allusion_es.core.errors import (
    AllusionError,
    IndexMissingError,
    ServerRefusedError,
    ServerUnavailableError,
)
from allusion_es.es import address, tls

OLDEST = (8, 13)
"""Oldest server that is supported: the first that can search vectors exactly (`flat`)."""

NEWEST_MAJOR = 9
START = "start one with 'docker compose up --wait', or give another URL"

# Some reasons quote whole documents; a message must stay one readable line.
_MAX_REASON = 300
_BUSY = frozenset({502, 503, 504})

_TRANSIENT = frozenset(
    {
        "connect_transport_exception",
        "es_rejected_execution_exception",
        "node_closed_exception",
        "node_disconnected_exception",
        "node_not_connected_exception",
    }
)
"""Types of errors that say that a node left the cluster or was too busy."""


class RequestTooLargeError(ServerRefusedError):
    """A request has more bytes than the server, or something before it, takes."""


def is_between(version: str, oldest: tuple[int, int], newest_major: int) -> bool:
    """True if a version is at least `oldest` and its major at most `newest_major`.

    Example:
        >>> is_between("9.5.3", (8, 13), 9), is_between("8.9.0-SNAPSHOT", (8, 13), 9)
        (True, False)
        >>> is_between("unknown", (8, 13), 9)
        False
    """
    numbers = tuple(int(part) for part in version.split("-")[0].split(".")[:2] if part.isdigit())
    return numbers >= oldest and numbers[0] <= newest_major


def version_failure(version: str, client: str, url: str) -> AllusionError | None:
    """The error for a server of a version that cannot be used, or None if it can be used.

    Args:
        version: The server's version.
        client: The version of the installed Elasticsearch client, for the message.
        url: The server's URL, for the message.

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
    error: TransportError,
    url: str,
    timeout: float,
    urls: Sequence[str] = (),
    ca_certs: str | None = None,
) -> AllusionError:
    """The error for a request that got no answer.

    Args:
        error: The error of the client's transport.
        url: All URLs, fit for messages.
        timeout: Seconds that were waited.
        urls: The URLs one by one, without logins: they are asked whether TLS is what is wrong.
        ca_certs: The file of authorities that was given, if any.
    """
    if isinstance(error, TlsError):
        return _tls_failure(error, url, urls, ca_certs)
    if isinstance(error, (TransportConnectionError, ConnectionTimeout)):
        for each in urls:
            if each.startswith("https:") and tls.speaks_http(each):
                return _tls_failure(error, each, (each,), ca_certs)
            if failure := tls.needs_tls(each):
                return failure
    if isinstance(error, ConnectionTimeout):
        return ServerUnavailableError(
            f"the Elasticsearch server at {url} did not answer within {timeout:g} s; "
            f"see whether it is overloaded, or {START}"
        )
    if isinstance(error, SerializationError):
        return _wrong_product(url, "its answer is not JSON")
    return ServerUnavailableError(
        f"no Elasticsearch server answers at {url} ({system_reason(error)}); {START}"
    )


def answer_failure(
    status: int, headers: Mapping[str, str], body: object, url: str
) -> AllusionError | None:
    """The error that an HTTP answer stands for; None if Elasticsearch sent it and it is good."""
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
    """True if an index or cluster is blocked for writing, which no retry changes.

    A full disk or a read-only setting causes such blocks. The block that a cluster without a master
    sets (status 503) goes away by itself, so it does not count.
    """
    return status != 503 and reason_of(body)[0] == "cluster_block_exception"


def too_large_failure(url: str) -> AllusionError:
    """The error for an answer of more bytes than this program accepts."""
    return ServerRefusedError(
        f"what answers at {url} sends more than any answer can have; check the URL"
    )


def search_failure(answer: Mapping[str, Any], url: str) -> AllusionError | None:
    """The error of one search among several (`_msearch`), or None if it succeeded."""
    if not answer.get("error"):
        return None
    status = answer.get("status")
    status = status if isinstance(status, int) else 500
    return answer_failure(status, {"x-elastic-product": "Elasticsearch"}, answer, url)


def reason_of(body: object) -> tuple[str, str]:
    """Type and reason of the error in an answer, in one line; "" for what the answer lacks.

    The deepest cause is the one that explains: outer ones only say that all shards failed.

    Example:
        >>> reason_of({"error": {"type": "x_exception", "reason": "no  room"}})
        ('x_exception', 'no room')
    """
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return "", one_line(error) if isinstance(error, str) else ""
    causes = error.get("root_cause")
    first = causes[0] if isinstance(causes, list) and causes else None
    deepest = first if isinstance(first, dict) else error
    reason = str(deepest.get("reason") or "")
    while isinstance(deepest.get("caused_by"), dict):
        deepest = deepest["caused_by"]
        reason += f": {deepest.get('reason', '')}"
    return str(error.get("type", "")), one_line(reason)


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


def system_reason(error: BaseException) -> str:
    """The operating system's message, which libraries wrap in several exceptions."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.strerror:
            return one_line(seen.strerror)
        seen = seen.__cause__ or seen.__context__
    return "connection failed"


def one_line(text: str) -> str:
    """A text of a server on one line, cut where it is too long for a message."""
    return shorten(" ".join(text.split()), _MAX_REASON)


def is_transient(answer: object) -> bool:
    """True if an answer of status 200 has a transient failure, so the request may be retried.

    When a node leaves while a search runs, Elasticsearch answers 200 and reports failed shards: it
    does not try another copy once it has chosen one. A moment later it knows that the node is
    gone, and uses another copy, or reports that there is none.

    Args:
        answer: The answer to a search, to several (`responses`), to a request for documents
            (`docs`), or to any other request, which has no such failures.

    Example:
        >>> failed = {"reason": {"type": "node_disconnected_exception"}}
        >>> is_transient({"_shards": {"total": 3, "successful": 2, "failures": [failed]}})
        True
        >>> is_transient({"_shards": {"total": 3, "successful": 3}})
        False
    """
    if not isinstance(answer, dict):
        return False
    parts = [answer, *_objects(answer.get("responses")), *_objects(answer.get("docs"))]
    return any(kind in _TRANSIENT for part in parts for kind in _kinds(part))


def _kinds(part: dict[str, Any]) -> Iterator[str]:
    """The types of all errors in an answer or in one of its parts."""
    shards, error = part.get("_shards"), part.get("error")
    if isinstance(shards, dict):
        for failed in _objects(shards.get("failures")):
            yield from _types(failed.get("reason"))
    if isinstance(error, dict):
        yield from _types(error)
        for cause in _objects(error.get("root_cause")):
            yield from _types(cause)
        for failed in _objects(error.get("failed_shards")):
            yield from _types(failed.get("reason"))


def _types(error: object) -> Iterator[str]:
    if isinstance(error, dict) and isinstance(error.get("type"), str):
        yield error["type"]


def _objects(values: object) -> Iterator[dict[str, Any]]:
    """The JSON objects in a list; nothing if it is no list."""
    for value in values if isinstance(values, list) else ():
        if isinstance(value, dict):
            yield value
