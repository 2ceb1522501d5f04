"""What integrations send: the bodies of messages, the template of a webhook, and its signature.

A message is about rows of sql.deliveries.list_due(): the events, oldest first, with the names of their authors.
"""

import hmac
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import quote

from flask import current_app

from rules.event_text import changes, sentence, shorten
from sql.database import as_json
from validators.integrations import TAG

Rows = Sequence[Mapping[str, Any]]
# The maximum length of a message of Discord, the number of changes in a message, and their length. "…" counts too.
DISCORD_MAX, MAX_CHANGES, MAX_CHANGE = 1999, 5, 99
# Our choice: of a filled template, in bytes. A template can contain the same large event many times.
BODY_MAX = 2**20
# How chats write bold text and links.
SLACK = ("*{}*", "<{1}|{0}>")
MARKDOWN = ("**{}**", "[{}]({})")
LOOK_ALIKES = {"*": "∗", "_": "ˍ", "~": "∼", "`": "ˋ"}


class MessageTooLongError(Exception):
    """The filled template of a webhook is longer than BODY_MAX."""


def lines(rows: Rows, markup: tuple[str, str]) -> list[str]:
    """Return the lines of a chat message: a sentence for each event, and the changes of a single one."""
    if rows[0]["event"]["type"] == "test":
        return [f"This is a test message from {current_app.config['BASE_URL']}."]
    found = [line(row["event"], row["author"], markup) for row in rows if row["event"]]
    if more := len(rows) - len(found):
        found.append(f"and {more} more: {current_app.config['BASE_URL']}/events")
    for change in changes(rows[0]["event"])[0][:MAX_CHANGES] if len(rows) == 1 else ():
        values = " → ".join(text for text in (change.before, change.after) if text is not None)
        found.append(escaped(shorten(f"{change.name.removeprefix('parameters.')}: {values}", MAX_CHANGE), markup))
    return found


def line(event: Mapping[str, Any], author: str, markup: tuple[str, str]) -> str:
    """Return who did what, with links to the pages of flags, projects and change requests."""
    bold, link = markup
    text = bold.format(escaped(author, markup)) + " "
    for word in sentence(event):
        name = escaped(word.text or "", markup)
        paths = {"project": "", "flag": f"/flags/{event['featureName']}", "request": f"/change-requests/{word.text}"}
        path = f"/projects/{event['project']}{paths.get(word.kind, '')}"
        text += link.format(name, current_app.config["BASE_URL"] + quote(path)) if word.kind in paths else name
    return text


def escaped(text: str, markup: tuple[str, str]) -> str:
    """Return a text that the chat shows as it is, in one line."""
    text = re.sub(r"\s", " ", text)
    if markup == MARKDOWN:
        return re.sub(r"([\\`*_\[\]()<>#~|@])", r"\\\1", text)
    # Slack has no escape for these. It reads them as markup where a word begins or ends, so new_checkout stays.
    return re.sub(r"(?<![^\W_])[*_~`]|[*_~`](?![^\W_])", lambda found: LOOK_ALIKES[found[0]], escape(text, quote=False))


def body(provider: str, parameters: Mapping[str, str], rows: Rows) -> str:
    """Return the body of a message."""
    if provider == "webhook":
        event = rows[0]["event"]
        return filled(parameters, rows) if "bodyTemplate" in parameters else as_json(event)
    names = {"username": "username", "emojiIcon": "icon_emoji", "defaultChannel": "channel"}
    extra = {key: parameters[name] for name, key in names.items() if name in parameters}
    texts = lines(rows, SLACK if provider == "slack" else MARKDOWN)
    if provider == "slack":
        return as_json({"text": "\n".join(texts), **extra})
    if provider == "discord":
        return as_json({"content": shorten("\n".join(texts), DISCORD_MAX), "allowed_mentions": {"parse": []}, **extra})
    card = {
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [{"type": "TextBlock", "text": text, "wrap": True} for text in texts],
        "actions": [
            {"type": "Action.OpenUrl", "title": "Open Flags", "url": f"{current_app.config['BASE_URL']}/events"}
        ],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return as_json({"type": "message", "attachments": [attachment]})


def filled(parameters: Mapping[str, str], rows: Rows) -> str:
    """Return the template of a webhook, filled with its event."""
    event = rows[0]["event"]
    context = {"event": event, "eventJson": event, "eventMarkdown": lines(rows, MARKDOWN)[0]}
    is_json = "json" in parameters.get("contentType", "json")
    room = BODY_MAX - len(parameters["bodyTemplate"].encode())

    def fill(tag: re.Match[str]) -> str:
        nonlocal room
        value: Any = context
        for name in tag["name"].split("."):
            if isinstance(value, list):
                value = {str(number): item for number, item in enumerate(value)}
            value = value.get(name) if isinstance(value, dict) else None
        text = "" if value is None else value if isinstance(value, str) else as_json(value)
        text = text if not is_json else as_json(value) if tag["raw"] else as_json(text)[1:-1]
        room -= len(text.encode())
        if room < 0:
            raise MessageTooLongError
        return text

    return TAG.sub(fill, parameters["bodyTemplate"])


def headers(parameters: Mapping[str, str], message_id: str, body: bytes, now: int) -> dict[str, str]:
    """Return the headers of a message, with a signature if there is a secret. now: in seconds since 1970."""
    found = {"Content-Type": parameters.get("contentType", "application/json"), "User-Agent": "flags"}
    found |= json.loads(parameters.get("customHeaders", "{}"))
    if "authorization" in parameters:
        found["Authorization"] = parameters["authorization"]
    if "signingSecret" in parameters:
        key = b64decode(parameters["signingSecret"].removeprefix("whsec_"))
        signature = b64encode(hmac.digest(key, f"{message_id}.{now}.".encode() + body, "sha256")).decode()
        found |= {"webhook-id": message_id, "webhook-timestamp": str(now), "webhook-signature": f"v1,{signature}"}
    return found
