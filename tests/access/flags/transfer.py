"""Export and import: users who see the project may export and validate. Import needs permissions."""

from tests.access import Arguments

TABLE = """
    route                                    project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    POST /api/admin/features-batch/export    default  200    200  200     200   200  200    403     403       401       8
    POST /api/admin/features-batch/export    hermes   200    200  200     200   200  200    403     403       401       -
    POST /api/admin/features-batch/export    apollo   200    200  404     200   200  200    403     403       401       -
    POST /api/admin/features-batch/export    nowhere  404    404  404     404   404  404    403     403       401       -
    POST /api/admin/features-batch/validate  default  200    200  200     200   200  200    403     403       401       17
    POST /api/admin/features-batch/validate  hermes   200    200  200     200   200  200    403     403       401       -
    POST /api/admin/features-batch/validate  apollo   200    200  404     200   200  200    403     403       401       -
    POST /api/admin/features-batch/validate  nowhere  404    404  404     404   404  404    403     403       401       -
    POST /api/admin/features-batch/import    default  200    200  403     403   403  200    403     403       401       11
    POST /api/admin/features-batch/import    hermes   200    403  403     403   403  200    403     403       401       -
    POST /api/admin/features-batch/import    apollo   200    403  403     200   200  200    403     403       401       -
    POST /api/admin/features-batch/import    nowhere  404    403  403     403   403  404    403     403       401       -
"""

DOCUMENT = {"features": [], "featureStrategies": [], "tagTypes": []}
PATH = "POST /api/admin/features-batch"


def export(project: str) -> dict[str, object]:
    """Return an export of the project."""
    return {"project": project, "environment": "development"}


def document(project: str) -> dict[str, object]:
    """Return an import of no flags into the project."""
    return export(project) | {"data": DOCUMENT}


ARGUMENTS = Arguments(bodies={f"{PATH}/export": export, f"{PATH}/validate": document, f"{PATH}/import": document})
