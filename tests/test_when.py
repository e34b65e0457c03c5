"""What `--since` and `--until` understand, seen from Berlin and other places."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mimohist.errors import BadInput
from mimohist.when import millis, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone cannot be set here")


# Rules and not names of zones, which a machine without the zone database does not know.
BERLIN = "CET-1CEST,M3.5.0,M10.5.0/3"
NEW_YORK = "EST5EDT,M3.2.0,M11.1.0"
LORD_HOWE = "LHST-10:30LHDT-11,M10.1.0,M4.1.0"
KATHMANDU = "NPT-5:45"
BEIRUT = "EET-2EEST,M3.5.0/0,M10.5.0/0"


def live_in(zone: str | None) -> None:
    """Set the local time zone of this process; None: the system's."""
    if zone is None:
        os.environ.pop("TZ", None)
    else:
        os.environ["TZ"] = zone
    time.tzset()


@pytest.fixture(autouse=True)
def berlin() -> Iterator[None]:
    """Every test begins in Berlin and leaves the process where it was."""
    before = os.environ.get("TZ")
    live_in(BERLIN)
    yield
    live_in(before)


def tuesday() -> datetime:
    """Give the moment from which the tests look back."""
    return datetime(2026, 12, 1, 10, 30).astimezone()


@pytest.mark.parametrize(
    ("text", "start", "length"),
    [
        ("2026", "2026-01-01T00:00:00+01:00", timedelta(days=365)),
        ("2024", "2024-01-01T00:00:00+01:00", timedelta(days=366)),
        ("2026-12", "2026-12-01T00:00:00+01:00", timedelta(days=31)),
        ("2026-02", "2026-02-01T00:00:00+01:00", timedelta(days=28)),
        ("2026-11-30", "2026-11-30T00:00:00+01:00", timedelta(days=1)),
        ("2026-11-30T14", "2026-11-30T14:00:00+01:00", timedelta(hours=1)),
        ("2026-11-30 14:05", "2026-11-30T14:05:00+01:00", timedelta(minutes=1)),
        ("2026-11-30t14:05:09", "2026-11-30T14:05:09+01:00", timedelta(seconds=1)),
        ("2026-11-30T14:05:09.25", "2026-11-30T14:05:09.250000+01:00", timedelta(milliseconds=1)),
    ],
)
def test_a_date_is_a_span_of_local_time(text: str, start: str, length: timedelta) -> None:
    """What is written lasts as long as its smallest unit."""
    span = parse(text, tuesday())
    assert (span.start.isoformat(), elapsed(span.start, span.end)) == (start, length)


@pytest.mark.parametrize(
    ("text", "start", "length"),
    [
        ("2026-11-29T13:05:09.120Z", "2026-11-29T13:05:09.120000", timedelta(milliseconds=1)),
        ("2026-11-29T13:05:09.1209Z", "2026-11-29T13:05:09.120000", timedelta(milliseconds=1)),
        ("2026-11-30T14:05:09z", "2026-11-30T14:05:09", timedelta(seconds=1)),
        ("2026-11-30T14:05:09.250+02:00", "2026-11-30T12:05:09.250000", timedelta(milliseconds=1)),
        ("2026-11-30T14:05-0330", "2026-11-30T17:35:00", timedelta(minutes=1)),
        ("2026-11-30T14+02", "2026-11-30T12:00:00", timedelta(hours=1)),
    ],
)
def test_an_offset_is_believed(text: str, start: str, length: timedelta) -> None:
    """A time with an offset does not depend on where one is; digits below ms are dropped."""
    span = parse(text, tuesday())
    in_utc = span.start.astimezone(UTC).replace(tzinfo=None)
    assert (in_utc.isoformat(), elapsed(span.start, span.end)) == (start, length)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("today", "2026-12-01T00:00:00+01:00"),
        ("yesterday", "2026-11-30T00:00:00+01:00"),
        ("Monday", "2026-11-30T00:00:00+01:00"),
        ("tuesday", "2026-11-24T00:00:00+01:00"),
        (" wednesday ", "2026-11-25T00:00:00+01:00"),
        ("sunday", "2026-11-29T00:00:00+01:00"),
    ],
)
def test_a_weekday_is_the_last_one_before_today(text: str, start: str) -> None:
    """Said on a Tuesday, Tuesday is a week ago; each is a whole day."""
    span = parse(text, tuesday())
    assert (span.start.isoformat(), elapsed(span.start, span.end)) == (start, timedelta(days=1))


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("90m", "2026-12-01T09:00:00+01:00"),
        ("12h", "2026-11-30T22:30:00+01:00"),
        ("3d", "2026-11-28T10:30:00+01:00"),
        ("2w", "2026-11-17T10:30:00+01:00"),
        ("6mo", "2026-06-01T10:30:00+02:00"),
        ("1y", "2025-12-01T10:30:00+01:00"),
        ("0d", "2026-12-01T10:30:00+01:00"),
    ],
)
def test_an_age_is_a_moment(text: str, start: str) -> None:
    """Days and longer keep the time of day, also into summer time."""
    span = parse(text, tuesday())
    assert span.start == span.end
    assert span.start.isoformat() == start


@pytest.mark.parametrize(
    ("now", "age", "date"),
    [
        ("2026-03-31", "1mo", "2026-02-28"),
        ("2024-02-29", "1y", "2023-02-28"),
        ("2026-01-31", "14mo", "2024-11-30"),
    ],
)
def test_a_month_back_from_the_31st_is_its_last_day(now: str, age: str, date: str) -> None:
    """Months are calendar months, cut to those that are shorter."""
    assert parse(age, datetime.fromisoformat(now).astimezone()).start.date().isoformat() == date


def test_days_have_as_many_hours_as_the_clocks_give_them() -> None:
    """The day summer time begins has 23 hours, the day it ends 25."""
    spring = parse("2026-03-29", tuesday())
    autumn = parse("2026-10-25", tuesday())
    assert spring.start.isoformat() == "2026-03-29T00:00:00+01:00"
    assert spring.end.isoformat() == "2026-03-30T00:00:00+02:00"
    assert autumn.start.isoformat() == "2026-10-25T00:00:00+02:00"
    assert autumn.end.isoformat() == "2026-10-26T00:00:00+01:00"
    assert elapsed(autumn.start, autumn.end) == timedelta(hours=25)


def test_an_hour_that_happens_twice_is_both() -> None:
    """02:xx comes twice on the night summer time ends; the hour before it ends at the first."""
    twice = parse("2026-10-25T02", tuesday())
    minute = parse("2026-10-25T02:30", tuesday())
    before = parse("2026-10-25T01", tuesday())
    assert (twice.start.isoformat(), twice.end.isoformat()) == (
        "2026-10-25T02:00:00+02:00",
        "2026-10-25T03:00:00+01:00",
    )
    assert (minute.start.isoformat(), minute.end.isoformat()) == (
        "2026-10-25T02:30:00+02:00",
        "2026-10-25T02:31:00+01:00",
    )
    assert before.end == twice.start


def test_an_hour_that_the_clocks_skip_is_empty() -> None:
    """Nothing happened between 02:00 and 03:00 on the night summer time begins."""
    for text in ("2026-03-29T02", "2026-03-29T02:59"):
        skipped = parse(text, tuesday())
        assert skipped.start == skipped.end


def test_hours_are_elapsed_time() -> None:
    """Summer time ended this night, so 12 hours before noon the clock showed one; a day, noon."""
    noon = datetime(2026, 10, 25, 12).astimezone()
    assert parse("12h", noon).start.isoformat() == "2026-10-25T01:00:00+02:00"
    assert parse("1d", noon).start.isoformat() == "2026-10-24T12:00:00+02:00"


def test_a_day_without_a_midnight_begins_where_it_does() -> None:
    """In Beirut summer time begins at midnight: the day before ends where the first hour begins."""
    live_in(BEIRUT)
    day = parse("2026-03-29", tuesday())
    assert day.start == parse("2026-03-28", tuesday()).end
    assert day.start.isoformat() == "2026-03-29T01:00:00+03:00"
    assert elapsed(day.start, day.end) == timedelta(hours=23)


def test_new_york_on_the_day_of_a_message() -> None:
    """A message of 03:30Z on 2 March is of 1 March in New York."""
    live_in(NEW_YORK)
    day = parse("2026-03-01", tuesday())
    assert day.start <= datetime(2026, 3, 2, 3, 30, tzinfo=UTC) < day.end


def test_now_may_be_told_in_any_zone() -> None:
    """`now` says when it is, not where one is: it is already Wednesday in Berlin."""
    late = datetime(2026, 12, 1, 23, 30, tzinfo=UTC)
    assert parse("today", late).start.isoformat() == "2026-12-02T00:00:00+01:00"
    assert parse("1d", late).start.isoformat() == "2026-12-01T00:30:00+01:00"


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "banana", "last week", "12 h", "-3d", "3", "3x", "d", "1.5d", "tomorrow"),
        *("2026-13", "2026-00", "2026-02-30", "2026-11-30T24", "2026-11-30T14:60", "20261130"),
        *("2026-11-30Z", "2026-1-1", "2026-W48", "2026-11-30T14:05:09.", "2026-11-30T14:05+99:00"),
        *("2026-11-30T14:05+02:75", "01/02/2026", "2026-11-30T14:05:09.120ZZ"),
        *(
            "0000",
            "9999",
            "9999-12-31",
            "9999999999d",
            "99999y",
            "9" * 5000 + "d",
            "\u0663d",
            "\uff12\uff10\uff12\uff16",
        ),
    ],
)
def test_anything_else_is_an_error_with_an_example(text: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(BadInput, match=r"^not a time: .* \(try 2026-11-30, 3d"):
        parse(text, tuesday())


WRITTEN = st.from_regex(
    r"\d{4}(-\d\d(-\d\d([T ]\d\d(:\d\d(:\d\d(\.\d{1,9})?)?)?(Z|[+-]\d\d:\d\d)?)?)?)?",
    fullmatch=True,
)
AGES = st.from_regex(r"[0-9]{1,12}(mo|y|w|d|h|m)", fullmatch=True)


@given(st.text() | WRITTEN | AGES)
@example("0001-01-01")
@example("0001-01-01T00:00+14:00")
@example("9998-12-31T23:59:59.999-23:59")
@example("2026y")
def test_every_text_is_a_span_or_bad_input(text: str) -> None:
    """Whatever is typed, it parses to a span that does not end before it begins, or is refused."""
    try:
        span = parse(text, tuesday())
    except BadInput:
        return
    assert span.start <= span.end
    assert None not in (span.start.utcoffset(), span.end.utcoffset())


@given(
    st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1)),
    st.sampled_from(
        ["%Y", "%Y-%m", "%Y-%m-%d", "%Y-%m-%dT%H", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]
    ),
    st.sampled_from([BERLIN, NEW_YORK, LORD_HOWE, KATHMANDU, BEIRUT]),
)
def test_a_moment_is_within_what_its_clock_shows(at: datetime, form: str, zone: str) -> None:
    """Cut anywhere, the local time of a moment is a span that holds the moment."""
    live_in(zone)
    moment = at.replace(tzinfo=UTC).astimezone()
    span = parse(moment.strftime(form), tuesday())
    assert span.start <= moment < span.end


@given(st.integers(min_value=-62_000_000_000_000, max_value=250_000_000_000_000))
def test_millis_is_exact(instant: int) -> None:
    """Epoch milliseconds survive the way through a datetime, in any zone."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=instant)
    assert millis(moment) == instant
    assert millis(moment.astimezone(timezone(timedelta(hours=5, minutes=45)))) == instant
    assert millis(moment + timedelta(microseconds=999)) == instant


def elapsed(start: datetime, end: datetime) -> timedelta:
    """Tell how much time passed, not how far the clock's hands moved."""
    return end.astimezone(UTC) - start.astimezone(UTC)
