"""Moments as people write them: what `--since` and `--until` take.

    2026  2026-11  2026-11-30  2026-11-30T14:05     a year, month, day, minute of local time
    2026-11-29T13:05:09.120Z                        with an offset: of that offset's time
    90m  12h  3d  2w  6mo  1y                       that long ago
    today  yesterday  monday                        the last such day

What is written is a span as long as its smallest unit, down to a millisecond.
`--since` means from its start and `--until` to its end, so `--since 2026-11
--until 2026-11` is the whole of November, and the time of a hit, given to both,
finds that hit.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import NamedTuple

from mimohist.errors import BadInput

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_INSTANT = timedelta(microseconds=1)
_DAY = timedelta(days=1)
_LONGEST_MONTH = timedelta(days=31)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ELAPSED = {"m": timedelta(minutes=1), "h": timedelta(hours=1)}
_DAYS = {"d": _DAY, "w": timedelta(weeks=1)}
_MONTHS = {"mo": 1, "y": 12}
_AGE = re.compile(r"([0-9]+)(mo|y|w|d|h|m)")
_WRITTEN = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)"
    r"(?:[t ](\d\d)(?::(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?(z|[+-]\d\d(?::?\d\d)?)?)?)?)?",
    re.ASCII,
)
_UNITS = ("year", "month", "days", "hours", "minutes", "seconds", "milliseconds")
_FIRST = (1, 1, 1, 0, 0, 0, 0)


class Span(NamedTuple):
    """A half-open stretch of time between aware datetimes: `start <= moment < end`.

    Start and end are equal where a moment is meant (an age) and where the clocks
    skipped the stretch.
    """

    start: datetime
    end: datetime


def parse(text: str, now: datetime) -> Span:
    """Read `text` as seen from `now` (aware), in the local time of this process.

    Raises `BadInput` for anything that is not of the forms above.
    """
    word = text.strip().lower()
    try:
        span = _age(word, now) or _day(word, now) or _written(word)
    except (ValueError, OverflowError, OSError):
        span = None
    if span is None:
        hint = "try 2026-11-30, 3d, 12h, yesterday or monday"
        raise BadInput(f"not a time: {text!r} ({hint})")
    return span


def millis(moment: datetime) -> int:
    """Give an aware datetime as epoch milliseconds, rounded down."""
    return (moment - _EPOCH) // _MILLISECOND


def _age(word: str, now: datetime) -> Span | None:
    """Read `3d`: hours are elapsed time, days and longer keep the time of day."""
    found = _AGE.fullmatch(word)
    if found is None:
        return None
    count, unit = int(found[1]), found[2]
    here = now.astimezone().replace(tzinfo=None)
    if unit in _ELAPSED:
        then = (now.astimezone(UTC) - count * _ELAPSED[unit]).astimezone()
    elif unit in _DAYS:
        then = _instant(here - count * _DAYS[unit]).astimezone()
    else:
        then = _instant(_months_before(here, count * _MONTHS[unit])).astimezone()
    return Span(then, then)


def _day(word: str, now: datetime) -> Span | None:
    today = now.astimezone().replace(tzinfo=None, hour=0, minute=0, second=0, microsecond=0)
    if word == "today":
        back = 0
    elif word == "yesterday":
        back = 1
    elif word in _WEEKDAYS:
        back = (today.weekday() - _WEEKDAYS.index(word) - 1) % 7 + 1
    else:
        return None
    return _local(today - back * _DAY, "days")


def _written(word: str) -> Span | None:
    found = _WRITTEN.fullmatch(word)
    if found is None:
        return None
    *fields, offset = found.groups()
    given = [field for field in fields if field is not None]
    smallest = _UNITS[len(given) - 1]
    if smallest == "milliseconds":
        given[-1] = given[-1].ljust(3, "0")[:3]
    year, month, day, hour, minute, second, milli = (*map(int, given), *_FIRST[len(given) :])
    start = datetime(year, month, day, hour, minute, second, milli * 1000)
    if offset is None:
        return _local(start, smallest)
    exact = start.replace(tzinfo=_zone(offset))
    return Span(exact.astimezone(), _after(exact, smallest).astimezone())


def _local(start: datetime, unit: str) -> Span:
    """Give the year, month, day, ... that begins at the naive local `start`.

    Where clocks are put back, a stretch that happens twice counts from its first
    beginning to its second end.
    """
    first = _instant(start)
    end = _instant((_after(start, unit) - _INSTANT).replace(fold=1)) + _INSTANT
    return Span(first.astimezone(), max(first, end).astimezone())


def _instant(local: datetime) -> datetime:
    """Find when the clocks showed a naive local time, in UTC.

    `datetime.astimezone` puts a time that the clocks skipped before the skip, where
    `timestamp` goes on counting, so that a day without a midnight begins where it does;
    whole seconds, because a float has not room for more.
    """
    seconds = int(local.replace(microsecond=0).timestamp())
    return _EPOCH + timedelta(seconds=seconds, microseconds=local.microsecond)


def _after(start: datetime, unit: str) -> datetime:
    """Give the beginning of the next year, month, day, ..."""
    if unit == "year":
        return start.replace(year=start.year + 1)
    if unit == "month":
        return (start + _LONGEST_MONTH).replace(day=1)
    return start + timedelta(**{unit: 1})


def _months_before(here: datetime, count: int) -> datetime:
    """Go `count` months back; from the 31st to the last day of a shorter month."""
    year, month = divmod(here.year * 12 + here.month - 1 - count, 12)
    first = here.replace(year=year, month=month + 1, day=1)
    last = (first + _LONGEST_MONTH).replace(day=1) - _DAY
    return first.replace(day=min(here.day, last.day))


def _zone(offset: str) -> timezone:
    """Read `z`, `+02`, `+0200` or `+02:00`, already lower case."""
    if offset == "z":
        return UTC
    digits = offset[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if minutes >= 60:  # noqa: PLR2004 - minutes of an hour
        raise ValueError(offset)
    ahead = timedelta(hours=hours, minutes=minutes)
    return timezone(-ahead if offset[0] == "-" else ahead)
