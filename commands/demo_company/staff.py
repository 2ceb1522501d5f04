"""The people of the company as users: hired, promoted, gone."""

from datetime import UTC, datetime, time

from commands.demo_company.cast import People
from commands.demo_company.log import SYSTEM, Log
from sql import Connection, past_users, users


def hire(conn: Connection, people: People, role_ids: dict[str, int], log: Log) -> None:
    """Make everybody a user. Who signed up by a token is its author himself; the token is linked later."""
    nora = people["nora.lindqvist"]
    for person in people.values():
        role = role_ids[person.root_role]
        last_login = max(person.seen, default=None)
        person.user_id = users.insert(
            conn,
            name=person.full_name,
            username=person.username,
            email=person.email,
            password_hash=None,
            root_role=role,
            account_type="Service Account" if person.is_service else "User",
            created_at=person.joined_at,
            seen_at=last_login and datetime.combine(last_login, time(11, 7), UTC),
        )
        said = {"name": person.full_name, "username": person.username, "email": person.email}
        data = users.event_data(person.id, **said, root_role=role)
        kind = "service-account" if person.is_service else "user"
        author = person if person.invite else SYSTEM if person is nora else nora
        log.add(person.joined_at, f"{kind}-created", author, data=data)
        if person.left_at:
            past_users.mark_deleted(conn, person.id, person.left_at)
            log.add(person.left_at, f"{kind}-deleted", people["tomasz.wojcik"], pre_data=data)


def remember_days(conn: Connection, people: People) -> None:
    """Keep the days on which each was seen, once all that they did is known."""
    for person in people.values():
        past_users.add_seen_days(conn, person.id, sorted(person.seen))
