"""Write docs/openapi.json and docs/reference/operations.md: `make generate`."""

from blueprints.documentation import DOCS
from contract import operations_page
from contract.document import document, text_of

if __name__ == "__main__":
    found = document()
    (DOCS / "openapi.json").write_text(text_of(found), encoding="utf-8")
    (DOCS / "reference" / "operations.md").write_text(operations_page.page(found), encoding="utf-8")
