"""The annotation page as a web application: its files, the work to do, saving and undoing.

Each annotator has a URL with a token of their own. `web.guard.Guard` turns the token into the
annotator's `Assignment`, so that a request can only change what is assigned to its sender.
"""

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
    MarkConflictError,
    MarkRefusedError,
    Saved,
    mark_of,
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
"""File and media type of each path of the page; no other path is served."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """The instances that one annotator judges.

    Attributes:
        annotator: Name of the annotator.
        instances: The instances, in the order in which they are shown.
    """

    annotator: str
    instances: tuple[Instance, ...]


def application(
    store: Store,
    assignments: Mapping[str, Assignment],
    verses: Mapping[str, Passage],
    names: Sequence[str] = (),
) -> ASGIApp:
    """The page as an ASGI application.

    Args:
        store: Where annotations are kept; it holds all instances of `assignments`.
        assignments: The assignment of each annotator, by the token of the URL.
        verses: The passages that the instances' links name, by id.
        names: Host names of the server, besides `localhost`.
    """

    def give_work(request: Request) -> Response:
        assignment: Assignment = request.state.holder
        saved = store.saved(assignment.annotator)
        return JSONResponse(
            {
                "store": store.identifier,
                "annotator": assignment.annotator,
                "longest_comment": LONGEST_COMMENT,
                "instances": [
                    _instance_row(instance, verses) | _saved_row(saved.get(instance.id, Saved()))
                    for instance in assignment.instances
                ],
            }
        )

    async def save(request: Request) -> Response:
        body = await json_record(request)
        try:
            mark = mark_of(body.get("mark"))
        except ValueError as error:
            raise RefusedError(400, str(error)) from error

        def save_mark(instance: str, annotator: str, key: str, revision: int) -> Saved:
            return store.save(instance, annotator, mark, key, revision)

        return await _change(request, body, save_mark)

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
    return Guard(page, assignments, names)


def _file(request: Request) -> Response:
    name = request.path_params.get("name", "")
    if name not in _FILES:
        raise HTTPException(404, "there is no such page")
    file, media_type = _FILES[name]
    data = (files(__package__) / "pages" / file).read_bytes()
    return Response(data, media_type=media_type)


def _instance_row(instance: Instance, verses: Mapping[str, Passage]) -> dict[str, Any]:
    """An instance as the page's script takes it."""
    link = instance.link
    relevant = [verses[name] for name in link.relevant]
    return {
        "id": instance.id,
        "pieces": instance.pieces(),
        "own": instance.own,
        "anchor": instance.anchor,
        "work": link.work,
        "type": link.type,
        "translation": link.translation,
        "verses": [{"reference": verse.reference, "text": verse.text} for verse in relevant],
    }


def _saved_row(saved: Saved) -> dict[str, Any]:
    return {"saved": asdict(saved)}


async def _change(
    request: Request, record: Mapping[str, Any], change: Callable[[str, str, str, int], Saved]
) -> Response:
    """Change the store in the name of the annotator whose token the request has.

    Args:
        request: The request.
        record: Its JSON, with the fields `instance`, `key` and `revision`.
        change: Called with instance, annotator, key and revision.
    """
    assignment: Assignment = request.state.holder
    instance, key, revision = (record.get(name) for name in ("instance", "key", "revision"))
    if not isinstance(instance, str) or not isinstance(key, str):
        raise RefusedError(400, "fields 'instance' and 'key' must be strings")
    if type(revision) is not int:
        raise RefusedError(400, "field 'revision' must be a number")
    if instance not in {each.id for each in assignment.instances}:
        raise RefusedError(404, f"{instance[:40]!r} is not among your instances")
    # In a thread, since the store waits for the disk, and for other processes that write.
    saved = await run_in_threadpool(change, instance, assignment.annotator, key, revision)
    return JSONResponse(_saved_row(saved))


def _refused(request: Request, error: Exception) -> Response:
    """The answer to a request that failed: its status, and the error as JSON."""
    body: dict[str, Any] = {"error": str(error)}
    match error:
        case RefusedError():
            status = error.status
        case HTTPException():
            status, body = error.status_code, {"error": error.detail}
        case MarkConflictError():
            # The page shows what the store holds, so that the annotator can go on from there.
            status, body = 409, body | _saved_row(error.saved)
        case MarkRefusedError():
            status = 422
        case _:  # the store cannot be read or written now
            status = 503
    return JSONResponse(body, status)
