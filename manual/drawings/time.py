"""Time, arrival, delay, disorder, watermark, windows, sources, uncertain times."""

from __future__ import annotations

from manual.drawings.canvas import Canvas

__all__ = ["time_drawings"]


def time_drawings() -> dict[str, Canvas]:
    """The drawings of the page on time."""
    return {"delay": _delay(), "disorder": _disorder(), "watermark": _watermark(),
            "fates": _fates(), "sources": _sources(), "window": _window(), "interval": _interval()}


# five events by time and arrival, in seconds; C overtakes B, E comes far too late
_EVENTS = [("A", 1.0, 1.6), ("B", 2.0, 4.3), ("C", 3.0, 3.4), ("D", 4.6, 5.1), ("E", 3.4, 7.4),
           ("F", 6.2, 6.7)]


def _x(second: float) -> float:
    return 130 + 62 * second


def _two_lines(canvas: Canvas, upper: float, lower: float) -> None:
    for y, words in ((upper, "happened"), (lower, "arrived")):
        canvas.line([(120, y), (canvas.width - 20, y)], "rule")
        canvas.text(16, y + 5, words, "faint")


def _delay() -> Canvas:
    canvas = Canvas(640, 190, "Time, arrival and delay", "An event happens at 2 seconds and "
                    "arrives at 4.3 seconds; its delay is the 2.3 seconds in between.")
    _two_lines(canvas, 60, 130)
    canvas.line([(_x(2), 60), (_x(4.3), 130)], "mark", arrow=True)
    canvas.dot(_x(2), 60)
    canvas.dot(_x(4.3), 130)
    canvas.text(_x(2), 42, "time 2.0 s", at="middle")
    canvas.text(_x(4.3) + 14, 122, "arrival 4.3 s")
    canvas.line([(_x(2), 160), (_x(4.3), 160)], "held", width=2)
    for x in (_x(2), _x(4.3)):
        canvas.line([(x, 154), (x, 166)], "held", width=2)
    canvas.text(_x(3.15), 182, "delay = arrival − time = 2.3 s", "held", at="middle")
    return canvas


def _disorder() -> Canvas:
    canvas = Canvas(640, 200, "Disorder", "Six events in the order of their times, and the order "
                    "in which they arrive: A, C, B, D, F, E. The lines of B and C cross, and so do "
                    "those of E with D and F: B and E are out of order.")
    _two_lines(canvas, 60, 150)
    for name, time, arrival in _EVENTS:
        late = name in "BE"
        canvas.line([(_x(time), 60), (_x(arrival), 150)], "late" if late else "faint",
                    dashed=late, arrow=True)
        canvas.dot(_x(time), 60, "late" if late else "ink")
        canvas.text(_x(time), 44, name, "late" if late else "ink", at="middle")
        canvas.text(_x(arrival), 172, name, "late" if late else "ink", at="middle")
    canvas.text(_x(0), 194, "out of order: an event with a later time arrived before it", "late",
                look="small")
    return canvas


def _watermark() -> Canvas:
    canvas = Canvas(640, 330, "Buffer and watermark", "Events by arrival, to the right, and time, "
                    "upwards. The threshold rises with the arrival clock, two seconds below it. "
                    "Events above it are held until it reaches their time, and leave in order; B "
                    "arrives below it and leaves at once, because nothing later has left; E "
                    "arrives below the watermark and is late.")

    def at(arrival: float, time: float) -> tuple[float, float]:
        return 70 + 66 * arrival, 280 - 34 * time

    canvas.line([at(0, 0), at(8.4, 0)], "ink", arrow=True)
    canvas.line([at(0, 0), at(0, 7.9)], "ink", arrow=True)
    canvas.text(620, 300, "arrival", "faint", at="end")
    canvas.text(10, 22, "time", "faint")
    canvas.line([at(0, 0), at(7.8, 7.8)], "faint", dashed=True)
    canvas.text(at(5, 5.6)[0], at(5, 5.6)[1] - 8, "arrival clock", "faint", at="end")
    canvas.line([at(2, 0), at(8.4, 6.4)], "mark", width=2)
    canvas.text(*at(2, -0.6), "clock − buffer (2 s)", "mark", at="middle")
    ready = sorted((max(arrival, time + 2), time) for name, time, arrival in _EVENTS if name != "E")
    steps, level = [at(0, 0)], 0.0
    for released, time in ready:
        steps += [at(released, level), at(released, time)]
        level = time
    canvas.line([*steps, at(8.4, level)], "ready", width=2)
    canvas.text(*at(5.25, 1.6), "watermark:", "ready")
    canvas.text(*at(5.25, 1.0), "greatest time released", "ready")
    for name, time, arrival in _EVENTS:
        x, y = at(arrival, time)
        if name == "E":
            canvas.cross(x, y)
            canvas.text(x + 9, y + 5, "E late", "late")
            continue
        canvas.line([(x, y), at(max(arrival, time + 2), time)], "held", width=3)
        canvas.dot(x, y)
        canvas.text(x + (9 if name == "B" else -6), y + (16 if name == "B" else -8), name,
                    at="start" if name == "B" else "end")
    canvas.text(*at(3.7, 3.15), "held", "held")
    return canvas


def _fates() -> Canvas:
    canvas = Canvas(640, 190, "What becomes of a row", "Rows go into a step; each leaves exactly "
                    "once, as ready, as late, or as quarantined.")
    canvas.line([(20, 95), (150, 95)], "ink", arrow=True)
    canvas.text(80, 84, "rows", at="middle")
    canvas.bar(150, 62, 130, 66, "wash")
    canvas.text(215, 92, "reorder", at="middle", look="code")
    canvas.text(215, 112, "or any step", "faint", at="middle", look="small")
    for y, name, words, colour in (
            (35, "ready", "in time order", "ready"),
            (95, "late", "its place was released", "late"),
            (155, "quarantined", "no usable time", "held")):
        canvas.line([(280, 95), (330, y), (372, y)], colour, width=2, arrow=True)
        canvas.text(382, y + 5, name, colour)
        canvas.text(472, y + 5, words, "faint", look="small")
    return canvas


def _sources() -> Canvas:
    canvas = Canvas(640, 210, "Many sources", "Three sources, each in order in itself, have shown "
                    "events up to different times. What is before the least of these frontiers "
                    "may leave, because no source can send anything older.")
    shown = {"pump": [1.0, 2.2, 3.4, 4.8, 6.0], "valve": [1.4, 2.6, 3.8], "motor": [1.8, 4.2, 5.4]}
    least = min(times[-1] for times in shown.values())
    canvas.bar(_x(0.6), 26, _x(least) - _x(0.6), 138, "wash")
    for row, (name, times) in enumerate(shown.items()):
        y = 50 + 46 * row
        canvas.text(16, y + 5, name, "faint")
        canvas.line([(110, y), (_x(7.6), y)], "rule")
        for time in times:
            canvas.dot(_x(time), y, "ready" if time <= least else "held")
        canvas.line([(_x(times[-1]), y - 13), (_x(times[-1]), y + 13)], "mark", width=3)
    canvas.line([(_x(least), 22), (_x(least), 172)], "ready", dashed=True)
    canvas.text(_x(least), 192, "threshold: the least frontier", "ready", at="middle")
    canvas.text(_x(6.0) + 10, 36, "frontier: greatest", "mark", look="small")
    canvas.text(_x(6.0) + 10, 76, "time shown", "mark", look="small")
    return canvas


def _window() -> Canvas:
    canvas = Canvas(640, 210, "Windows", "Windows of 30 seconds that start every 10 seconds. Each "
                    "closes when the watermark passes its end, and then its result is emitted.")

    def at(second: float) -> float:
        return 60 + 7.4 * second

    canvas.line([(40, 170), (630, 170)], "ink", arrow=True)
    for second in range(0, 71, 10):
        canvas.line([(at(second), 165), (at(second), 175)])
        canvas.text(at(second), 192, f"{second} s", "faint", at="middle", look="small")
    for second in (3, 8, 14, 21, 26, 37, 41, 48, 56):
        canvas.dot(at(second), 150, "ink", size=4)
    for row, start in enumerate((0, 10, 20, 30)):
        y, closed = 22 + 28 * row, start + 30 <= 52
        canvas.bar(at(start), y, 30 * 7.4, 20, "wash")
        canvas.text(at(start) + 8, y + 15, "closed: emitted" if closed else "open",
                    "ready" if closed else "held", look="small")
    canvas.line([(at(52), 12), (at(52), 175)], "ready", width=2)
    canvas.text(at(52) + 8, 20, "watermark", "ready")
    return canvas


def _interval() -> Canvas:
    canvas = Canvas(640, 190, "Times that are intervals", "A door opened at some moment between "
                    "2.0 and 3.2 seconds, a lamp went on between 3.0 and 5.4. Whether they are "
                    "within 2 seconds of each other can only be said with a "
                    "probability, the share of "
                    "pairs of moments for which it holds.")
    for y, name, low, high in ((55, "door", 2.0, 3.2), (115, "lamp", 3.0, 5.4)):
        canvas.text(16, y + 5, name, "faint")
        canvas.line([(110, y), (_x(7.6), y)], "rule")
        canvas.bar(_x(low), y - 9, _x(high) - _x(low), 18, "mark")
        canvas.text(_x(low), y - 16, "time_min", "mark", at="middle", look="code")
        canvas.text(_x(high), y - 16, "time_max", "mark", at="middle", look="code")
    share = _share_within((2.0, 3.2), (3.0, 5.4), 2.0)
    canvas.text(130, 168, f"|@door − @lamp| ≤ 2 s holds with probability {share:.0%}", "ready")
    return canvas


def _share_within(one: tuple[float, float], other: tuple[float, float], d: float) -> float:
    from slackwater.correlate import Predicate, probability

    ends = [round(1e6 * second) for second in (*one, *other)]
    return float(probability(*ends, Predicate.of(within=round(1e6 * d)))[0])
