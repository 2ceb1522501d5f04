"""The refusals in the OpenAPI document: descriptions and examples of messages."""

DOES_NOT_FIT = "The request is invalid. The message names each invalid field."

# By status: its description and an example of its message.
REFUSALS: dict[int, tuple[str, str]] = {
    400: (DOES_NOT_FIT, "limit: must be from 1 to 1000"),
    401: (
        "Authorization is missing or invalid.",
        "A valid API token in the header Authorization, or a session, is required.",
    ),
    403: ("The caller lacks the permission.", "You lack the permission ADMIN."),
    404: ("Not found, or hidden from the caller.", "No project has that id."),
    409: (
        "The current state does not allow this change.",
        "The project has flags that are not archived. Archive them first.",
    ),
    413: (
        "The body is too large. Public operations read 32 kB, contexts 512 kB, imports 50 MB.",
        "The body is larger than 1048576 bytes. The setting MAX_BODY_BYTES raises this limit.",
    ),
    415: (
        "The Content-Type is not application/json, or the body is compressed.",
        "The body must be JSON, with the header Content-Type: application/json.",
    ),
    429: (
        "The caller has too many running requests.",
        "You have too many requests at the same time. Wait until some of them finish.",
    ),
    500: (
        "An internal error. The log has details under the id of the error.",
        "Internal error. The log of the service has details under the id of this error.",
    ),
    503: ("The service cannot answer now.", "The database is unavailable or too slow."),
}

# By endpoint and status: description and message where they differ from REFUSALS, with the name if it differs too.
SPECIAL_REFUSALS: dict[tuple[str, int], tuple[str, ...]] = {
    ("api_tokens.list_api_tokens", 403): (
        "The caller can read no type of token.",
        "You lack the permission ADMIN or READ_CLIENT_API_TOKEN or READ_FRONTEND_API_TOKEN.",
    ),
    ("api_tokens.create_api_token", 403): (
        "The caller lacks the permission for this type of token.",
        "You lack the permission CREATE_FRONTEND_API_TOKEN.",
    ),
    ("api_tokens.update_api_token", 404): ("No token has that secret.", "No API token has that secret."),
    ("roles.get_role", 404): ("No role has that id.", "No role has that id."),
    ("roles.create_role", 409): ("The name is taken.", "name: a role with this name already exists", "NameExistsError"),
    ("roles.validate_role", 409): (
        "The name is taken.",
        "name: a role with this name already exists",
        "NameExistsError",
    ),
    ("roles.update_role", 409): (
        "The role is predefined, or the name is taken.",
        "A predefined role cannot be changed or deleted.",
    ),
    ("roles.delete_role", 409): (
        "The role is predefined, or users, groups or signup tokens have it.",
        "The role is assigned to 2 users and 1 group.",
    ),
    ("groups.get_group", 404): ("No group has that id.", "No group has that id."),
    ("groups.create_group", 409): (
        "The name is taken.",
        "name: a group with this name already exists",
        "NameExistsError",
    ),
    ("groups.update_group", 409): (
        "The name is taken.",
        "name: a group with this name already exists",
        "NameExistsError",
    ),
    ("segments.create_segment", 409): (
        "The name is taken.",
        "name: a segment with this name already exists",
        "NameExistsError",
    ),
    ("segments.validate_segment_name", 409): (
        "The name is taken.",
        "name: a segment with this name already exists",
        "NameExistsError",
    ),
    ("segments.update_segment", 409): (
        "The name is taken, or strategies outside of the new project use the segment.",
        "The segment is used by flag new-checkout in production. Remove it there first.",
    ),
    ("segments.delete_segment", 409): (
        "Strategies use the segment.",
        "The segment is used by flag new-checkout in production, 1 more place. Remove it there first.",
    ),
    ("context_fields.delete_context_field", 409): (
        "Strategies, variants, segments, default strategies or projects use the context field.",
        "The context field is used by flag new-checkout in production, segment Beta. Remove it there first.",
    ),
    ("segments.get_segment", 404): (
        "No segment has that id, or it is hidden from the caller.",
        "No segment has that id.",
    ),
    ("constraints.validate_constraint", 400): (DOES_NOT_FIT, "value: must be a version such as 1.2.3, without a v"),
    ("segment_strategies.set_strategy_segments", 404): (
        "No live flag has this strategy in this project and environment, or the project is hidden from the caller.",
        "No strategy in this project and environment has that id, or its flag is archived.",
    ),
    ("signup.validate_signup_token", 403): (
        "The token is disabled or has expired.",
        "This signup token is disabled or has expired.",
    ),
    ("signup.validate_signup_token", 404): ("No token has that secret.", "No signup token has that secret."),
    ("signup_tokens.update_signup_token", 400): (
        DOES_NOT_FIT,
        "enabled: must be true or false",
    ),
    ("signup_tokens.update_signup_token", 404): ("No token has that secret.", "No signup token has that secret."),
    ("strategies.delete_strategy", 403): (
        "The caller lacks the permission to delete strategies in this environment.",
        "You lack the permission DELETE_FEATURE_STRATEGY in this project and environment.",
    ),
    ("strategies.delete_strategy", 404): (
        "The flag has no such strategy in this project and environment, or the project is hidden from the caller.",
        "The flag has no such strategy in this project and environment.",
    ),
    ("environments.create_environment", 409): (
        "The name is taken.",
        "name: an environment with this name already exists",
        "NameExistsError",
    ),
    ("environments.delete_environment", 409): (
        "The environment is protected.",
        "The environment is protected and cannot be deleted.",
    ),
    ("project_environments.add_project_environment", 404): (
        "The project is archived, unknown or hidden, or the environment is unknown.",
        "environment: must be an existing environment",
    ),
    ("project_environments.add_project_environment", 409): (
        "The project has the environment already.",
        "environment: the project already has this environment",
        "NameExistsError",
    ),
    ("project_environments.set_default_strategy", 400): (DOES_NOT_FIT, "name: must be flexibleRollout"),
    **{
        (f"project_access.{operation}", 409): (
            "This is the last owner.",
            "This is the last owner of the project. Add another owner first.",
        )
        for operation in (
            "set_project_user_roles",
            "remove_project_user_roles",
            "set_project_group_roles",
            "remove_project_group_roles",
        )
    },
    ("projects.create_project", 400): (DOES_NOT_FIT, "environments: unknown environments: staging"),
    ("projects.create_project", 409): (
        (
            "The id is taken, maybe by an archived project. After a private project is deleted, only "
            "administrators can reuse its id."
        ),
        "id: already used by a project, which may be archived or deleted; choose another id",
        "NameExistsError",
    ),
    ("projects.update_project", 400): (DOES_NOT_FIT, "name: must not be blank"),
    ("projects.update_project_settings", 400): (DOES_NOT_FIT, "featureNaming.example: must match the pattern"),
    ("project_lifecycle.revive_project", 400): (
        "The maximum number of live projects is reached.",
        "There can be at most 500 live projects in this instance. The setting MAX_PROJECTS raises this limit.",
    ),
    ("projects.get_project_access", 403): (
        "The caller lacks the permission.",
        "You lack the permission UPDATE_PROJECT or PROJECT_USER_ACCESS_READ in this project.",
    ),
    ("login.log_in", 400): (
        DOES_NOT_FIT,
        "username: is required; password: must be a string",
    ),
    ("login.log_in", 401): ("Wrong user name or password.", "Wrong user name or password."),
    **{
        (f"signup.{operation}", 429): (
            "This client address made too many attempts in the last minute.",
            "Too many sign-up attempts. Try again later.",
        )
        for operation in ("validate_signup_token", "sign_up")
    },
    ("login.log_in", 429): (
        "There were too many failed logins with this name, or too many logins from this address.",
        "Too many login attempts. Try again later.",
    ),
    **{
        (f"account.{operation}", 401): ("The request has no valid session.", REFUSALS[401][1])
        for operation in ("log_out", "log_out_by_link")
    },
    ("account.update_own_password", 401): (
        "Authorization is missing or invalid, or the old password is wrong.",
        "oldPassword: must be your current password",
    ),
    ("account.update_own_password", 429): (
        "There were too many failed attempts with the old password.",
        "Too many login attempts. Try again later.",
    ),
    ("personal_tokens.create_personal_token", 409): (
        "You have the maximum number of tokens, or a token with this description.",
        "description: a token with this description already exists",
        "NameExistsError",
    ),
    ("service_accounts.create_service_account_token", 409): (
        "The account has the maximum number of tokens, or a token with this description.",
        "description: a token with this description already exists",
        "NameExistsError",
    ),
    ("users.create_user", 409): (
        "The e-mail address or the user name is taken.",
        "email: a user with this email already exists",
        "NameExistsError",
    ),
    ("users.create_reset_link", 404): (
        "No user has that user name or e-mail address.",
        "No user has that user name or e-mail address.",
    ),
    **{
        (f"password_reset.{operation}", 401): (
            "The link does not exist, was used or has expired.",
            "This link does not exist, was used or has expired. Ask an administrator for a new one.",
        )
        for operation in ("validate_reset_token", "set_password_by_link")
    },
    **{
        (f"password_reset.{operation}", 429): (
            "This client address made too many attempts in the last minute.",
            "Too many attempts. Try again later.",
        )
        for operation in ("validate_reset_token", "set_password_by_link", "validate_reset_password")
    },
    ("password_reset.set_password_by_link", 400): (
        DOES_NOT_FIT,
        "password: must not be one of your last 5 passwords",
    ),
    ("users.update_user", 409): (
        "The e-mail address is taken, or the user is the last administrator.",
        "This user is the last administrator. Make another user an administrator first.",
    ),
    ("users.delete_user", 409): (
        "The user is the last administrator.",
        "This user is the last administrator. Make another user an administrator first.",
    ),
    ("service_accounts.create_service_account", 409): (
        "The user name is taken.",
        "username: a user with this user name already exists",
        "NameExistsError",
    ),
    ("signup.sign_up", 400): (
        DOES_NOT_FIT,
        "email: must be an email address such as ada@example.org",
    ),
    ("signup.sign_up", 403): ("The token is disabled or has expired.", "This signup token is disabled or has expired."),
    ("signup.sign_up", 404): ("No token has that secret.", "No signup token has that secret."),
    ("signup.sign_up", 409): (
        "The e-mail address or the user name is taken.",
        "email: a user with this email already exists",
        "NameExistsError",
    ),
    ("flag_transfer.import_flags", 400): (
        "The document is invalid, or has errors that the validation of an import finds. Nothing is imported.",
        "new-checkout: constraints.0.value: must be a number, such as 3.5",
    ),
    ("flag_transfer.import_flags", 409): (
        "Another request created a strategy with one of the ids of the document meanwhile. Nothing is imported.",
        "A strategy with one of these ids was created during the import.",
        "NameExistsError",
    ),
}
