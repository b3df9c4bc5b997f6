"""Mistakes in a pipeline file: all of them at once, each with its place and a hint."""

from __future__ import annotations

from dataclasses import dataclass

from slackwater.core.errors import ConfigError, SlackwaterError
from slackwater.pipeline.secrets import Secrets
from slackwater.query import QueryError

__all__ = ["Mistake", "Mistakes", "PipelineError", "Place"]


@dataclass(frozen=True, order=True)
class Place:
    """A line and a column of the file, both from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Mistake:
    """One thing that cannot be as it is.

    Examples
    --------
    >>> print(Mistake(Place(7, 12), "steps.clean.policy", "there is no policy 'tyde'",
    ...               hint="did you mean 'tide'?"))
    line 7, column 12: steps.clean.policy: there is no policy 'tyde'
      hint:     did you mean 'tide'?
    """

    place: Place
    where: str
    problem: str
    expected: str | None = None
    got: str | None = None
    hint: str | None = None

    def __str__(self) -> str:
        words = SlackwaterError(self.problem, step=self.where or None, expected=self.expected,
                                got=self.got, hint=self.hint)
        return f"line {self.place.line}, column {self.place.column}: {words}"

    def as_json(self) -> dict[str, object]:
        """For machines."""
        return {"line": self.place.line, "column": self.place.column, "where": self.where,
                "problem": self.problem, "expected": self.expected, "got": self.got,
                "hint": self.hint}


class PipelineError(ConfigError):
    """A pipeline file that cannot be run, with all its mistakes."""

    def __init__(self, file: str, mistakes: list[Mistake]) -> None:
        self.file, self.mistakes = file, mistakes
        count = "one mistake" if len(mistakes) == 1 else f"{len(mistakes)} mistakes"
        told = "\n".join(str(m) for m in mistakes)
        super().__init__(f"{file}: {count}\n{told}")

    def __reduce__(self) -> tuple[object, ...]:
        return (PipelineError, (self.file, self.mistakes))


class Mistakes:
    """Collects what is found, in any order, and keeps secrets out of it."""

    def __init__(self, secrets: Secrets | None = None) -> None:
        self.secrets = Secrets() if secrets is None else secrets
        self._found: list[Mistake] = []

    def __len__(self) -> int:
        return len(self._found)

    def add(self, place: Place, where: str, problem: str, *, expected: object = None,
            got: object = None, hint: str | None = None) -> None:
        """Note a mistake."""
        def text(value: object) -> str | None:
            return None if value is None else str(value)

        self._found.append(Mistake(place, where, problem, text(expected), text(got), hint))

    def add_error(self, place: Place, where: str, error: SlackwaterError) -> None:
        """Note what a part of the library refused; a query's carets come along."""
        problem = error.problem
        if error.step and not isinstance(error, QueryError) and not where.endswith(error.step):
            problem = f"{error.step}: {problem}"
        self.add(place, where, problem, expected=error.expected, got=error.got, hint=error.hint)

    @property
    def found(self) -> list[Mistake]:
        """All of them, by their place, without secrets."""
        def clean(text: str | None) -> str | None:
            return None if text is None else self.secrets.redact(text)

        by_place = sorted(self._found, key=lambda m: (m.place, m.where))
        return [Mistake(m.place, m.where, self.secrets.redact(m.problem), clean(m.expected),
                        clean(m.got), clean(m.hint)) for m in by_place]
