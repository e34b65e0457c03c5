"""How sessions and messages are named."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mimohist import refs
from mimohist.errors import BadInput
from mimohist.refs import Ref

# Lone surrogates included: an id is what the other program wrote.
IDS = st.text(st.characters(exclude_categories=()), min_size=1)


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("msg_01JC", [Ref(message="msg_01JC"), Ref(session="msg_01JC")]),
        ("7f3a9c21", [Ref(message="7f3a9c21"), Ref(session="7f3a9c21")]),
        (
            "mimo/ses_3b1f",
            [Ref(source="mimo", session="ses_3b1f"), Ref(session="mimo", message="ses_3b1f")],
        ),
        (
            "3b1f/42",
            [
                Ref(source="3b1f", session="42"),
                Ref(session="3b1f", message="42"),
                Ref(session="3b1f", ordinal=42),
            ],
        ),
        (
            "mimo/ses_3b1f/msg_01JC",
            [Ref(source="mimo", session="ses_3b1f", message="msg_01JC")],
        ),
        (
            "claude/7f3a9c21/42",
            [
                Ref(source="claude", session="7f3a9c21", message="42"),
                Ref(source="claude", session="7f3a9c21", ordinal=42),
            ],
        ),
        (" claude/7f3a/x\n", [Ref(source="claude", session="7f3a", message="x")]),
    ],
)
def test_every_reading_is_given_in_order(text: str, readings: list[Ref]) -> None:
    """A number may be an ordinal or an id, a pair may begin with a source or a session."""
    assert list(refs.parse(text)) == readings


@pytest.mark.parametrize("name", ["0", "-1", "1.0", "4_2", "²", "٤", "1234567890"])
def test_only_small_positive_numbers_count_messages(name: str) -> None:
    """Ordinals are plain decimal numbers from 1; anything else can only be an id."""
    assert refs.parse(f"mimo/s/{name}") == (Ref("mimo", "s", message=name),)


@pytest.mark.parametrize(
    "text", ["", " ", "/", "//", "mimo/", "/s", "mimo//m", "mimo/s/", "a/b/c/d", "mimo/s/m/"]
)
def test_what_has_no_reading_is_bad_input(text: str) -> None:
    """Empty and surplus components are refused with a form that works."""
    with pytest.raises(BadInput, match=r"^not a reference: .* \(try SOURCE/SESSION/MESSAGE_ID"):
        refs.parse(text)


@pytest.mark.parametrize(
    ("session", "written"),
    [
        ("ses_3b1f", "ses_3b1f"),
        ("rollout-2026-11-29T13.05.jsonl", "rollout-2026-11-29T13.05.jsonl"),
        ("docs/a b", "docs%2Fa%20b"),
        ("100%", "100%25"),
        ("%2F", "%252F"),
        ("会话", "会话"),
        ("全　角", "全%E3%80%80角"),
        ("a\tb\x1b[1m\u202e", "a%09b%1B[1m%E2%80%AE"),
        ("\ud83d", "%ED%A0%BD"),
    ],
)
def test_ids_stay_legible(session: str, written: str) -> None:
    """Only what would split, hide or reorder a ref is encoded."""
    assert refs.format("claude", session) == f"claude/{written}"


@pytest.mark.parametrize("text", ["100%", "%zz", "%", "a%E4b", "50%_done"])
def test_a_percent_that_encodes_nothing_is_itself(text: str) -> None:
    """An id copied from elsewhere may hold a bare `%`."""
    assert refs.parse(text)[0] == Ref(message=text)


@given(IDS, IDS, st.none() | IDS)
@example("mimo", "7", "7")
@example("a/b", "%2F", " ")
@example("\ud83d\ude00", "\ud83d", "\x00")
def test_what_is_written_reads_back_first(source: str, session: str, message: str | None) -> None:
    """A printed ref is one printable word, and its first reading is what was meant."""
    text = refs.format(source, session, message)
    assert text.isprintable()
    assert len(text.split()) == 1
    assert refs.parse(text)[0] == Ref(source, session, message=message)


@given(IDS)
def test_every_text_has_readings_or_is_bad_input(text: str) -> None:
    """Whatever is typed, nothing else is raised, and every reading names something."""
    try:
        readings = refs.parse(text)
    except BadInput:
        return
    assert readings
    for reading in readings:
        assert reading.session or reading.message
        assert reading.message is None or reading.ordinal is None
