"""The pattern matcher's configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slackwater.core.durations import Duration, micros
from slackwater.core.errors import ConfigError, did_you_mean
from slackwater.core.events import Roles
from slackwater.core.html import html_fields
from slackwater.core.kernel import Store
from slackwater.core.punctuation import declared
from slackwater.core.stage import Stage
from slackwater.pattern.pattern import Pattern
from slackwater.pattern.schedule import FOLLOWING, STRICT
from slackwater.pattern.shape import TIMED_OUT
from slackwater.reorder.policies.named import as_policy, default_policy
from slackwater.reorder.policies.static import Static
from slackwater.reorder.policy import Policy

if TYPE_CHECKING:
    from slackwater.pattern.logic import MatchLogic
    from slackwater.pattern.shape import Shape
    from slackwater.pattern.skip import Skip

__all__ = ["EMIT", "SELECT", "Match"]

EMIT = ("final", "eager")
SELECT = ("skip_till_any", "skip_till_next", "strict", "branching")


@dataclass(frozen=True)
class Match(Stage):
    """Find a pattern of events in a stream whose events arrive out of order.

    Any arrival order within the slack gives the same matches, with the same ids.

    Each combination of ``roles.key`` is a stream with a clock of its own: the greatest arrival seen
    (without an arrival column, the greatest time).  Its watermark is that clock less the slack, and
    events older than the watermark are late.  The partition that the plan finds by equality is an
    index inside the stream: it changes no result, except that `strict` selection means neighbours
    in the stream of one partition (so that it does not depend on how keys are spread).

    A row leaves as `ready` only as part of a match; rows that no future match can use are forgotten
    (purged when time + window < watermark, see `retention`).

    Parameters
    ----------
    pattern
        What to find; `slackwater.query.event.query` makes it out of an ``EVENT …`` text.
    roles
        Which columns are time, type, arrival, sequence, key.  Without a `sequence`, events of equal
        time form no sequence; with it, equal times are ordered by it (NULL comes first).
    slack
        How far behind the clock an event may come: a duration, or a reorder policy that estimates
        it (``"KSlack"``, ``DelayRange(n=100)``…); by default the policy of `Reorder`.  A slack of
        zero takes every event that comes after a greater time for late, so it is never assumed.
    emit
        ``"final"`` (the default, unless the pattern says EMIT): a match is emitted once, when
        nothing can undo it.  ``"eager"``: at once, and
        if an event that arrives later undoes it, again with op ``"-"`` and the same id.
    select
        ``"skip_till_any"`` (the default, unless the pattern says STRATEGY): every combination of
        events.  ``"skip_till_next"``: from each first
        event, always the next that fits.  ``"strict"``: as that, and no event in between.
        ``"branching"``: the next that fits each way to go on, so that a run is left after every
        event of it (FlinkCEP's rule).  A gap of the pattern may say otherwise (``A a => B b``).
    timed_out
        Give partial matches too that could not be completed in time, with the op ``"timed_out"``
        and NULL for what is missing: ``"furthest"`` (or True) those that nothing followed,
        ``"all"`` every one that could still have gone on.  They come once, when the watermark has
        passed the window after their first event (see `slackwater.pattern.timed_out`).
    max_matches
        How many matches one event may complete, and how many may wait for being final.  Partial
        results count too: 64 steps of construction for each.  An event beyond that is quarantined
        with the reason, no match uses it, and the stream goes on.  Which of the events that meet is
        the one too many depends on the order in which they are looked at: that of arrival, inside a
        batch that of time.
    max_future_skew
        A row stamped further ahead of its arrival is quarantined.
    forget_after
        A stream that is silent for longer than this on the arrival clock, and has nothing that a
        match could use, starts afresh with its next row (see `slackwater.core.keyed`).
    use_clock, use_partition, sort_batches
        The optimisations, to be switched off for measuring: AIS-CLOCK (an in-order event is
        appended, no pointer is checked); the window is pushed into construction, so that outdated
        instances are not visited (the paper's divider, which has less to gain and may lose matches,
        is in `slackwater.papers.sequences.ais`); the rows of a batch are put into the stacks in
        time order where that changes no result.
    sources
        The sources that promise by themselves that nothing before a time comes any more (see
        `punctuate`): matches are final, and events purged, as soon as all of them have. None:
        whoever punctuates speaks for all.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from slackwater.query.event.query import event_pattern
    >>> shoplifting = event_pattern('''
    ...     EVENT SEQ(SHELF s, !(CHECKOUT c), EXIT e)
    ...     WHERE s.id = c.id AND c.id = e.id
    ...     WITHIN 1 hour RETURN s.id, e.time - s.time AS took''')
    >>> kernel = Match(shoplifting, Roles("time", type="type", unit="s"), slack="10s")
    >>> logic = kernel.start()
    >>> out = logic.push(pa.record_batch({
    ...     "time": [0, 5, 70, 65, 90], "id": [1, 2, 1, 2, 3],
    ...     "type": ["SHELF", "SHELF", "EXIT", "CHECKOUT", "EXIT"]}))
    >>> out.ready.select(["op", "id", "took"]).to_pylist()
    [{'op': '+', 'id': 1, 'took': 70}]

    References
    ----------
    Li, Liu, Ding, Rundensteiner, Mani: Event Stream Processing with Out-of-Order Data Arrival.
    ICDCS Workshops 2007.  Wu, Diao, Rizvi: High-performance complex event processing over streams.
    SIGMOD 2006.
    """

    pattern: Pattern
    roles: Roles = field(default_factory=Roles)
    slack: Duration | Policy | None = None
    emit: str | None = None
    select: str | None = None
    timed_out: str | bool | None = None
    max_matches: int = 1_000_000
    max_future_skew: Duration = "5 minutes"
    forget_after: Duration | None = "1 day"
    use_clock: bool = True
    use_partition: bool = True
    sort_batches: bool = True
    sources: tuple[str, ...] | None = None

    def _repr_html_(self) -> str:
        plan = getattr(self.pattern, "_repr_html_", None)  # a pattern from a query has one
        return ("" if plan is None else plan()) + html_fields(self)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sources", declared(self.sources, "match"))
        object.__setattr__(self, "slack", _slack(self.slack, self.roles.source))
        for name in ("max_future_skew", "forget_after"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, micros(getattr(self, name), name=name))
        for name, known in (("emit", EMIT), ("select", SELECT)):
            object.__setattr__(self, name, _said(name, getattr(self, name), known, self.pattern))
        object.__setattr__(self, "timed_out", _asked_late(self.timed_out, self.pattern))
        typed = [*(c.types for c in self.pattern.components),
                 *(n.types for n in self.pattern.negations)]
        if self.roles.type is None and any(typed):
            raise ConfigError("no column has the role 'type'", step="match",
                              expected="the column that tells SHELF from EXIT",
                              hint='say type="…", or use ANY, which takes events of every type')
        if self.max_matches < 1:
            raise ConfigError("would refuse every match", step="max_matches", expected="≥ 1",
                              got=self.max_matches)

    @property
    def retention(self) -> int:
        """An event is purged when its time + retention < watermark; the paper's W.

        Twice the window where an event before the first component can undo a match that is not
        final before the window after it has closed.
        """
        pattern = self.pattern
        gaps, parts = [n.gap for n in pattern.negations], pattern.components
        leading = any(all(c.optional for c in parts[:gap]) for gap in gaps)
        trailing = any(all(c.optional for c in parts[gap:]) for gap in gaps)
        open_end = trailing or self.skip is not None or (
            self.may_grow and (parts[-1].kleene or parts[-1].optional))
        return pattern.window * (2 if leading and (open_end or self.timed_out) else 1)

    @property
    def may_grow(self) -> bool:
        """Whether a match that could be longer is none: where ways to go on compete."""
        if self.select == "branching":
            return False
        return self.select != "skip_till_any" or bool(self._said_ways & {FOLLOWING, STRICT})

    @property
    def looks_at_all(self) -> bool:
        """Whether events of any type count, because nothing may lie between two events."""
        return (self.select == "strict" or STRICT in self._said_ways
                or bool(self.shape and self.shape.nearest))

    @property
    def _said_ways(self) -> set[int | None]:
        """The selections that gaps of the pattern have of their own."""
        said = {way for c in self.pattern.components for way in (c.before, c.inside)}
        return said | getattr(self.pattern, "ways", set())

    @property
    def shape(self) -> Shape | None:
        """The pattern's shape; None: a row of components, as long as that does."""
        found: Shape | None = getattr(self.pattern, "shape", None)
        if found is None and self.select == "branching":
            return self.pattern.whole
        return found

    @property
    def skip(self) -> Skip | None:
        """Where the next match may begin after one; None: anywhere."""
        return getattr(self.pattern, "skip", None)

    @property
    def policy(self) -> Policy:
        """What estimates the slack."""
        assert isinstance(self.slack, Policy)
        return self.slack

    def logic(self, store: Store) -> MatchLogic:
        """A logic with nothing held."""
        from slackwater.pattern.logic import MatchLogic

        return MatchLogic(self, store)


def _slack(given: Duration | Policy | None, source: str | None) -> Policy:
    """A duration is a buffer time that stays the same; a text without digits in front is a name."""
    if given is None:
        return default_policy(source)
    if isinstance(given, Policy):
        return given
    if isinstance(given, str) and not given.strip()[:1].isdigit() and given.strip()[:1] not in "+-":
        return as_policy(given)
    return Static(micros(given, name="slack"))


def _asked_late(given: str | bool | None, pattern: Pattern) -> str | None:
    """Which partial matches are given when they time out; None: none of them."""
    asked = TIMED_OUT[0] if given is True else given or None
    if asked is None and "timed_out" not in getattr(pattern, "said", {}):
        return None
    return _said("timed_out", asked, TIMED_OUT, pattern)


def _said(name: str, given: str | None, known: tuple[str, ...], pattern: Pattern) -> str:
    """An option, as given or as the pattern's text says; by default the first that is known."""
    text = getattr(pattern, "said", {}).get(name)
    got = given if given is not None else text if text is not None else known[0]
    if got not in known:
        raise ConfigError("is not known", step=name, expected=" or ".join(known), got=repr(got),
                          hint=did_you_mean(str(got), known))
    if text is not None and got != text:
        raise ConfigError("is not what the query says", step=name, expected=text, got=repr(got),
                          hint="say it in one place")
    return got
