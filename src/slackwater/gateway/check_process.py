"""The process that checks large bodies: reads one, answers with its events, reads the next.

It has its own interpreter, so that the gateway's event loop does not wait for it, its own bound on
memory, and a lower priority.  It ends when the gateway does.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import struct
import sys
from array import array
from contextlib import suppress
from pathlib import Path

import orjson

from slackwater.gateway.admit import Admitted, BadBody, Rules, TooMany, admit

__all__ = ["ANSWER", "JOB", "main", "receive"]

JOB = struct.Struct("<?qQ")  # lines, most (-1: any), bytes of the body
ANSWER = struct.Struct("<IQQ")  # bytes of the summary, of the lengths, of the events
_SPARE = 512 << 20


def receive(plug: socket.socket, size: int) -> bytearray:
    """Exactly so many bytes.

    Raises
    ------
    EOFError
        If the other side is gone.
    """
    data = bytearray(size)
    view, reached = memoryview(data), 0
    while reached < size:
        got = plug.recv_into(view[reached:])
        if not got:
            raise EOFError
        reached += got
    return data


def main() -> None:
    """Answer until the other side is gone; arguments: a socket's descriptor, the rules as JSON."""
    for number in (signal.SIGINT, signal.SIGTERM):  # the gateway decides when it is over
        signal.signal(number, signal.SIG_IGN)
    os.nice(10)
    asked = orjson.loads(sys.argv[2])
    rules = Rules(asked["max_event"], tuple(asked["required"]), asked["refuse_nul"])
    plug = socket.socket(fileno=int(sys.argv[1]))
    with suppress(OSError, ValueError):  # only where the system says how much is in use
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + _SPARE, resource.RLIM_INFINITY))
    while True:
        try:
            lines, most, size = JOB.unpack(receive(plug, JOB.size))
            body = bytes(receive(plug, size))
            answer = _answer(body, rules, lines, None if most < 0 else most)
            del body
            plug.sendall(ANSWER.pack(*map(len, answer)))
            for part in answer:
                plug.sendall(part)
            del answer
        except (EOFError, ConnectionError):
            return


def _answer(body: bytes, rules: Rules, lines: bool, most: int | None
            ) -> tuple[bytes, bytes, bytes]:
    found, problem = Admitted(), None
    try:
        found = admit(body, rules, lines=lines, most=most)
    except BadBody as error:
        problem = ["bad", str(error)]
    except TooMany as error:
        problem = ["many", str(error)]
    except MemoryError:
        problem = ["bad", "it takes too much memory to read"]
    summary = orjson.dumps({"problem": problem, "refused": found.refused,
                            "refused_count": found.refused_count, "too_large": found.too_large})
    return summary, array("I", map(len, found.events)).tobytes(), b"".join(found.events)


if __name__ == "__main__":
    main()
