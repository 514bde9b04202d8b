"""The frames that a worker reads and writes, as specified in Docs/Worker.md."""

import json
import struct
from dataclasses import dataclass, field
from enum import IntEnum

VERSION = 1
_HEAD = struct.Struct("<IQBB")
_LENGTH = struct.Struct("<I")
_RANGE = struct.Struct("<IQQ")
_ANSWER = struct.Struct("<QBBqq")
_RANGE_BIT = 1 << 31


class ProtocolError(Exception):
    """The bytes are not an answer of the protocol."""


class Operation(IntEnum):
    """The operation of a request."""

    VERIFY = 1
    UPGRADE = 2
    CONVERT = 3
    MERGE = 4
    STAMP = 5


class Outcome(IntEnum):
    """The outcome of a request. Values from 32 on are failures.

    The driver adds `CRASHED` and `HUNG` for a request that ends the worker or gets no answer.
    """

    INTACT = 1
    CURRENT = 2
    UPGRADED = 3
    CONVERTED = 4
    MERGED = 5
    CONFLICTS = 6
    READ = 7
    DAMAGED = 32
    REFUSED = 33
    UNSUPPORTED = 34
    UNKNOWN = 35
    UNREADABLE = 36
    INVALID = 37
    CRASHED = 64
    HUNG = 65

    @property
    def word(self) -> str:
        """The outcome in manifests and reports."""
        return self.name.lower()


FAILURES = [outcome.word for outcome in Outcome if outcome >= Outcome.DAMAGED]
_NEW = range(Outcome.UPGRADED, Outcome.READ)  # The outcomes with a new archive.


@dataclass(slots=True, frozen=True)
class Range:
    """A range of a file or of an address, which the worker reads itself."""

    location: str
    offset: int
    length: int


Part = bytes | memoryview | Range


@dataclass(slots=True, frozen=True)
class Request:
    """A request. Its answer repeats the number."""

    number: int
    operation: Operation
    parts: tuple[Part, ...]


@dataclass(slots=True)
class Answer:
    """An answer. `archive` is None if the outcome has no new archive."""

    number: int
    outcome: Outcome
    archive: bytes | None = None
    type_name: str = ""
    version_from: int | None = None
    version_to: int | None = None
    details: dict[str, object] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether the outcome is a failure."""
        return self.outcome >= Outcome.DAMAGED

    @property
    def code(self) -> str:
        """The code of the error, or an empty text."""
        return str(self.details.get("code", ""))

    @property
    def message(self) -> str:
        """The message of the error, with the path of the value at fault, or an empty text."""
        message, path = str(self.details.get("message", "")), self.details.get("path")
        return f"{message} (at {path})" if path else message


def refusal(outcome: Outcome, message: str, code: str = "", number: int = 0) -> Answer:
    """Returns an answer of the driver itself."""
    details: dict[str, object] = {"code": code or outcome.word, "message": message}
    return Answer(number, outcome, details=details)


def encode(request: Request) -> tuple[int, list[bytes | memoryview]]:
    """Returns the length of the request's frame without its prefix, and its bytes as buffers."""
    buffers: list[bytes | memoryview] = [b""]
    length = 10
    for part in request.parts:
        if isinstance(part, Range):
            path = part.location.encode()
            head = _RANGE.pack((16 + len(path)) | _RANGE_BIT, part.offset, part.length)
            buffers += (head, path)
            length += len(head) + len(path)
        else:
            size = part.nbytes if isinstance(part, memoryview) else len(part)
            buffers += (_LENGTH.pack(size & (_RANGE_BIT - 1)), part)
            length += 4 + size
    prefix = length & 0xFFFF_FFFF  # A longer frame exceeds every limit and is never sent.
    buffers[0] = _HEAD.pack(prefix, request.number, request.operation, len(request.parts))
    return length, buffers


def decode(frame: memoryview) -> Answer:
    """Decodes an answer from the bytes that follow the length of its frame.

    Raises: `ProtocolError` if they are not an answer.
    """
    try:
        number, outcome, count, before, after = _ANSWER.unpack_from(frame)
        offset = _ANSWER.size
        parts = []
        for _ in range(count):
            (size,) = _LENGTH.unpack_from(frame, offset)
            offset += 4 + size
            parts.append(frame[offset - size : offset])
        if offset != len(frame) or count != 3:
            raise ProtocolError("its parts do not fill its frame")
        details = json.loads(bytes(parts[2])) if parts[2] else {}
        old, new = (None if version < 0 else version for version in (before, after))
        archive, type_name = bytes(parts[0]) or None, str(parts[1], "utf-8")
        if not isinstance(details, dict) or (archive is not None) != (outcome in _NEW):
            raise ProtocolError("its details or its archive do not fit its outcome")
        return Answer(number, Outcome(outcome), archive, type_name, old, new, details)
    except (struct.error, ValueError, RecursionError) as error:
        raise ProtocolError(str(error)) from error
