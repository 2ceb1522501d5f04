"""Descriptions and examples of errors. @operation(errors=...) has those that differ."""

from rules.refusals import Refusal

# By status.
GENERAL: dict[int, Refusal] = {
    400: Refusal("The request is invalid. The message names each invalid field.", "limit: must be from 1 to 1000"),
    401: Refusal(
        "Authorization is missing or invalid.",
        "A valid API token in the header Authorization, or a session, is required.",
    ),
    403: Refusal("The caller lacks the permission.", "You lack the permission ADMIN."),
    404: Refusal("Not found, or hidden from the caller.", "No project has that id."),
    409: Refusal(
        "The current state does not allow this change.",
        "The project has flags that are not archived. Archive them first.",
    ),
    412: Refusal(
        "If-Match does not name the ETag that the record has now.",
        "Somebody has changed this record since you read it. Read it again first.",
    ),
    413: Refusal(
        "The body is too large. Public operations read 32 kB, contexts 512 kB, imports 50 MB.",
        "The body is larger than 1048576 bytes. The setting MAX_BODY_BYTES raises this limit.",
    ),
    415: Refusal(
        "The Content-Type is not application/json, or the body is compressed.",
        "The body must be JSON, with the header Content-Type: application/json.",
    ),
    429: Refusal(
        "The caller has too many running requests.",
        "You have too many requests at the same time. Wait until some of them finish.",
    ),
    500: Refusal(
        "An internal error. The log has details under the id of the error.",
        "Internal error. The log of the service has details under the id of this error.",
    ),
    503: Refusal("The service cannot answer now.", "The database is unavailable or too slow."),
}
