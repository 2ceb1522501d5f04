"""Free text in both event searches: a plain substring, in any case of letters and any script."""

from collections.abc import Callable

import pytest

from rules.access import Actor
from sql.database import Connection
from tests.support.deprecated_event_search import PATH as DEPRECATED
from tests.support.deprecated_event_search import found as found_deprecated
from tests.support.event_search import PATH, Log, found
from tests.support.world import Caller, refused

Search = Callable[[str], list[int]]


@pytest.fixture(params=["GET", "POST"])
def search(request: pytest.FixtureRequest, alice: Caller) -> Search:
    """What a free text finds, in the one form of the search and in the other."""
    if request.param == "GET":
        return lambda text: found(alice.get(PATH, query_string={"query": text}))
    return lambda text: found_deprecated(alice.post(DEPRECATED, json={"query": text}))


def test_text_is_found_in_data_in_the_state_before_and_in_tags(search: Search, log: Log) -> None:
    in_data = log.add(data={"name": "needle"})
    in_key = log.add(data={"a": [{"b": {"needle": 1}}]})
    before = log.add(pre_data={"name": "a needle in the hay"})
    in_tag = log.add(tags=[{"type": "simple", "value": "needles"}])
    in_tag_type = log.add(tags=[{"type": "needle", "value": "xx"}])
    log.add(data={"name": "nee dle"}, pre_data={"needl": "e"}, tags=[{"type": "simple", "value": "hay"}])
    log.add()
    assert search("needle") == [in_tag_type, in_tag, before, in_key, in_data]


def test_payload_is_searched_as_json_text(search: Search, log: Log) -> None:
    event = log.add(data={"name": "checkout", "weight": 1000, "enabled": False, "title": None, "list": ["a", "b"]})
    log.add(data={"name": "other", "weight": 999, "enabled": True, "title": "", "list": ["ab"]})
    for text in ('"name":"checkout"', "1000", "false", "null", '"a","b"', '{"name":"c', "]}"):
        assert event in search(text), text
    assert search('"checkout"') == search("null") == search("1000") == [event]


def test_only_the_payload_and_no_other_field_of_an_event_is_searched(search: Search, log: Log) -> None:
    log.add(project="needle", feature="needle", environment="needle", by=Actor("ada", 4711))
    assert search("needle") == []
    assert search("4711") == []
    assert search("2026-") == search("default") == []


def test_event_type_and_its_author_are_searched_by_post_alone(alice: Caller, log: Log) -> None:
    by_ada = log.add("feature-archived", by=Actor("Ada.Lovelace@example.org", 7))
    by_key = log.add("tag-created", by=Actor("the KEY of CI"))
    for text, expected in (
        ("archived", [by_ada]),
        ("FEATURE-arch", [by_ada]),
        ("-", [by_key, by_ada]),
        ("ada.lovelace@EXAMPLE", [by_ada]),
        ("the key of ci", [by_key]),
        ("adaxlovelace", []),
        ("tag%", []),
    ):
        assert found(alice.get(PATH, query_string={"query": text})) == [], text
        assert found_deprecated(alice.post(DEPRECATED, json={"query": text})) == expected, text


@pytest.mark.parametrize("field", ["data", "pre_data", "tags"])
def test_upper_and_lower_case_are_the_same(search: Search, log: Log, field: str) -> None:
    values = [{"type": "simple", "value": name} for name in ("needle é ü ж σ", "NEEDLE É Ü Ж Σ", "nEEdLe É ü Ж σ")]
    lower, upper, mixed = (log.add(**{field: [value] if field == "tags" else value}) for value in values)
    for text in ("needle", "NEEDLE", "É", "ü", "Ж", "σ", "Σ", "é ü ж", "É Ü Ж", "É ü Ж"):
        assert search(text) == [mixed, upper, lower], text


@pytest.mark.parametrize(
    "word", [*"é Grüße 漢字 かな 한국어 🎉 👩\u200d👩\u200d👧 Кириллица עברית العربية ไทย ﬁ ß".split(), "\u200b"]
)
def test_text_in_any_script_is_found(search: Search, log: Log, word: str) -> None:
    events = [
        log.add(data={"name": f"a {word} b"}),
        log.add(pre_data={word: 1}),
        log.add(tags=[{"type": "simple", "value": word * 2}]),
    ]
    log.add(data={"name": "a b"})
    assert search(word) == events[::-1]
    # Not as an escape sequence, which such a word would be in JSON of ASCII alone.
    assert search("\\u") == []


# With what each would also match if it meant more than itself.
LITERALS = {
    **dict.fromkeys(("%", "_", ".", "^", "$", "***", "***=", "(?:", "[x", "(", ")", "*", "%%", "$$", "#", "';--"), "x"),
    **dict.fromkeys(("a.c", "a_c", "a%c"), "abc"),
    **dict.fromkeys(("***=abc", "***:abc", "(?i)abc", "(?e)abc"), "abc"),
    **dict.fromkeys(("[abc]", "(a|b)", "a|b", "a?"), "a"),
    **{"a*": "aaa", "a+": "aa", "a{2}": "aa", "%s": "s", "%(pattern)s": "x", "{record}": "x", "a b": "ab", "  ": " x "},
}


def test_no_character_means_anything_but_itself(search: Search, conn: Connection) -> None:
    for text, other in LITERALS.items():
        log = Log(conn)
        event = log.add("tag-created", data={"name": f"1{text}2"})
        log.add("tag-created", data={"name": f"1{other}2"})
        log.add("tag-created", data={"name": ""})
        assert search(text) == [event], text


@pytest.mark.parametrize(
    ("text", "is_found"),
    [("\\", True), ("\\\\", True), ("\\d", True), ("\\\\d", True), ("\\\\\\", False), ("\\w", False)],
)
def test_backslash_is_one(search: Search, log: Log, text: str, is_found: bool) -> None:
    # In JSON text it stands twice.
    event = log.add(data={"path": "c:\\dir"})
    log.add(data={"path": "c:/dir5"})
    assert search(text) == ([event] if is_found else [])


def test_line_break_in_the_text_is_looked_for_as_such(search: Search, log: Log) -> None:
    escaped = log.add(data={"text": "one\ntwo"})
    between = log.add(data={"one": 1})
    # As somebody may have written it into the database: JSON text may have line breaks between its words.
    log.conn.execute("UPDATE events SET data = %s WHERE id = %s", ['{"one":\n1}', between])
    assert search(":\n1") == [between]
    assert search("one\ntwo") == []
    assert search("one\\ntwo") == [escaped]
    assert search("1.") == search("1$") == []


def test_blanks_are_looked_for_and_an_empty_text_is_none(search: Search, log: Log) -> None:
    spaced, other = log.add(data={"name": "a b"}), log.add(data={"name": "ab"})
    assert search("") == [other, spaced]
    assert search(" ") == search("a b") == [spaced]
    assert search(" a b") == search("a b ") == search("\t") == []


def test_text_of_a_thousand_characters_is_found(search: Search, log: Log) -> None:
    word = "".join(chr(97 + number * number % 26) for number in range(980)) + "漢字" * 10
    event = log.add(data={"word": f"{word}z"})
    log.add(data={"word": word[:-1]})
    assert search(word) == [event]


@pytest.mark.parametrize("length", [1001, 1_000_000])
def test_longer_text_is_refused(alice: Caller, length: int) -> None:
    message = "query: must be at most 1000 characters long"
    assert refused(alice.post(DEPRECATED, json={"query": "x" * length})) == message
    if length < 8000:
        assert refused(alice.get(PATH, query_string={"query": "x" * length})) == message


def test_query_string_of_more_than_8192_bytes_is_refused(alice: Caller, log: Log) -> None:
    event = log.add(data={"word": "x"})
    for rest, is_taken in ((8192 - len("query=x&y="), True), (8193 - len("query=x&y="), False), (200_000, False)):
        response = alice.get(f"{PATH}?query=x&y={'z' * rest}")
        assert found(response) == [event] if is_taken else "query string" in refused(response)


def test_text_combines_with_the_other_filters(alice: Caller, log: Log) -> None:
    wanted = log.add("tag-created", project="p", data={"a": "needle"})
    log.add("tag-created", project="p", data={"a": "hay"})
    log.add("tag-created", project="q", data={"a": "needle"})
    log.add("tag-deleted", project="p", data={"a": "needle"}, pre_data={"a": "needle"})
    asked = {"query": "needle", "project": "IS:p", "type": "IS:tag-created"}
    assert found(alice.get(PATH, query_string=asked)) == [wanted]
    # The alternatives of the text stay together: they do not open the other filters.
    asked = {"query": "needle", "project": "p", "type": "tag-created"}
    assert found_deprecated(alice.post(DEPRECATED, json=asked)) == [wanted]
