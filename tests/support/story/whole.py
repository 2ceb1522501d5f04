"""The whole story, chapter by chapter."""

from flask import Flask

from tests.support.instance import ADMIN_KEY
from tests.support.story import Story, documents, flags, people, places, strategies, vocabulary

CHAPTERS = (people, places, vocabulary, flags, strategies, documents)


def whole_story(app: Flask) -> Story:
    """Tell all chapters in order."""
    story = Story.begin(app, ADMIN_KEY)
    for chapter in CHAPTERS:
        chapter.tell(story)
    return story
