"""The events themselves, as lines for COPY: in the order of their instants, their payloads like those that the service writes."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from random import Random

from bench.company import COMMON_WORD, RARE_WORD, YEARS, Company, Flag, Project, email, user_id

COLUMNS = "created_at, type, created_by, created_by_user_id, environment, project, feature_name, data, pre_data, tags"
NULL = r"\N"
SECONDS = [f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}" for second in range(86400)]
DAY_US = 86400 * 10**6

# Types by how often they happen, and what their payload is: two strategies or one, the flag twice or once, nothing, something of a project,
# something of the instance.
KINDS = (
    ("feature-strategy-update", 300, "strategy both"),
    ("feature-environment-enabled", 130, "in environment"),
    ("feature-strategy-add", 110, "strategy data"),
    ("feature-environment-disabled", 70, "in environment"),
    ("feature-metadata-updated", 70, "flag both"),
    ("feature-created", 60, "flag data"),
    ("feature-strategy-remove", 50, "strategy pre_data"),
    ("feature-archived", 30, "bare"),
    ("feature-tagged", 25, "bare"),
    ("feature-stale-on", 20, "bare"),
    ("feature-completed", 15, "bare"),
    ("feature-deleted", 15, "flag pre_data"),
    ("feature-favorited", 10, "bare"),
    ("feature-revived", 5, "bare"),
    ("project-access-user-roles-updated", 25, "project both"),
    ("project-updated", 10, "project both"),
    ("project-environment-added", 5, "project data"),
    ("segment-updated", 25, "instance both"),
    ("user-updated", 15, "instance both"),
    ("user-created", 6, "instance data"),
    ("api-token-created", 4, "instance data"),
)
# What a flag's events carry where they have no payload to hold the common word.
TAGS = f'[{{"type":"simple","value":"{COMMON_WORD}"}}]'
PLACES = ("development", "staging", "production", "production")


class History:
    """The log of a company. facts: what is known of it beforehand, for the searches."""

    def __init__(self, company: Company) -> None:
        self.company = company
        self.rng = Random(company.events)
        self.templates: dict[int, tuple[str, str]] = {}
        self.notes = [self._sentence() for _ in range(5000)]

    def _sentence(self) -> str:
        return " ".join(self.rng.choices(self.company.words, k=12))

    def batches(self, size: int) -> Iterator[tuple[int, bytes]]:
        """How many lines, and the lines."""
        company, rng, total = self.company, self.rng, self.company.events
        started_us = int(company.start.timestamp()) * 10**6
        slot = int(YEARS.total_seconds()) * 10**6 / total
        work_weights = list(accumulate(work.weight for work in company.work))
        kind_weights = list(accumulate(weight for _, weight, _ in KINDS))
        authors = [
            (email(work.user), str(user_id(work.user))) if work.user is not None else (f"deploy-{work.project.id}", NULL)
            for work in company.work
        ]
        makers = {form: getattr(self, "_" + form.split()[0]) for _, _, form in KINDS}
        planted = {total // 3, total * 9 // 10}
        day = clock_day = ""
        last_day = -1
        for first in range(0, total, size):
            lines: list[str] = []
            until = min(total, first + size)
            works = rng.choices(range(len(company.work)), cum_weights=work_weights, k=until - first)
            kinds = rng.choices(KINDS, cum_weights=kind_weights, k=until - first)
            for number, at, (type, _, form) in zip(range(first, until), works, kinds, strict=True):
                instant = started_us + int(slot * (number + rng.random()))
                day_number, micros = divmod(instant, DAY_US)
                if day_number != last_day:
                    last_day = day_number
                    clock_day = str((datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=day_number)).date())
                second, micros = divmod(micros, 10**6)
                day = f"{clock_day} {SECONDS[second]}.{micros:06}+00"
                name, id = authors[at]
                project = company.work[at].project
                if number in planted:
                    type, form = "feature-metadata-updated", "flag rare"
                    makers[form] = self._flag
                where = makers[form](form, project, number / total)
                lines.append(f"{day}\t{type}\t{name}\t{id}\t{where}\n")
            yield until - first, "".join(lines).encode()

    def _pick(self, project: Project, age: float) -> Flag:
        """Mostly one of the newest flags of that day, else one of the oldest, which are switched for ever."""
        flags, random = project.flags, self.rng.random
        alive = min(len(flags), int(age * len(flags)) + 1)
        drawn = int((alive + 1) ** random())
        return flags[drawn - 1 if random() < 0.25 else alive - drawn]

    def _document(self, flag: Flag, project: Project) -> tuple[str, str]:
        """A strategy of a flag, around its rollout."""
        found = self.templates.get(id(flag))
        if found is None:
            rng = self.rng
            number = rng.getrandbits(128)
            key = f"{number:032x}"
            uuid = f"{key[:8]}-{key[8:12]}-4{key[13:16]}-a{key[17:20]}-{key[20:]}"
            countries = '","'.join(rng.choices(self.company.words, k=3))
            found = self.templates[id(flag)] = (
                f'{{"name":"flexibleRollout","id":"{uuid}","title":"{rng.choice(self.notes)[:40]}","disabled":false,"sortOrder":0,'
                f'"parameters":{{"groupId":"{flag.name}","stickiness":"default","rollout":"',
                f'"}},"constraints":[{{"contextName":"appName","operator":"IN","values":["{COMMON_WORD}-web","{countries}"],'
                '"inverted":false,"caseInsensitive":false},{"contextName":"userId","operator":"STR_STARTS_WITH","values":["'
                f'{number % 997}","{number % 991}","{number % 983}"],"inverted":false,"caseInsensitive":true}}],'
                '"variants":[],"segments":[]}',
            )
        return found

    def _strategy(self, form: str, project: Project, age: float) -> str:
        flag = self._pick(project, age)
        head, tail = self._document(flag, project)
        rollout = int(self.rng.random() * 101)
        now, before = f"{head}{rollout}{tail}", f"{head}{rollout // 2}{tail}"
        return f"{PLACES[int(self.rng.random() * 4)]}\t{project.id}\t{flag.name}\t{payload(form, now, before)}\t[]"

    def _flag(self, form: str, project: Project, age: float) -> str:
        flag = self._pick(project, age)
        note = self.notes[int(self.rng.random() * 5000)]
        if form == "flag rare":
            note, form = f"{note} {RARE_WORD}", "flag both"
        now, before = self._core(flag, project, note), self._core(flag, project, "")
        return f"{NULL}\t{project.id}\t{flag.name}\t{payload(form, now, before)}\t[]"

    def _core(self, flag: Flag, project: Project, note: str) -> str:
        return (
            f'{{"name":"{flag.name}","type":"{flag.type}","description":"{COMMON_WORD} {note}","project":"{project.id}","stale":false,'
            f'"impressionData":false,"archived":false,"createdAt":"{flag.created_at:%Y-%m-%d}T09:00:00.000Z","archivedAt":null,"lastSeenAt":null}}'
        )

    def _in(self, form: str, project: Project, age: float) -> str:
        flag = self._pick(project, age)
        return f"{PLACES[int(self.rng.random() * 4)]}\t{project.id}\t{flag.name}\t{NULL}\t{NULL}\t{TAGS}"

    def _bare(self, form: str, project: Project, age: float) -> str:
        return f"{NULL}\t{project.id}\t{self._pick(project, age).name}\t{NULL}\t{NULL}\t{TAGS}"

    def _project(self, form: str, project: Project, age: float) -> str:
        return f"{NULL}\t{project.id}\t{NULL}\t{payload(form, self._record(), self._record())}\t[]"

    def _instance(self, form: str, project: Project, age: float) -> str:
        return f"{NULL}\t{NULL}\t{NULL}\t{payload(form, self._record(), self._record())}\t[]"

    def _record(self) -> str:
        drawn = int(self.rng.random() * 5000)
        return f'{{"id":{drawn},"name":"{COMMON_WORD} {drawn}","description":"{self.notes[drawn]}","rootRole":3,"roles":[4,5]}}'


def payload(form: str, now: str, before: str) -> str:
    """data and pre_data of an event."""
    kept = form.rpartition(" ")[2]
    return f"{now}\t{before}" if kept == "both" else f"{now}\t{NULL}" if kept == "data" else f"{NULL}\t{before}"
