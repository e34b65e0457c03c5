"""The README's picture: a real search, drawn by the program's own renderer, saved as SVG.

python -m tests.picture           makes .github/search.svg; with `-` prints it
python -m tests.picture DATABASE  from a database that lies elsewhere
pytest tests/test_generated.py    proves that it shows what the program answers now

The database is one that MiMo Code wrote, beside the checkout; it is copied into a home that
lasts as long as the run, and no path of which is in the picture.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from html import unescape
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from mimohist import History
from mimohist.naming import short_ids
from mimohist.render import human

if TYPE_CHECKING:
    from rich.console import Console

ROOT = Path(__file__).parents[1]
REAL = ROOT.parent / "shared/real/mimocode.db"
PICTURE = ROOT / ".github/search.svg"

WIDTH = 88
FETCHED = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""Rich's rule for a font that it would have from the network."""

TEXT = re.compile(r'<text[^>]* textLength="(?P<length>[\d.]+)"[^>]*>(?P<said>[^<]+)</text>')

THEME = TerminalTheme(
    (24, 26, 31),
    (214, 216, 220),
    [
        *((62, 66, 76), (240, 113, 120), (152, 195, 121), (229, 192, 123)),
        *((97, 175, 239), (198, 120, 221), (86, 182, 194), (171, 178, 191)),
    ],
)


def main() -> None:
    """Write the picture, with the dates of UTC."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    databases = [Path(word) for word in sys.argv[1:] if word != "-"]
    drawn = picture(databases[0] if databases else REAL)
    if "-" in sys.argv[1:]:
        sys.stdout.write(drawn)
        return
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(drawn, "utf-8")


def picture(database: Path) -> str:
    """Search a copy of a database for two things and give the picture of the answers."""
    with tempfile.TemporaryDirectory() as home:
        place = Path(home, ".local/share/mimocode/mimocode.db")
        place.parent.mkdir(parents=True)
        shutil.copyfile(database, place)
        with History.open(environ={"HOME": home}) as history:
            for _ in history.backfill():
                pass
            paper = human.console(StringIO(), color=True, width=WIDTH)
            paper.record = True
            _search(paper, history, "cart", "total", limit=4)
            paper.print()
            _search(paper, history, "连接池")
    drawn = paper.export_svg(title="mimohist", theme=THEME, unique_id="mimohist")
    return TEXT.sub(_measured, FETCHED.sub("", drawn))


def _measured(text: re.Match[str]) -> str:
    """Give a text the width of its cells; Rich counts its characters."""
    said = unescape(text["said"])
    length = float(text["length"]) / len(said) * cell_len(said)
    return text[0].replace(f'textLength="{text["length"]}"', f'textLength="{length:g}"')


def texts(drawn: str) -> list[str]:
    """Give what a picture says, whatever it looks like."""
    return [unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", drawn)]


def _search(paper: Console, history: History, *words: str, limit: int | None = None) -> None:
    flags = [] if limit is None else ["-n", str(limit)]
    paper.print(Text.assemble(("$ ", "dim"), " ".join(("mimohist", "search", *words, *flags))))
    answer = history.search(*words, limit=limit)
    names = short_ids(history.reader, (hit.session_id for hit in answer.hits))
    human.hits(paper, answer, names)
    paper.print()
    paper.print(Text(human.footer(answer, names)))


if __name__ == "__main__":
    main()
