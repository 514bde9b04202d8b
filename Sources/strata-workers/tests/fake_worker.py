"""Speaks the protocol of Docs/Worker.md like an app's tool, without the driver's code.

An archive of this worker is `A1:` and a text (version 1), or `A3:` and a text (version 3, the current
one). Words in the text make the worker misbehave: `crash`, `hang`, `slow`, `print`, `exit`, `stray`,
`babble`, `stuck`.
"""

import json
import os
import re
import select
import signal
import sys
import time

OPTIONS = sys.argv[1:]
MAX = 64 << 20
PARENT = os.getppid()  # A test may kill the driver of a process that hangs.


def option(name, default=None):
    return OPTIONS[OPTIONS.index(name) + 1] if name in OPTIONS else default


def read(count):
    pieces = []
    while count:
        piece = os.read(0, min(count, 1 << 20))
        if not piece:
            return None
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


def number(data):
    return int.from_bytes(data, "little")


out = bytearray()


def flush():
    view = memoryview(bytes(out))
    out.clear()
    while view:
        view = view[os.write(1, view) :]


def frame(body):
    out.extend(len(body).to_bytes(4, "little") + body)


def answer(request, outcome, archive=b"", name="", before=-1, after=-1, details=None):
    body = bytearray(request.to_bytes(8, "little") + bytes([outcome, 3]))
    body += before.to_bytes(8, "little", signed=True) + after.to_bytes(8, "little", signed=True)
    for part in (archive, name.encode(), json.dumps(details).encode() if details else b""):
        body += len(part).to_bytes(4, "little") + part
    if len(body) > MAX:
        details = {"code": "limitExceeded", "message": "the answer is longer than the limit"}
        return answer(request, 34, details=details)
    frame(bytes(body))


def failure(request, outcome, code, message, **more):
    answer(request, outcome, details={"code": code, "message": message, **more})


def part_bytes(body, offset):
    size = number(body[offset : offset + 4])
    offset += 4
    if not size >> 31:
        if offset + size > len(body):
            raise ValueError
        return body[offset : offset + size], offset + size
    size &= (1 << 31) - 1
    begin, length = number(body[offset : offset + 8]), number(body[offset + 8 : offset + 16])
    path = body[offset + 16 : offset + size].decode()
    with open(path, "rb") as file:
        file.seek(begin)
        data = file.read(length)
    if len(data) != length:
        raise OSError("the range ends after the file")
    return data, offset + size


def misbehave(text):
    if b"crash-once" in text:
        marker = re.search(rb"crash-once (\S+)", text).group(1)
        if not os.path.exists(marker):
            open(marker, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
    elif b"crash" in text:
        print("Fatal error: the step divides by zero", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGTRAP)
    while b"hang" in text and os.getppid() == PARENT:
        time.sleep(0.2)
    while b"babble" in text and os.getppid() == PARENT:
        sys.stderr.write("noise\n" * 100)
    if b"stuck" in text:
        time.sleep(120)
    if b"slow" in text:
        time.sleep(0.05)
    if b"print" in text:
        flush()
        os.write(1, b"a hook prints this line to standard output\n")
    if b"exit" in text:
        sys.exit(3)
    if b"noise" in text:
        sys.stderr.write("noise\n" * 20000)


def handle(body):
    request = number(body[:8])
    operation, count, offset, parts = body[8], body[9], 10, []
    try:
        for _ in range(count):
            part, offset = part_bytes(body, offset)
            parts.append(part)
        if offset != len(body):
            raise ValueError
    except OSError as error:
        return failure(request, 36, "unreadable", str(error))
    except ValueError:
        return failure(request, 37, "invalid", "the parts do not fill the frame")
    if not parts or operation not in (1, 2, 3, 4, 5):
        return failure(request, 37, "invalid", "the operation is unknown")
    data = parts[0]
    misbehave(data)
    if b"stray" in data:
        request += 1
    if operation == 3:
        return answer(request, 4, b"A3:" + data, "Issue", -1, 3)
    if data[:3] == b"A9:":
        return failure(request, 34, "newerVersion", "the archive has version 9 of Issue, not 3")
    if data[:3] not in (b"A1:", b"A3:"):
        return failure(request, 32, "damaged", "not a Strata archive (no gzip header)")
    if b"refused" in data:
        return failure(request, 33, "invalid", "votes is negative", path="votes")
    if b"unknown" in data:
        return failure(request, 35, "unknownType", "this program has no model for the type Theme")
    if b"double" in data:
        data += data * (MAX // len(data))
    version = data[1] - 48
    if operation == 1:
        return answer(request, 1, b"", "Issue", version, 3)
    if operation == 2:
        if version == 3:
            return answer(request, 2, b"", "Issue", 3, 3)
        details = {"losses": ["nick"]} if b"nick" in data else None
        return answer(request, 3, b"A3:" + data[3:], "Issue", 1, 3, details)
    if operation == 4:
        return answer(request, 5, b"A3:" + b"+".join(p[3:] for p in parts), "Issue", 3, 3)
    return answer(request, 7, b"", "Issue", version, 3, {"fields": {}})


def main():
    global MAX
    if not OPTIONS or OPTIONS[0] != "worker":
        print("error: unexpected argument", file=sys.stderr)
        sys.exit(64)
    MAX = int(option("--max-frame", MAX))
    if "--garbage" in OPTIONS:
        print("Usage: a program that is not a worker")
        sys.exit(0)
    if "--silent" in OPTIONS:
        time.sleep(3600)
    MODELS = [{"name": "Issue", "version": int(option("--model-version", 3))}]
    protocol = int(option("--speaks", 1))
    greeting = {"protocol": protocol, "program": "fake 1", "maxFrame": MAX, "models": MODELS}
    frame(json.dumps(greeting).encode())
    flush()
    left = int(option("--die-after", 1 << 60))
    while True:
        if len(out) >= 1 << 16 or not select.select([0], [], [], 0)[0]:
            flush()
        head = read(4)
        if head is None:
            flush()
            return
        length = number(head)
        if length > MAX:
            body = read(8)
            read(length - 8)
            failure(number(body), 34, "limitExceeded", "the request is longer than the limit")
            continue
        body = read(length)
        if body is None:
            print("error: the input ends inside a frame", file=sys.stderr)
            sys.exit(1)
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        handle(body)


main()
