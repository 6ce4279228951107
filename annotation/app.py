"""The annotation page: what its server answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from allusion_es.annotation.marks import (
    LONGEST_COMMENT,
    Mark,
    MarkConflictError,
    MarkRefusedError,
    Saved,
)
from allusion_es.annotation.store import Store
from allusion_es.annotation.tasks import Instance
from allusion_es.core.errors import AllusionError
from allusion_es.corpora.passage import Passage
from allusion_es.web.guard import Guard, RefusedError, json_record

_FILES = {
    "": ("annotate.html", "text/html"),
    "annotate.css": ("annotate.css", "text/css"),
    "annotate.js": ("annotate.js", "text/javascript"),
    "saving.js": ("saving.js", "text/javascript"),
}
_TYPES: dict[str, tuple[type, ...]] = {
    "start": (int, type(None)),
    "end": (int, type(None)),
    "doubt": (bool,),
    "skipped": (bool,),
    "comment": (str,),
}


@dataclass(frozen=True, slots=True)
class Work:
    """What one annotator has to do.

    Attributes:
        annotator: Who.
        instances: What is shown, in this order.
    """

    annotator: str
    instances: tuple[Instance, ...]


def application(
    store: Store,
    work: Mapping[str, Work],
    verses: Mapping[str, Passage],
    names: Sequence[str] = (),
) -> ASGIApp:
    """The page as an ASGI application.

    Args:
        store: Where annotations go; it holds all instances of `work`.
        work: What there is to do, by the token of the URL.
        verses: The passages that the instances' links name, by id.
        names: Host names of the server, besides `localhost`.
    """

    def give_work(request: Request) -> Response:
        mine: Work = request.state.holder
        saved = store.saved(mine.annotator)
        return JSONResponse(
            {
                "store": store.identifier,
                "annotator": mine.annotator,
                "longest_comment": LONGEST_COMMENT,
                "instances": [
                    _shown(instance, verses) | _told(saved.get(instance.id, Saved()))
                    for instance in mine.instances
                ],
            }
        )

    async def save(request: Request) -> Response:
        body = await json_record(request)
        mark = _mark(body.get("mark"))

        def make(instance: str, annotator: str, key: str, revision: int) -> Saved:
            return store.save(instance, annotator, mark, key, revision)

        return await _change(request, body, make)

    async def undo(request: Request) -> Response:
        return await _change(request, await json_record(request), store.undo)

    page = Starlette(
        routes=[
            Route("/api/work", give_work),
            Route("/api/save", save, methods=["POST"]),
            Route("/api/undo", undo, methods=["POST"]),
            Route("/{name}", _file),
            Route("/", _file),
        ],
        exception_handlers={
            error: _refused for error in (RefusedError, AllusionError, HTTPException)
        },
    )
    return Guard(page, work, names)


def _file(request: Request) -> Response:
    name = request.path_params.get("name", "")
    if name not in _FILES:
        raise HTTPException(404, "there is no such page")
    file, kind = _FILES[name]
    return Response((files(__package__) / "pages" / file).read_bytes(), media_type=kind)


def _shown(instance: Instance, verses: Mapping[str, Passage]) -> dict[str, Any]:
    link = instance.link
    found = [verses[name] for name in link.relevant]
    return {
        "id": instance.id,
        "pieces": instance.pieces(),
        "anchor": instance.anchor,
        "has_anchor": instance.has_anchor,
        "work": link.work,
        "type": link.type,
        "translation": link.translation,
        "verses": [{"reference": verse.reference, "text": verse.text} for verse in found],
    }


def _told(saved: Saved) -> dict[str, Any]:
    return {"saved": asdict(saved)}


def _mark(record: object) -> Mark:
    if not isinstance(record, dict) or set(record) - set(_TYPES):
        raise RefusedError(400, f"field 'mark' must be an object with {', '.join(_TYPES)}")
    for name, value in record.items():
        # type(), since True is an int too.
        if type(value) not in _TYPES[name]:
            raise RefusedError(400, f"field {name!r} cannot be {value!r:.40}")
    return Mark(**record)


async def _change(
    request: Request, record: Mapping[str, Any], make: Callable[[str, str, str, int], Saved]
) -> Response:
    """Have the store make a change, for the annotator whose token it is."""
    mine: Work = request.state.holder
    instance, key, revision = (record.get(name) for name in ("instance", "key", "revision"))
    if not isinstance(instance, str) or not isinstance(key, str):
        raise RefusedError(400, "fields 'instance' and 'key' must be strings")
    if type(revision) is not int:
        raise RefusedError(400, "field 'revision' must be a number")
    if instance not in {each.id for each in mine.instances}:
        raise RefusedError(404, f"{instance[:40]!r} is not among your instances")
    saved = await run_in_threadpool(make, instance, mine.annotator, key, revision)
    return JSONResponse(_told(saved))


def _refused(request: Request, error: Exception) -> Response:
    told: dict[str, Any] = {"error": str(error)}
    match error:
        case RefusedError():
            status = error.status
        case HTTPException():
            status, told = error.status_code, {"error": error.detail}
        case MarkConflictError():
            status, told = 409, told | _told(error.saved)
        case MarkRefusedError():
            status = 422
        case _:  # the store cannot be read or written now
            status = 503
    return JSONResponse(told, status)
