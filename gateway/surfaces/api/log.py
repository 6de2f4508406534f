"""GET /log/...: the log for outsiders as C2SP tlog-tiles: checkpoint, tiles, entry bundles.

Auditors may read it, or everybody if `COUNTERSIGN_LEDGER__TILES` is `public`. Bundles show which
decisions and accounts there are, and when, but never a payload. A caller's reads are recorded once
an hour: a record for each file would make the log grow by being read.

HEAD is answered too: mirroring tools ask for a file's length first.

Source: https://c2sp.org/tlog-tiles
"""

import gzip
import re
from typing import Annotated, Final

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.security import HTTPAuthorizationCredentials

from gateway.desk.intake.reads import HOUR_S
from gateway.evidence.publication.published import LogFiles
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.access.bearer import Door, bearer, by_key

router = APIRouter(prefix="/log", tags=["log"])
FOR_EVER: Final = "max-age=31536000, immutable"
BRIEFLY: Final = "no-cache"
_REFUSED: Final = re.compile(r"q=0(\.0{0,3})?")


class LogReader(Door):
    """The door of the log's files."""

    async def __call__(
        self,
        request: Request,
        credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
    ) -> Caller | None:
        """Return who reads, or None if everybody may."""
        log: LogFiles | None = request.app.state.log
        if log is not None and log.public:
            return None
        return by_key(request, credentials, self.action)


reader_of: Final = LogReader("mirror")


@router.head("/checkpoint", include_in_schema=False)
@router.get("/checkpoint", summary="The newest checkpoint, with its cosignatures")
def checkpoint(request: Request, caller: Annotated[Caller | None, Depends(reader_of)]) -> Response:
    """Return the signed note of the published tree."""
    _noted(request, caller)
    shown = _files(request).shown()
    if shown is None:
        raise _nothing()
    return Response(
        shown[1],
        headers={"Content-Type": "text/plain; charset=utf-8", "Cache-Control": BRIEFLY},
    )


@router.head("/{path:path}", include_in_schema=False)
@router.get("/{path:path}", summary="A tile (tile/L/N[.p/W]) or an entry bundle (tile/entries/N)")
def tile(
    path: str, request: Request, caller: Annotated[Caller | None, Depends(reader_of)]
) -> Response:
    """Return a tile's hashes or a bundle's record headers, which never change."""
    found = _files(request).resource(path)
    if found is None:
        raise _nothing()
    _noted(request, caller)
    place, data = found
    headers = {
        "Content-Type": "application/octet-stream",
        "Cache-Control": f"{'public' if caller is None else 'private'}, {FOR_EVER}",
        "X-Content-Type-Options": "nosniff",
    }
    if place.level is None:
        headers["Vary"] = "Accept-Encoding"
        if _takes_gzip(request.headers.get("Accept-Encoding", "")):
            headers["Content-Encoding"] = "gzip"
            data = gzip.compress(data, 6, mtime=0)
    return Response(data, headers=headers)


def _takes_gzip(accepted: str) -> bool:
    """Return whether a caller names gzip without refusing it (RFC 9110, section 12.4.2)."""
    for part in accepted.lower().replace(" ", "").split(","):
        coding, _, weight = part.partition(";")
        if coding == "gzip":
            return _REFUSED.fullmatch(weight) is None
    return False


def _files(request: Request) -> LogFiles:
    log: LogFiles | None = request.app.state.log
    if log is None:
        raise _nothing()
    return log


def _noted(request: Request, caller: Caller | None) -> None:
    if caller is not None:
        request.app.state.desk.reads.note(caller, "log", window_s=HOUR_S)


def _nothing() -> HTTPException:
    return HTTPException(404, detail={"code": "not_there", "message": "the log has no such file"})
