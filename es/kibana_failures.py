"""What Kibana answers when something is wrong, told in one line each."""

from collections.abc import Mapping
from typing import Any

from allusion_es.core.errors import AllusionError, ServerRefusedError, ServerUnavailableError
from allusion_es.es import address
from allusion_es.es.https import Reply
from allusion_es.es.readiness import is_between

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
