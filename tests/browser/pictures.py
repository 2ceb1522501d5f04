"""Write docs/pictures/: python -m tests.browser.pictures. The pictures show the demo, in 32 shades of each color."""

import base64
import struct
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.demo import ADMIN, fill
from tests.support.embedded_server import own_server
from tests.support.every_page import values
from tests.support.service import ROOT, Service
from tests.support.window import Window

FOLDER = ROOT / "docs" / "pictures"
WIDTH = 1280
# The pages by the names of their files, and the height of each picture.
PAGES = {
    "projects": ("/", 720),
    "flag": ("/projects/checkout/flags/{flag}", 900),
    "events": ("/events?project=checkout&type=feature-strategy-update", 700),
    "insights": ("/insights", 800),
}


def main() -> None:
    """Start the demo, and write each picture."""
    FOLDER.mkdir(exist_ok=True)
    with own_server() as server, tempfile.TemporaryDirectory(prefix="pictures-") as browser:
        assert fill(server.url).returncode == 0
        with Service(server.url) as service, Window(Path(browser), service.origin) as window:
            write(window, server.url)


def write(window: Window, url: str) -> None:
    """Open each page of PAGES and write its picture."""
    window.log_in(url, ADMIN)
    window.prefer("light")
    window.cdp("Emulation.setScrollbarsHidden", hidden=True)
    paths = values(url)
    for name, (path, height) in PAGES.items():
        window.resize(WIDTH, height)
        window.visit(path.format(**paths))
        picture = with_palette(base64.b64decode(window.cdp("Page.captureScreenshot", format="png")["data"]))
        file = FOLDER / f"{name}.png"
        file.write_bytes(picture)
        print(f"{file.relative_to(ROOT)}: {len(picture) / 1000:.0f} kB")


def with_palette(png: bytes) -> bytes:
    """Return a picture of Chromium with the 256 most frequent colors. It has less than half the size."""
    width, height, _, kind = struct.unpack(">IIBB", png[16:26])
    size = {2: 3, 6: 4}[kind]
    pixels = [rounded(line[x : x + 3]) for line in lines(png, width * size, size) for x in range(0, width * size, size)]
    palette = [color for color, _ in Counter(pixels).most_common(256)]
    numbers = {color: number for number, color in enumerate(palette)}
    for color in set(pixels) - set(palette):
        numbers[color] = min(
            range(len(palette)), key=lambda n: sum((a - b) ** 2 for a, b in zip(palette[n], color, strict=True))
        )
    rows = b"".join(
        b"\0" + bytes(numbers[pixel] for pixel in pixels[y * width : (y + 1) * width]) for y in range(height)
    )
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", header), (b"PLTE", b"".join(palette)), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return png[:8] + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in parts
    )


@cache
def rounded(color: bytes) -> bytes:
    """Return the color in 32 shades of red, green and blue."""
    return bytes(round(round(part / 255 * 31) / 31 * 255) for part in color)


def lines(png: bytes, length: int, size: int) -> Iterator[bytes]:
    """Yield the lines of pixels. size: the bytes of a pixel. Undo the filters of the PNG specification."""
    data, place = b"", 8
    while place < len(png):
        [count] = struct.unpack(">I", png[place : place + 4])
        if png[place + 4 : place + 8] == b"IDAT":
            data += png[place + 8 : place + 8 + count]
        place += count + 12
    data, above = zlib.decompress(data), bytearray(length)
    for start in range(0, len(data), length + 1):
        line = bytearray(data[start + 1 : start + 1 + length])
        for x in range(length):
            left, corner = (line[x - size], above[x - size]) if x >= size else (0, 0)
            guess = left + above[x] - corner
            nearest = min((left, above[x], corner), key=lambda value, guess=guess: abs(guess - value))
            line[x] = (line[x] + (0, left, above[x], (left + above[x]) // 2, nearest)[data[start]]) % 256
        yield bytes(line)
        above = line


if __name__ == "__main__":
    main()
