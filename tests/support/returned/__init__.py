"""The records whose GET can be sent back: where each is read, changed and created, and one full example of it."""

from tests.support.returned.flags import FLAGS
from tests.support.returned.people import PEOPLE
from tests.support.returned.projects import PROJECTS
from tests.support.returned.vocabulary import VOCABULARY

SENDABLE = (*VOCABULARY, *FLAGS, *PEOPLE, *PROJECTS)
