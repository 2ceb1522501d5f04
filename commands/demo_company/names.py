"""What the flags of each project are called: the same names whatever the seed."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice

SUBJECTS = {
    "checkout": """one-page gift-cards express-pay address-form basket-drawer coupon-field guest-order order-summary delivery-slots
                   click-and-collect tax-display saved-cards cart-reminder split-shipping wallet-button""",
    "search": """typo-tolerance synonyms facets autosuggest voice-query ranking-model image-search zero-results store-locator
                 recent-queries price-filter semantic-index""",
    "mobile": """biometrics dark-mode offline-basket push-prompts barcode-scan home-feed deep-links app-shortcuts live-tracking widgets
                 photo-reviews tab-bar""",
    "pay": """ledger-writes refunds three-d-secure sepa-debits card-vault fx-rates payout-batches fraud-rules invoice-numbers
              chargebacks settlement-files""",
    "rec": "similar-items bundles recently-viewed trending email-picks cold-start price-drops seasonal-boost embeddings basket-upsell",
    "notify": """order-sms digest-mail push-quiet-hours courier-updates templates-v3 whatsapp unsubscribe-page locale-fallback
                 retry-queue""",
    "id": "passkeys magic-links session-rotation captcha social-login device-list password-meter consent-banner age-check",
    "partner": "bulk-upload price-lists returns-desk api-access onboarding-wizard statements stock-sync sandbox",
    "wh": "pick-routes robot-lift stock-count dock-schedule label-printer returns-lane cold-chain",
    "registry": "shared-lists thank-you-notes group-gifts",
    "legacy": "old-header jquery-removal flash-banner server-templates cookie-wall image-proxy print-view",
    "loyalty": "points-wallet tiers birthday-voucher partner-points",
}

ENDINGS = {
    "release": ("", "-redesign", "-new-api", "-accessibility", "-second-step"),
    "experiment": ("-copy-test", "-placement-test", "-colour-test", "-default-test"),
    "kill-switch": ("-kill-switch", "-read-only"),
    "permission": ("-early-access", "-staff-tools", "-beta-testers"),
    "operational": ("-cache-warmup", "-to-postgres", "-queue-cutover", "-index-rebuild"),
}

# What a team makes, in the order in which it makes it.
ORDER = (
    *("release", "kill-switch", "release", "experiment", "release", "operational", "release", "permission", "release", "experiment"),
    *("release", "experiment", "release", "kill-switch", "release", "operational", "release", "experiment", "release", "permission"),
)


def flag_names(prefix: str, count: int) -> list[tuple[str, str]]:
    """The names and types of the first flags of the project with this prefix."""
    found = list(islice(all_names(prefix), count))
    assert len(found) == count == len(set(found)), prefix
    return found


def all_names(prefix: str) -> Iterator[tuple[str, str]]:
    """The subjects take turns; each has another type every time, and an ending of that type sets the name apart."""
    subjects = SUBJECTS[prefix].split()
    used: Counter[tuple[str, str]] = Counter()
    for turn in range(len(ORDER) * len(subjects)):
        lap, place = divmod(turn, len(subjects))
        subject, type = subjects[place], ORDER[(place + 7 * lap) % len(ORDER)]
        endings = ENDINGS[type]
        if used[subject, type] < len(endings):
            yield f"{prefix}-{subject}{endings[(place + used[subject, type]) % len(endings)]}", type
            used[subject, type] += 1
