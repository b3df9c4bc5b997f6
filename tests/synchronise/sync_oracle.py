"""The release rule of `slackwater.synchronise`, slowly and obviously, for one key."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Source:
    state: str
    frontier: float = float("-inf")
    failures: int = 0


@dataclass
class Oracle:
    """Events are (time, n, clock, source); `lazy` is method 1, which tests the oldest only."""

    sources: list[str] | None
    max_delay: int | None
    max_failures: int | None
    blame: str = "missing"
    lazy: bool = False
    mark: float = float("-inf")
    clock: float = float("-inf")
    left: float = float("-inf")  # the greatest time that has left
    held: list[tuple] = field(default_factory=list)  # allowed to leave or not
    book: dict[str, Source] = field(default_factory=dict)
    taken: list[int] = field(default_factory=list)
    late: list[int] = field(default_factory=list)

    def __post_init__(self):
        for name in self.sources or ():
            self.book[name] = Source("live")

    def push(self, n, time, source, arrival):
        out = self.settle(max(self.clock, arrival))  # time has passed before the row is there
        self.clock = max(self.clock, arrival)
        s = self.book.setdefault(source, Source("new" if self.sources is None else "guest"))
        if time < self.mark:
            self.late.append(n)
            return out
        if time > self.mark and s.state == "new":
            s.state, s.frontier = "live", self.top()
        if time > self.mark and s.state == "disabled":
            s.state, s.failures = "live", 0
        if s.state == "live":
            s.frontier = max(s.frontier, time)
        self.taken.append(time)
        if time == self.left:  # its equal has left: nothing can come before it any more
            return [*out, (n, False)]
        self.held.append((time, n, self.clock, source))
        return out + [(e[1], False) for e in self.leave()]

    def tick(self, now):
        return self.settle(max(self.clock, now))

    def add(self, name):
        s = self.book.setdefault(name, Source("guest"))
        if s.state != "live":
            s.state, s.failures, s.frontier = "live", 0, max(s.frontier, self.top())
        return self.settle()

    def remove(self, name):
        self.book.setdefault(name, Source("guest")).state = "guest"
        return self.settle()

    def finish(self):
        self.mark = max([self.mark, *(e[0] for e in self.held)])
        return self.go(self.mark)

    def top(self):
        return max(self.taken, default=float("-inf"))

    def missing(self, event):
        return [s for s in self.book.values() if s.state == "live" and s.frontier < event[0]]

    def settle(self, now=None):
        """Whatever may leave; (time, n) of each, and whether it had timed out."""
        now = self.clock if now is None else now
        out = [(e, False) for e in self.leave()]
        if self.max_delay is None:
            return [(e[1], t) for e, t in out]
        old = [e for e in self.held if now - e[2] > self.max_delay]
        waiting = [e for e in old if e[0] > self.mark]
        reached = self.mark
        live = {id(s) for s in self.book.values() if s.state == "live"}
        for event in waiting:
            guilty = ([self.book[event[3]]] if self.blame == "producer" else
                      [s for s in self.book.values() if id(s) in live and s.frontier < event[0]])
            for s in guilty:
                if s.state == "live" and id(s) in live:
                    s.failures += 1
            if self.max_failures is not None and self.blame == "producer":
                self.disable()
        if self.max_failures is not None:
            self.disable()
        if old:
            upto = max(e[0] for e in old)
            self.mark = max([self.mark, *(e[0] for e in waiting)])
            forced = max((e[0] for e in waiting), default=float("-inf"))
            out += [(e, reached < e[0] <= forced) for e in self.go(upto, raw=True)]
            out += [(e, False) for e in self.leave()]
        return [(e[1], t) for e, t in out]

    def disable(self):
        for s in self.book.values():
            if s.state == "live" and s.failures >= self.max_failures:
                s.state, s.failures = "disabled", self.max_failures

    def leave(self):
        free = [e[0] for e in self.held if not self.missing(e)]
        self.mark = max([self.mark, *free])
        if not self.lazy:
            return self.go(self.mark, raw=True)
        out = []
        while self.held:
            oldest = min(self.held, key=lambda e: e[1])
            if oldest[0] > self.mark:
                break
            out += self.go(oldest[0], raw=True)
        return out

    def go(self, upto, raw=False):
        out = sorted(e for e in self.held if e[0] <= upto)
        self.held = [e for e in self.held if e[0] > upto]
        self.left = max([self.left, *(e[0] for e in out)])
        return out if raw else [(e[1], False) for e in out]
