"""What is done about a request: who may ask for what, and how events are kept."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress

import orjson

from slackwater.gateway.admit import BadBody, TooMany
from slackwater.gateway.check import Checked, Checker, Unchecked, is_small
from slackwater.gateway.http.answer import Answer, answer, error
from slackwater.gateway.http.head import Head
from slackwater.gateway.metrics import Tally
from slackwater.gateway.store import Appended, Backlogged, LogFailed, Store, Unkeepable
from slackwater.gateway.tokens import Tokens

__all__ = ["EVENTS", "Reply", "Routes"]

_log = logging.getLogger("slackwater.gateway")
_LINES = {"application/x-ndjson", "application/ndjson", "application/jsonl",
          "application/x-jsonlines"}
EVENTS = "/events"  # the only path that takes a body, after a token
_METHODS = {EVENTS: ("POST",), "/health": ("GET", "HEAD"), "/metrics": ("GET", "HEAD"),
            "/openapi.json": ("GET", "HEAD")}
_STATE = ("/health", "/metrics")

Reply = Callable[[Answer], None]


class Routes:
    """Answers requests.

    Parameters
    ----------
    store
        Where events go.
    checker
        Looks at bodies.
    tokens
        Who may send.
    tally
        What is counted into.
    max_body
        Bytes of a body.
    metrics
        Makes the text of ``/metrics``.
    description
        The document of ``/openapi.json``.
    """

    def __init__(self, store: Store, checker: Checker, tokens: Tokens, tally: Tally, *,
                 max_body: int, metrics: Callable[[], str], description: bytes) -> None:
        self._store, self._checker, self._tokens, self._tally = store, checker, tokens, tally
        self._max_body, self._metrics, self._description = max_body, metrics, description
        self._loop = asyncio.get_running_loop()
        self._lock, self._woken = threading.Lock(), False
        self._done: list[Callable[[], None]] = []

    def refusal(self, head: Head, *, guest: bool = False) -> Answer | None:
        """The answer to a request whose body need not be read, or None."""
        path = head.path
        # health is open: it says nothing of data
        if path != "/health" and self._tokens.needed and not self._tokens.lets_in(
                head.fields.get(b"authorization", b"")):
            return error(401, "the bearer token is missing or wrong",
                         {"www-authenticate": "Bearer"})
        if guest and path not in _STATE:
            return error(503, "too many connections", {"retry-after": "1"})
        methods = _METHODS.get(path)
        if methods is None:
            return error(404, "there is nothing here")
        if head.method not in methods:
            return error(405, "not this way", {"allow": ", ".join(methods)})
        if path != EVENTS:
            return error(413, "no body is taken here") if head.has_body else None
        if head.length is not None and head.length > self._max_body:
            return error(413, f"the body is too large; at most {self._max_body} bytes")
        problem = _unreadable(head)
        if problem is not None:
            return error(415, problem)
        if self._store.failed is not None:
            return error(503, self._store.failed, {"retry-after": "5"})
        if (reason := self._store.refusing) is not None:
            return _later(reason)
        return None

    def in_doubt(self) -> Answer:
        """The answer to a request that took too long."""
        return error(503, "it took too long; nothing is known to be kept", {"retry-after": "5"})

    def handle(self, head: Head, body: bytes, reply: Reply) -> None:
        """Answer a whole request, now or later."""
        if head.path == EVENTS:
            self._events(body, _kind(head) in _LINES, reply)
        elif head.path == "/health":
            reply(self._health())
        elif head.path == "/metrics":
            reply(Answer(200, self._metrics().encode(), "text/plain; version=0.0.4; charset=utf-8"))
        else:
            reply(Answer(200, self._description))

    def _health(self) -> Answer:
        if self._store.failed is not None:
            return answer(503, {"status": "failed", "reason": self._store.failed})
        state = {"status": "ok"}
        if (reason := self._store.refusing) is not None:
            state = {"status": "refusing", "reason": reason}
        if (warning := self._store.warning) is not None:
            state["warning"] = warning
        return answer(200, state)

    # -- events: checked, kept, answered ---------------------------------------------------------

    def _events(self, body: bytes, lines: bool, reply: Reply) -> None:
        if is_small(body, lines=lines):
            try:
                self._keep(self._checker.at_once(body, lines=lines), lines, reply)
            except (BadBody, TooMany) as problem:
                reply(_not_a_batch(problem))
            return

        def checked(future: Future[Checked]) -> None:
            problem = future.exception()
            if problem is None:
                self._keep(future.result(), lines, reply)
            else:
                reply(_not_a_batch(problem))

        self._checker.submit(body, lines=lines).add_done_callback(
            lambda future: self._soon(lambda: checked(future)))

    def _keep(self, found: Checked, lines: bool, reply: Reply) -> None:
        if not found.events:
            reply(self._result(found, lines))
            return

        def kept(future: Future[Appended]) -> None:
            problem = future.exception()
            reply(self._result(found, lines) if problem is None else _not_kept(problem))

        try:
            future = self._store.append(found.events)
        except (Backlogged, LogFailed) as problem:
            reply(_not_kept(problem))
            return
        future.add_done_callback(lambda done: self._soon(lambda: kept(done)))

    def _result(self, found: Checked, lines: bool) -> Answer:
        self._tally.accepted["http"] += len(found.events)
        self._tally.refused["http"] += found.refused_count
        body: dict[str, object] = {
            "accepted": len(found.events),
            "refused": [{"index": index, "reason": reason} for index, reason in found.refused]}
        if found.refused_count > len(found.refused):
            body["refused_count"] = found.refused_count
        status = 200
        if found.refused_count and found.events:
            status = 207
        elif found.refused_count and found.too_large == found.count:
            status, body["error"] = 413, "the event is too large"
        elif (found.refused_count == 1 and not lines
              and found.refused[0][1].startswith("is not JSON")):
            status, body["error"] = 400, found.refused[0][1]
        elif found.refused_count:
            status, body["error"] = 422, "no event could be accepted"
        return Answer(status, orjson.dumps(body))

    def _soon(self, call: Callable[[], None]) -> None:
        """Run it in the event loop; many that are done together wake it once."""
        with self._lock:
            self._done.append(call)
            asleep, self._woken = not self._woken, True
        if asleep:
            with suppress(RuntimeError):  # the loop has ended: nobody is left to answer
                self._loop.call_soon_threadsafe(self._run_done)

    def _run_done(self) -> None:
        with self._lock:
            calls, self._done, self._woken = self._done, [], False
        for call in calls:
            try:
                call()
            except Exception:  # the others still have to be answered
                _log.exception("an answer could not be given")


def _kind(head: Head) -> str:
    return head.text(b"content-type").partition(";")[0].strip().lower()


def _unreadable(head: Head) -> str | None:
    kind = _kind(head)
    if kind != "application/json" and kind not in _LINES:
        shown = kind[:100].encode("ascii", "replace").decode() or "a nameless type"
        return f"send application/json or application/x-ndjson, not {shown}"
    parameters = head.text(b"content-type").partition(";")[2].lower()
    charset = parameters.replace(" ", "").replace('"', "").partition("charset=")[2]
    if charset.partition(";")[0] not in ("", "utf-8", "utf8", "us-ascii"):
        return "send UTF-8"
    if head.text(b"content-encoding").lower() not in ("", "identity"):
        return "send the body uncompressed"
    return None


def _later(reason: str) -> Answer:
    return error(429, reason, {"retry-after": "1"})


def _not_a_batch(problem: BaseException) -> Answer:
    if isinstance(problem, TooMany):
        return error(413, str(problem))
    if isinstance(problem, BadBody):
        return error(400, f"is not a batch of events: {problem}")
    if isinstance(problem, Unchecked):
        return error(503, str(problem), {"retry-after": "5"})
    _log.error("checking failed: %r", problem)
    return error(500, "the gateway made a mistake; nothing was taken")


def _not_kept(problem: BaseException) -> Answer:
    if isinstance(problem, Backlogged):
        return _later(problem.problem)
    if isinstance(problem, LogFailed):
        return error(503, problem.problem, {"retry-after": "5"})
    if isinstance(problem, Unkeepable):
        return error(413, problem.problem)
    _log.error("appending failed: %r", problem)
    return error(500, "the gateway made a mistake; nothing is known to be kept")
