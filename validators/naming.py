"""Names held against the naming pattern of a project, in time that grows with the name alone.

Our choice: an automaton of our own. It never goes back: each character of a name is looked at once, with all the places of the pattern that
it can have reached (Glushkov's construction, as bit masks).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, reduce

from validators.patterns import Choice, Node, Sequence, Single, parsed


def matches(pattern: str, name: str) -> bool:
    """Whether the pattern matches the whole name. PatternError: it is none that check() lets through."""
    return automaton(pattern).matches(name)


def check(pattern: str) -> None:
    """PatternError unless this is a pattern that matches() can work with."""
    automaton(pattern)


@lru_cache(256)
def automaton(pattern: str) -> "Automaton":
    """What matches a pattern."""
    return Automaton(parsed(pattern))


@dataclass(frozen=True)
class Fragment:
    """A part in place: whether it can be nothing, and where it can begin and end, as bit masks."""

    can_be_nothing: bool
    firsts: int
    lasts: int


NOTHING = Fragment(True, 0, 0)


class Automaton:
    """The places of a pattern, and which can follow which."""

    def __init__(self, node: Node) -> None:
        self.singles: dict[Single, int] = {}
        self.follows: list[int] = []
        self.known: dict[str, int] = {}
        self.fragment = self.add(node)

    def matches(self, text: str) -> bool:
        """Whether the whole text fits. Takes time in proportion to its length."""
        if not text:
            return self.fragment.can_be_nothing
        reached, next_ones = 0, self.fragment.firsts
        for character in text:
            reached = next_ones & self.places_of(character)
            next_ones = 0
            for place in bits(reached):
                next_ones |= self.follows[place]
        return bool(reached & self.fragment.lasts)

    def places_of(self, character: str) -> int:
        """The places that take a character."""
        return reduce(int.__or__, (places for single, places in self.singles.items() if single.takes(character)), 0)

    def add(self, node: Node) -> Fragment:
        """Give a part places of its own."""
        if isinstance(node, Single):
            place = 1 << len(self.follows)
            self.follows.append(0)
            self.singles[node] = self.singles.get(node, 0) | place
            return Fragment(False, place, place)
        if isinstance(node, Sequence):
            return reduce(self.joined, map(self.add, node.parts), NOTHING)
        if isinstance(node, Choice):
            return reduce(either, map(self.add, node.parts))
        copies = max(1, node.least if node.most is None else node.most) if node.most != 0 else 0
        whole = NOTHING
        for number in range(copies):
            one = self.add(node.part)
            if node.most is None and number == copies - 1:
                self.link(one.lasts, one.firsts)
            if number >= node.least:
                one = Fragment(True, one.firsts, one.lasts)
            whole = self.joined(whole, one)
        return whole

    def joined(self, before: Fragment, after: Fragment) -> Fragment:
        """Two parts, one behind the other."""
        self.link(before.lasts, after.firsts)
        return Fragment(
            before.can_be_nothing and after.can_be_nothing,
            before.firsts | (after.firsts if before.can_be_nothing else 0),
            after.lasts | (before.lasts if after.can_be_nothing else 0),
        )

    def link(self, lasts: int, firsts: int) -> None:
        """Let each of these places be followed by those."""
        for place in bits(lasts):
            self.follows[place] |= firsts


def either(one: Fragment, other: Fragment) -> Fragment:
    """One of two parts."""
    return Fragment(one.can_be_nothing or other.can_be_nothing, one.firsts | other.firsts, one.lasts | other.lasts)


def bits(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
