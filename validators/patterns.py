"""What a naming pattern may say, read into its parts: characters, classes, groups, alternatives and repetitions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

PATTERN_MAX = 255
# Of a pattern with its repetitions written out: a{3} is three places.
MOST_PLACES = 1000
MOST_LEVELS = 20

Ranges = tuple[tuple[str, str], ...]

LAST = "\U0010ffff"
ESCAPED_CLASSES: dict[str, Ranges] = {
    r"\d": (("0", "9"),),
    r"\D": (("\0", "/"), (":", LAST)),
    r"\w": (("0", "9"), ("A", "Z"), ("_", "_"), ("a", "z")),
    r"\W": (("\0", "/"), (":", "@"), ("[", "^"), ("`", "`"), ("{", LAST)),
}
CLASS = re.compile(r"\[(\^?+)((?:\\.|[^\]\[\\])+)\]")
MEMBER = re.compile(r"(\\.|[^\\])(?:-(\\.|[^\\]))?")
SINGLE = re.compile(r"\\.|[^\\\[\](){}|*+?^$]")
GROUP = re.compile(r"\((\?:)?(?!\?)")
QUANTIFIER = re.compile(r"(?:([*+?])|\{(\d{1,4})(?:(,)(\d{0,4}))?\})\??", re.ASCII)


class PatternError(ValueError):
    """A pattern is not one of ours; the message is the end of a sentence about it."""


def parsed(pattern: str) -> "Node":
    """The parts of a pattern. PatternError: it is none of ours."""
    if len(pattern) > PATTERN_MAX:
        raise PatternError(f"must be at most {PATTERN_MAX} characters long")
    if not all(character.isprintable() and not character.isspace() for character in pattern):
        raise PatternError("must not contain white space or control characters")
    return Parser(pattern).whole()


# What a pattern says. size: how many places it has, at least 1.


@dataclass(frozen=True)
class Single:
    """One character of these ranges, or of none of them."""

    ranges: Ranges
    negated: bool = False
    size: int = 1

    def takes(self, character: str) -> bool:
        """Whether it is this one."""
        return any(low <= character <= high for low, high in self.ranges) != self.negated


@dataclass(frozen=True)
class Sequence:
    """One part behind the other."""

    parts: "list[Node]"
    size: int


@dataclass(frozen=True)
class Choice:
    """One of the parts."""

    parts: "list[Node]"
    size: int


@dataclass(frozen=True)
class Repetition:
    """The part least times or more, up to most times; None: without end."""

    part: "Node"
    least: int
    most: int | None
    size: int


Node = Single | Sequence | Choice | Repetition


def limited(size: int) -> int:
    """The size of a part, at least 1, or PatternError."""
    if size > MOST_PLACES:
        raise PatternError(f"must not have more than {MOST_PLACES} places when its repetitions are written out")
    return max(size, 1)


class Parser:
    """Reads a pattern from its first character to its last."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.place = 0
        self.level = 0

    def take(self, what: re.Pattern[str]) -> re.Match[str] | None:
        """What stands at this place, if it is this; then the place is behind it."""
        found = what.match(self.pattern, self.place)
        if found:
            self.place = found.end()
        return found

    def at(self, character: str) -> bool:
        """Whether this character comes next."""
        return self.pattern.startswith(character, self.place)

    def whole(self) -> Node:
        """The pattern."""
        node = self.choice()
        if self.place < len(self.pattern):
            raise self.unexpected()
        return node

    def choice(self) -> Node:
        """Alternatives, up to the end of the group or pattern."""
        parts = [self.sequence()]
        while self.at("|"):
            self.place += 1
            parts.append(self.sequence())
        return parts[0] if len(parts) == 1 else Choice(parts, limited(sum(part.size for part in parts)))

    def sequence(self) -> Node:
        """What follows each other. A pattern is anchored at both ends, so that ^ and $ change nothing there."""
        if self.level == 0 and self.at("^"):
            self.place += 1
        parts = []
        while part := self.part():
            parts.append(self.repeated(part))
        if self.level == 0 and self.at("$"):
            self.place += 1
        return Sequence(parts, limited(sum(part.size for part in parts)))

    def part(self) -> Node | None:
        """A group, a class or a character; None: neither comes next."""
        if self.take(GROUP):
            self.level += 1
            if self.level > MOST_LEVELS:
                raise PatternError(f"must not have more than {MOST_LEVELS} groups inside each other")
            inner = self.choice()
            if not self.at(")"):
                raise self.unexpected()
            self.place += 1
            self.level -= 1
            return inner
        if found := self.take(CLASS):
            return Single(tuple(members(found[2])), bool(found[1]))
        if found := self.take(SINGLE):
            return Single((("\0", LAST),) if found[0] == "." else ranges(found[0]))
        return None

    def repeated(self, part: Node) -> Node:
        """The part as often as the quantifier behind it says."""
        found = self.take(QUANTIFIER)
        if not found:
            return part
        if found[1]:
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[found[1]]
        else:
            least = int(found[2])
            most = least if not found[3] else int(found[4]) if found[4] else None
        if most is not None and most < least:
            raise PatternError(f"must not repeat at least {least} times and at most {most} times")
        times = max(1, least if most is None else most)
        return Repetition(part, least, most, limited(part.size * times))

    def unexpected(self) -> PatternError:
        """What to say of the character at this place."""
        rest = self.pattern[self.place :]
        if not rest:
            return PatternError("must close each group that it opens")
        if rest.startswith("(?"):
            return PatternError("must not look around, name groups or set flags: (?: is the one group of its kind that can be used")
        if rest[0] in "^$":
            return PatternError(f"must not use {rest[0]} anywhere but at its ends")
        return PatternError(f"cannot be understood at character {self.place + 1}: {rest[0]}")


def ranges(word: str) -> Ranges:
    """The characters that one character of a pattern, or an escaped one, stands for."""
    if word in ESCAPED_CLASSES:
        return ESCAPED_CLASSES[word]
    if word.startswith("\\") and word[1].isalnum():
        raise PatternError(f"must not use {word}; of letters and digits, only \\d, \\D, \\w and \\W can be escaped")
    return ((word[-1], word[-1]),)


def members(text: str) -> Iterator[tuple[str, str]]:
    """The ranges of what stands in the brackets of a class."""
    for word, end in MEMBER.findall(text):
        if not end:
            yield from ranges(word)
        elif {word, end} & ESCAPED_CLASSES.keys() or ranges(word) > ranges(end):
            raise PatternError(f"must not have the range {word}-{end}")
        else:
            yield ranges(word)[0][0], ranges(end)[0][0]
