"""Log people in with OpenID Connect: what the identity provider publishes, its answer to a code, and its ID tokens."""

import base64
import hashlib
import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from http.client import HTTPException as HTTPProblem
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus, urlencode
from urllib.request import HTTPErrorProcessor, Request, build_opener

from flask import current_app
from werkzeug.exceptions import HTTPException

from rules.password_login import is_permitted
from rules.sign_in import TOO_MANY_GROUPS, Person
from serving.sign_in_settings import SAFE_URL

# serving/sign_in_settings.py refuses OIDC_ISSUER without the package, which is the extra [oidc].
if TYPE_CHECKING or find_spec("joserfc"):
    from joserfc import errors, jwk, jwt
    from joserfc.jws import JWSRegistry
    from joserfc.util import urlsafe_b64encode

TIMEOUT_SECONDS, MAX_BYTES = 10, 2**20
MINUTE, HOUR, DAY = 60, 3600, 86400
CALLBACK, DISCOVERY = "/auth/oidc/callback", "/.well-known/openid-configuration"
# Never "none", and never HS…, whose key could be a public one.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA", "Ed25519")
# The sentences that people read. {name}: the setting OIDC_NAME. {other}: the login with a password, if it is on.
NO_ANSWER = "{name} does not answer. Try again later{other}."
NOT_SET_UP = "{name} is not set up correctly."
REFUSED = "{name} refused the login."
EXPIRED = "This login took too long or was already used. Start again."
UNVERIFIED = "{name} sent a login that cannot be verified."

Json = dict[str, Any]


class LoginFailed(HTTPException):
    """A login fails because of the identity provider or its answer. reason: for the log, without secrets."""

    def __init__(self, status: int, sentence: str, reason: str) -> None:
        other = ", or log in with a password" if is_permitted(is_admin=True) else ""
        super().__init__(sentence.format(name=current_app.config["OIDC_NAME"], other=other))
        self.code, self.reason = status, reason


class Document:
    """A JSON document of the identity provider. This worker keeps it for an hour, or a day if it cannot be fetched."""

    def __init__(self) -> None:
        self.content: Json = {}
        self.fetched_at = self.fetch_at = self.renew_at = float("-inf")
        self.problem: LoginFailed | None = None
        self.lock = Lock()

    def get(self, fetch: Callable[[], Json], *, renew: bool = False) -> Json:
        """Return the document, or raise LoginFailed. renew: fetch it again, at most once a minute."""
        asked = time.monotonic()
        with self.lock:
            # Of the requests that wait for the lock, one fetches it.
            if asked >= (self.renew_at if renew else self.fetch_at):
                self.renew_at = asked + MINUTE if renew else self.renew_at
                try:
                    self.content, self.problem, self.fetched_at = fetch(), None, time.monotonic()
                    self.fetch_at = self.fetched_at + HOUR
                except LoginFailed as error:
                    self.problem, self.fetch_at = error, time.monotonic() + (MINUTE if self.content else 0)
            if self.problem and (not self.content or asked > self.fetched_at + DAY):
                raise self.problem.with_traceback(None)
            return self.content


class AnyStatus(HTTPErrorProcessor):
    """Returns all responses as they are, also errors and redirects."""

    def http_response(self, request: Request, response: Any) -> Any:
        return response

    https_response = http_response


opener = build_opener(AnyStatus)


def get_json(url: str, headers: Mapping[str, str] | None = None, form: Mapping[str, str] | None = None) -> Json:
    """Return the JSON object of a response. form: send it with POST. Raises LoginFailed."""
    request = Request(url, urlencode(form).encode() if form else None, dict(headers or {}))  # noqa: S310
    deadline, content = time.monotonic() + TIMEOUT_SECONDS, b""
    try:
        with opener.open(request, timeout=TIMEOUT_SECONDS) as response:
            # The refusal of a form says why.
            if response.status != 200 and not (form and 400 <= response.status < 500):
                raise ValueError(f"the status is {response.status}")
            while chunk := response.read1(MAX_BYTES):
                content += chunk
                if len(content) > MAX_BYTES or time.monotonic() > deadline:
                    raise ValueError("the answer is too long or too slow")
        if not isinstance(found := json.loads(content), dict):
            raise ValueError("the answer is no JSON object")
    except (OSError, HTTPProblem, ValueError, RecursionError) as error:
        raise LoginFailed(503, NO_ANSWER, f"{url}: {getattr(error, 'reason', error)}") from None
    return found


def documents() -> tuple[Document, Document]:
    """Return this worker's copies of what the identity provider publishes: its endpoints and its keys."""
    return current_app.extensions.setdefault("oidc", (Document(), Document()))


def discovery() -> Json:
    """Return the endpoints of the identity provider, or raise LoginFailed."""
    return documents()[0].get(fetch_discovery)


def fetch_discovery() -> Json:
    """Fetch the endpoints. Raises LoginFailed unless they are those of OIDC_ISSUER, and safe."""
    issuer = current_app.config["OIDC_ISSUER"]
    content = get_json(issuer.rstrip("/") + DISCOVERY)
    if content.get("issuer") != issuer:
        reason = f"The identity provider calls itself {content.get('issuer')}, but OIDC_ISSUER is {issuer}."
        raise LoginFailed(503, NOT_SET_UP, reason)
    # Some providers write null.
    optional = [name for name in ("userinfo_endpoint", "end_session_endpoint") if content.get(name) is not None]
    for name in ("authorization_endpoint", "token_endpoint", "jwks_uri", *optional):
        if not SAFE_URL.fullmatch(str(content.get(name))):
            raise LoginFailed(503, NOT_SET_UP, f"The {name} of the identity provider is not an https address.")
    return content


def with_query(url: str, **parameters: str) -> str:
    """Return a URL with more parameters."""
    return f"{url}{'&' if '?' in url else '?'}{urlencode(parameters)}"


def login_url(state: str, nonce: str, verifier: str) -> str:
    """Return the address of the identity provider that begins a login."""
    config = current_app.config
    return with_query(
        discovery()["authorization_endpoint"],
        response_type="code",
        client_id=config["OIDC_CLIENT_ID"],
        redirect_uri=config["BASE_URL"] + CALLBACK,
        scope=config["OIDC_SCOPES"],
        state=state,
        nonce=nonce,
        code_challenge=urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode(),
        code_challenge_method="S256",
    )


def logout_url() -> str | None:
    """Return the address of the identity provider that ends its session, or None if it has none or does not answer."""
    config, endpoint = current_app.config, None
    # Every visitor can ask for this, so they do not wait for a provider that has just failed.
    if not documents()[0].problem:
        with suppress(LoginFailed):
            endpoint = discovery().get("end_session_endpoint")
    parameters = {"client_id": config["OIDC_CLIENT_ID"], "post_logout_redirect_uri": f"{config['BASE_URL']}/login"}
    return endpoint and with_query(endpoint, **parameters)


def code_in(answer: Mapping[str, str]) -> str:
    """Return the code in the parameters of a callback. Raises LoginFailed."""
    if "error" in answer or "code" not in answer:
        status = 403 if answer.get("error") == "access_denied" else 400
        raise LoginFailed(status, REFUSED, f"The callback has the error {answer.get('error')!a:.64}.")
    issuer = current_app.config["OIDC_ISSUER"]
    # RFC 9207: another provider may have sent this.
    is_required = discovery().get("authorization_response_iss_parameter_supported") is True
    if answer.get("iss", None if is_required else issuer) != issuer:
        raise LoginFailed(400, UNVERIFIED, "The iss of the callback is wrong.")
    return answer["code"]


def find_person(code: str, nonce: str, verifier: str) -> Person:
    """Exchange a code for the person who has logged in. Raises LoginFailed."""
    tokens = exchange(code, verifier)
    claims = verify(str(tokens["id_token"]), str(tokens.get("access_token", "")), nonce)
    path, endpoint = current_app.config["OIDC_GROUPS_CLAIM"], discovery().get("userinfo_endpoint")
    # Entra ID does so above 200 groups.
    if path and isinstance(elsewhere := claims.get("_claim_names"), dict) and path in elsewhere:
        raise LoginFailed(403, TOO_MANY_GROUPS, "The ID token has too many groups to contain them.")
    groups, more = claim(claims, path), {}
    if endpoint and not (claims.get("email") and claims.get("name") and (not path or groups is not None)):
        # A line break would be an error whose message has the token, and the log has the message.
        token = "".join(str(tokens.get("access_token")).split())
        more = get_json(endpoint, {"Authorization": f"Bearer {token}"})
        if more.get("sub") != claims["sub"]:
            raise LoginFailed(400, UNVERIFIED, "The sub of the userinfo is wrong.")
    # One document says nothing about the address in the other.
    source = claims if claims.get("email") else more
    groups = claim(more, path) if groups is None else groups
    groups = groups if isinstance(groups, list) else [groups]
    return Person(
        issuer=claims["iss"],
        subject=claims["sub"],
        email=source.get("email"),
        email_verified=source.get("email_verified") is True,
        name=claims.get("name") or more.get("name"),
        username=claims.get("preferred_username") or more.get("preferred_username"),
        # A missing claim means no groups.
        groups=tuple(group for group in groups if isinstance(group, str)) if path else None,
    )


def exchange(code: str, verifier: str) -> Json:
    """Exchange a code for tokens. Raises LoginFailed."""
    config, methods = current_app.config, discovery().get("token_endpoint_auth_methods_supported")
    client, secret = config["OIDC_CLIENT_ID"], config["OIDC_CLIENT_SECRET"]
    form = {"grant_type": "authorization_code", "code": code, "code_verifier": verifier}
    form, headers = form | {"redirect_uri": config["BASE_URL"] + CALLBACK}, {}
    if secret and "client_secret_basic" in (methods or ["client_secret_basic"]):
        pair = f"{quote_plus(client)}:{quote_plus(secret)}"
        headers = {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
    else:
        form |= {"client_id": client} | ({"client_secret": secret} if secret else {})
    tokens = get_json(discovery()["token_endpoint"], headers, form)
    if "error" in tokens or "id_token" not in tokens:
        error = tokens.get("error", "no id_token")
        reason = f"The token request has the error {error!a:.64}."
        raise LoginFailed(400, EXPIRED if error == "invalid_grant" else REFUSED, reason)
    return tokens


def verify(token: str, access_token: str, nonce: str) -> Json:
    """Return the claims of an ID token. Raises LoginFailed unless its signature and its claims are right."""
    keys, fetch = documents()[1], partial(get_json, discovery()["jwks_uri"])
    known = keys.get(fetch)
    try:
        found = decode(token, known)
    except LoginFailed:
        # The provider may have changed its keys.
        found = decode(token, keys.get(fetch, renew=True))
    # at_hash is the first half of a hash of the access token: by the algorithm of the ID token, SHA-512 for Ed25519.
    bits = found.header["alg"][2:] if found.header["alg"].endswith(("256", "384")) else "512"
    half = hashlib.new(f"sha{bits}", access_token.encode("utf-8", "replace")).digest()[: int(bits) // 16]
    claims, client, at_hash = found.claims, current_app.config["OIDC_CLIENT_ID"], urlsafe_b64encode(half).decode()
    audience, subject = claims.get("aud"), claims.get("sub")
    checks = {
        "iss": claims.get("iss") == current_app.config["OIDC_ISSUER"],
        "aud": client in (audience if isinstance(audience, list) else [audience]),
        "azp": claims.get("azp", client) == client,
        "nonce": claims.get("nonce") == nonce,
        "sub": isinstance(subject, str) and 1 <= len(subject) <= 255 and subject.isprintable(),
        "at_hash": claims.get("at_hash", at_hash) == at_hash,
    }
    if wrong := [name for name, is_right in checks.items() if not is_right]:
        raise LoginFailed(400, UNVERIFIED, f"The claim {wrong[0]} of the ID token is wrong.")
    try:
        jwt.JWTClaimsRegistry(leeway=MINUTE, exp={"essential": True}, iat={"essential": True}).validate(claims)
    except errors.ClaimError as error:
        issued = claims.get("iat")
        seconds = abs(int(time.time()) - issued) if isinstance(issued, int) else 0
        reason = f"The claim {error.claim} of the ID token is wrong."
        if seconds > MINUTE:
            reason = f"The clocks of this server and the identity provider differ by {seconds} s."
        raise LoginFailed(400, UNVERIFIED, reason) from None
    return claims


def decode(token: str, keys: Json) -> "jwt.Token":
    """Return a token that one of the keys has signed, or raise LoginFailed."""

    def find_key(signed: "jwk.GuestProtocol") -> "jwk.Key":
        kid = signed.headers().get("kid")
        found = [key for key in keys["keys"] if key.get("use") != "enc" and kid in (None, key.get("kid"))]
        if not found or (kid is None and len(found) > 1):
            raise ValueError("no key has its kid")
        return jwk.import_key(found[0])

    registry = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
    # Some providers add their certificates.
    registry.max_header_length = 16384
    try:
        return jwt.decode(token, find_key, registry=registry)
    # For hostile tokens and keys, joserfc raises many kinds of errors.
    except Exception as error:
        reason = f"The signature of the ID token cannot be verified: {str(error)!a:.100}."
        raise LoginFailed(400, UNVERIFIED, reason) from None


def claim(claims: Json, path: str | None) -> Any:
    """Return the claim with this name, or the one to which the names between the dots lead, or None."""
    value: Any = claims
    for name in [path] if path in claims else (path or "").split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value
