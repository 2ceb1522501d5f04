"""Read a form with a file into memory, because the service writes no files."""

import zlib
from base64 import b64decode, b64encode
from io import BytesIO

from flask import request
from werkzeug.datastructures import FileStorage
from werkzeug.exceptions import BadRequest, RequestEntityTooLarge
from werkzeug.formparser import FormDataParser

from serving.body_limits import FORM_BYTES, IMPORT_BYTES, drop_rest, read_up_to


def read_form() -> tuple[dict[str, str], bytes]:
    """Return the fields of the form and the content of its file. Raise 413 if that is larger than IMPORT_BYTES.

    The file is in the field file. The next form sends it back in the field kept, from pack(), and its name in name.
    """
    body = read_up_to(FORM_BYTES + 1)
    # Browsers show the response only after they have sent the whole form.
    drop_rest()
    # Werkzeug would write a file without this factory.
    parser = FormDataParser(stream_factory=lambda *_, **__: BytesIO())
    _, form, files = parser.parse(BytesIO(body), request.mimetype, len(body), request.mimetype_params)
    fields = form.to_dict()
    if "kept" in fields:
        content = unpack(fields["kept"])
    else:
        file = files.get("file", FileStorage())
        content, fields["name"] = file.read(), file.filename or ""
    if len(body) > FORM_BYTES or len(content) > IMPORT_BYTES:
        raise RequestEntityTooLarge(f"The file is larger than {IMPORT_BYTES // 10**6} MB.")
    return fields, content


def pack(content: bytes) -> str:
    """Return the content of a file for a field of the next form. Compressed JSON takes about a tenth of its size."""
    return b64encode(zlib.compress(content, 1)).decode("ascii")


def unpack(text: str) -> bytes:
    """Return the content of a file from pack(), or its first bytes above IMPORT_BYTES. Raise 400 for other texts."""
    try:
        return zlib.decompressobj().decompress(b64decode(text), IMPORT_BYTES + 1)
    except (ValueError, zlib.error):
        raise BadRequest("The form is damaged. Choose the file again.") from None
