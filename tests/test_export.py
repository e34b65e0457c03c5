"""Exported pages read well and run nothing, whatever a transcript holds."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from markdown_it import MarkdownIt

from mimohist.exporting import Origin, Trajectory
from mimohist.render import highlight, markdown, page, story
from tests.mimo_database import MimoDatabase

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Program

AT = 1_796_094_880_000


def trajectory(*messages: dict[str, Any], title: str = "Cart total drifts") -> Trajectory:
    return Trajectory(
        ref="mimo/ses_one",
        source="mimo",
        session_id="ses_one",
        title=title,
        project="/home/dev/shop",
        path="/data/mimocode.db",
        version="0.1.13",
        at=AT,
        updated=AT,
        agent="main",
        origin=Origin.ROWS,
        why=None,
        messages=iter(messages),
    )


def message(*parts: dict[str, Any], role: str = "assistant", **info: object) -> dict[str, Any]:
    whole = {"role": role, "agent": "build", "agentID": "main", "created": AT}
    return {**whole, "id": "msg_1", **info, "parts": list(parts)}


def said(text: str, **keys: object) -> dict[str, Any]:
    return {"type": "text", "text": text, **keys}


def call(tool: str = "bash", **state: object) -> dict[str, Any]:
    return {"type": "tool", "tool": tool, "state": {"status": "completed", "input": {}, **state}}


def html(*messages: dict[str, Any], title: str = "Cart total drifts") -> str:
    one = trajectory(*messages, title=title)
    lines = [*page.head(title), *page.session(one, messages), *page.foot()]
    return "\n".join(lines)


def md(*messages: dict[str, Any], title: str = "Cart total drifts") -> str:
    return "\n".join(markdown.session(trajectory(*messages, title=title), messages))


# What a browser makes of the page

VOID = {"meta", "br"}
ELEMENTS = {
    "html": {"lang"},
    "head": set(),
    "meta": {"charset", "http-equiv", "content", "name"},
    "title": set(),
    "style": set(),
    "body": set(),
    "main": set(),
    "article": set(),
    "section": {"class"},
    "h1": set(),
    "h2": set(),
    "small": set(),
    "p": {"class"},
    "div": {"class"},
    "details": {"class"},
    "summary": {"class"},
    "pre": set(),
    "code": set(),
    "span": {"class"},
    "b": {"class"},
}
"""All that a page may consist of: nothing that loads, links, runs or sends."""


class Reader(HTMLParser):
    """Reads a page and complains of whatever is not in `ELEMENTS`, or not closed."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.text = ""
        self.styles = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        allowed = ELEMENTS.get(tag)
        if allowed is None:
            self.wrong.append(f"<{tag}>")
            return
        self.wrong += [f"<{tag} {name}>" for name, _ in attrs if name not in allowed]
        self.wrong += [
            f"class {value}"
            for name, value in attrs
            if name == "class" and not re.fullmatch(r"[a-z ]*", value or "")
        ]
        self.styles += tag == "style"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data

    def handle_comment(self, data: str) -> None:
        self.wrong.append(f"<!--{data}-->")

    def handle_pi(self, data: str) -> None:
        self.wrong.append(f"<?{data}>")

    def unknown_decl(self, data: str) -> None:
        self.wrong.append(f"<![{data}]>")


def read(document: str) -> Reader:
    reader = Reader()
    reader.feed(document)
    reader.close()
    assert reader.open == []
    assert reader.wrong == []
    assert reader.styles == 1
    return reader


HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script src=//evil.example></script>",
    "</style><script>alert(1)</script>",
    "</title></head><body onload=alert(1)>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    '"><iframe src="javascript:alert(1)">',
    "' onmouseover='alert(1)",
    "[a](javascript:alert(1))",
    "![a](https://evil.example/seen.png)",
    "<javascript:alert(1)>",
    "</summary></details></section></article></main>",
    "```html\n<script>alert(1)</script>\n```\n<script>alert(2)</script>",
    "```\n</code></pre><script>alert(1)</script>",
    "`<script>`<script>alert(1)</script>`",
    "**<b onclick=alert(1)>**",
    "# <script>alert(1)</script>",
    "<!-- --!><script>alert(1)</script>",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?php echo 1 ?>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script>alert(1)</script>",
    "\x1b]52;c;QUJD\x07\x1b[2J\x9b31m \x00 \x08",
    "\u202e\u2066\u200b\ufeff\ud800",
    "data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==",
]


def everywhere(text: str) -> list[dict[str, Any]]:
    """Put a text into every place that a transcript has."""
    given_input = {text: text, "command": text, "file_path": text, "content": text}
    return [
        message(said(text), role="user", source=text, agentID=text),
        message(
            said(text, synthetic=True),
            said(text, metadata={"machine": text}),
            {"type": "reasoning", "text": text},
            call(text, input=given_input, output=text, metadata={"diff": text}, title=text),
            call(text, status="error", input=text, error=text, attachments=[{"url": text}]),
            call("bash", status=text, input={"command": text}, output={"a": text}),
            {"type": "file", "filename": text, "mime": text, "url": text},
            {"type": "patch", "files": [text]},
            {"type": "patch", "files": text},
            {"type": "agent", "name": text},
            {"type": "subtask", "agent": text, "description": text, "prompt": text},
            {"type": "retry", "attempt": text, "error": {"name": text, "message": text}},
            {"type": "compaction", "projection": {"summary": text}},
            {"type": "checkpoint", "checkpointNumber": text},
            {"type": text, "value": text},
            agent=text,
            modelID=text,
            error={"name": text, "data": {"message": text}},
        ),
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_leaves_its_element(text: str) -> None:
    """In every place of a transcript, and in its title, text stays text."""
    reader = read(html(*everywhere(text), title=text))
    if text.startswith("<script"):
        assert reader.text.count("<script>alert(1)</script>") > 20
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", reader.text)


@given(st.text(alphabet="<>/&\"'`*#~=- \na!?;:()[]script\x00\x1b\ud800密", max_size=60))
def test_any_text_stays_text(text: str) -> None:
    read(html(*everywhere(text), title=text))


def test_the_page_forbids_what_it_does_not_have() -> None:
    """Its policy allows its own style sheet by its hash, and nothing else whatever."""
    document = html(message(said("x")))
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', document)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert document.index("Content-Security-Policy") < document.index("<style>")
    assert not re.search(r"url\(|@import|https?:|//", page.STYLE)


def test_a_page_of_a_session() -> None:
    """Who spoke, calls folded with their input and result, code told apart, failures marked."""
    document = html(
        message(said("why does\nthe total drift?"), role="user"),
        message(
            {"type": "step-start"},
            {"type": "reasoning", "text": "rounding, probably"},
            said("It **rounds** in `f`:\n```python\nx = 1  # one\n```\ndone"),
            call("bash", input={"command": "ls 'a b'"}, output="a.py"),
            call("read", status="error", input={"file_path": "/x.py"}, error="ENOENT"),
            modelID="m-1",
            cost=0.5,
        ),
    )
    body = document[document.index("<article>") : document.index("</main>")]
    assert body == snapshot("""\
<article>
<h1>Cart total drifts</h1>
<p class="about">mimo/ses_one · /home/dev/shop · 2026-12-01 03:14 UTC</p>
<section class="you">
<h2>You<small>2026-12-01 03:14 UTC</small></h2>
<div class="said">why does
the total drift?</div>
</section>
<section>
<h2>build<small>2026-12-01 03:14 UTC · m-1 · $0.5000</small></h2>
<details class="machine"><summary>thought: rounding, probably</summary>
<div class="said">rounding, probably</div>
</details>
<div class="said">It <b>rounds</b> in <code>f</code>:</div>
<pre><code>x = <span class="n">1</span>  <span class="c"># one</span></code></pre>
<div class="said">done</div>
<details class="call"><summary class="">bash ls &#39;a b&#39;</summary>
<div class="label">command</div>
<pre><code>ls <span class="s">&#39;a b&#39;</span></code></pre>
<div class="label">output</div>
<pre><code>a.py</code></pre>
</details>
<details class="call"><summary class="bad">read (error) /x.py</summary>
<div class="label">file_path</div>
<pre><code>/x.py</code></pre>
<div class="label">error</div>
<pre><code>ENOENT</code></pre>
</details>
</section>
</article>
""")


@given(st.text(max_size=200), st.sampled_from(["py", "js", "sql", "diff", "sh", "nope", ""]))
def test_highlighting_changes_no_character(code: str, language: str) -> None:
    stretches = list(highlight.spans(code, language))
    assert "".join(text for _, text in stretches) == code
    assert {style for style, _ in stretches} <= set("csnkid") | {""}


def test_highlighting_tells_things_apart() -> None:
    def styles(code: str, language: str) -> dict[str, str]:
        return {text.strip(): style for style, text in highlight.spans(code, language) if style}

    assert styles('return "a#b" + 12  # why', "python") == {
        "return": "k",
        '"a#b"': "s",
        "12": "n",
        "# why": "c",
    }
    assert styles("SELECT 'x' -- all", "sql") == {"SELECT": "k", "'x'": "s", "-- all": "c"}
    assert styles("const u = 'http://x'; // y", "ts") == {
        "const": "k",
        "'http://x'": "s",
        "// y": "c",
    }
    assert styles("@@ 1\n+a\n-b\n c", "diff") == {"@@ 1": "c", "+a": "i", "-b": "d"}


@pytest.mark.parametrize("opening", ['"', "'", "`", "/*", '"""', "#", "\\", "--", "a", "1."])
def test_highlighting_what_never_ends_takes_linear_time(opening: str) -> None:
    """A hundred thousand openings are done; a square of them would not be."""
    for language in ("py", "js", "sql"):
        text = opening * (highlight.LONGEST // len(opening))
        assert "".join(part for _, part in highlight.spans(text, language)) == text


# Fences


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("a", [("a", None)]),
        ("a\n```py\nx\n```\nb", [("a", None), ("x", "py"), ("b", None)]),
        ("```\nx", [("x", "")]),
        ("````\n```\nx\n````", [("```\nx", "")]),
        ("~~~ SH x\ny\n~~~", [("y", "sh")]),
        ("  ```\n  x\n  ```", [("x", "")]),
        ("    ```\nx", [("    ```\nx", None)]),
        ("``` a`b\nx", [("``` a`b\nx", None)]),
        ("```\nx\n~~~\n```", [("x\n~~~", "")]),
    ],
)
def test_fences(text: str, want: list[tuple[str, str | None]]) -> None:
    assert [tuple(block) for block in story.blocks(text)] == want


# Markdown


def test_markdown_of_a_session() -> None:
    text = md(
        message(said("why does *it* drift?"), role="user"),
        message(
            {"type": "reasoning", "text": "rounding"},
            said("Use `Vec<String>`:\n```sh\nls\n```"),
            call("bash", input={"command": "cat x.md"}, output="```\nfence\n```"),
            modelID="m_1",
        ),
        title="Cart_total [1]",
    )
    assert text == snapshot("""\
# Cart\\_total \\[1\\]

mimo/ses\\_one · /home/dev/shop · 2026-12-01 03:14 UTC

## You — 2026-12-01 03:14 UTC

why does *it* drift?

## build — 2026-12-01 03:14 UTC · m\\_1

<details><summary>reasoning</summary>

rounding

</details>

Use `Vec<String>`:

```sh
ls
```

<details><summary>bash cat x.md</summary>

command:

```sh
cat x.md
```

output:

````
```
fence
```
````

</details>
""")


def outside_fences(text: str) -> str:
    return "\n".join(block.text for block in story.blocks(text) if block.language is None)


OURS = re.compile(r"</?(?:details|summary)>")
RAW = re.compile(r"<(?=[A-Za-z/!?])(?!/?[A-Za-z][A-Za-z0-9_.]*>)")
ACTIVE = re.compile(
    r"</?(?:script|style|iframe|svg|img|object|embed|form|base|meta)\b", re.IGNORECASE
)


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_holds_no_raw_html_of_a_transcript(text: str) -> None:
    """Outside of our own fences there is no tag that does anything, and no link to a script."""
    prose = OURS.sub("", outside_fences(md(*everywhere(text), title=text)))
    assert RAW.findall(prose) == []
    assert ACTIVE.findall(prose) == []
    assert not re.search(r"(?<!\\)\]\(\s*javascript:", prose)


@given(st.text(alphabet="<>/&`~\\ \na!?:()[]script=", max_size=60))
def test_no_text_makes_raw_html(text: str) -> None:
    prose = OURS.sub("", outside_fences(md(message(said(text)))))
    assert RAW.findall(prose) == []
    assert ACTIVE.findall(prose) == []


class Viewer(HTMLParser):
    """Reads what a viewer that keeps raw HTML makes of Markdown; keeps what would do something."""

    def __init__(self) -> None:
        super().__init__()
        self.active: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        harmless = {"href", "title", "class", "start", "align"}
        self.active += [f"{tag} {name}" for name, _ in attrs if name not in harmless]
        for name, value in attrs:
            if name == "href" and re.match(r"(?i)\W*(?:javascript|vbscript|data):", value or ""):
                self.active.append(f"{tag} {value}")
        if tag in {"script", "style", "iframe", "object", "embed", "form", "base", "svg", "input"}:
            self.active.append(tag)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_viewer_that_keeps_html_runs_nothing(text: str) -> None:
    """Rendered by a CommonMark implementation that lets all raw HTML and all links through."""
    assert active(md(*everywhere(text), title=text)) == []


WORDS = ["<script>", "`", "``", "\\", "```", "~~~", "\n", " ", "<img src=x onerror=y>", "> ", "- "]
WORDS += [
    "[a](javascript:x)",
    "    ",
    "<!--",
    "-->",
    "<b>",
    "a",
    "&lt;",
    "](",
    "javascript:",
    "\n\n",
]


@given(st.lists(st.sampled_from(WORDS), max_size=14).map("".join))
def test_no_mixture_of_markdown_and_html_runs_in_a_viewer(text: str) -> None:
    assert active(md(message(said(text)), message(call("bash", output=text)))) == []


def active(document: str) -> list[str]:
    """Render Markdown as permissively as can be, and give what would do something."""
    viewer = MarkdownIt("commonmark", {"html": True})
    viewer.validateLink = bool  # type: ignore[assignment, method-assign]
    reader = Viewer()
    reader.feed(viewer.render(document))
    reader.close()
    return reader.active


@given(st.text(alphabet="`~ \nabc", max_size=60))
def test_code_stays_in_its_fence(code: str) -> None:
    """A fence is longer than any run of backticks in what it holds."""
    lines = "\n".join(markdown.fenced(code, "x"))
    assert [block.text for block in story.blocks(lines)] == [code]


# The verb


@pytest.fixture
def filled(database: Path) -> Path:
    with MimoDatabase(database) as db:
        session = db.session(id="ses_shop0001", title="Cart <b>total</b>")
        db.say(session, "why does it drift? \u2028\x1b[31m", id="msg_ask")
        answer = db.message(session, "assistant", id="msg_answer")
        db.tool(answer, "bash", {"command": "ls"}, output="AKIA" + "ABCDEFGHIJKLMNOP")
        db.say(db.session(id="ses_note0002"), "another", id="msg_note")
    return database


def test_json_is_one_array_and_jsonl_one_message_a_line(filled: Path, mimohist: Program) -> None:
    mimohist("backfill")
    ended = mimohist("export", "ses_shop0001", "msg_note", "ses_shop0001")
    assert (ended.status, ended.err) == (0, "")
    array = json.loads(ended.out)
    assert [one["id"] for one in array] == ["msg_ask", "msg_answer", "msg_note"]
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028]", ended.out)
    assert array[0]["parts"][0]["text"] == "why does it drift? \u2028\x1b[31m"
    lines = mimohist("export", "ses_shop0001", "msg_note", "--format", "jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == array
    assert filled.exists()


def test_refs_are_read_from_stdin(filled: Path, mimohist: Program) -> None:
    """What `search -l` prints goes into `export -`."""
    found = mimohist("search", "-l", "drift").out
    array = json.loads(mimohist("export", "-", stdin=found).out)
    assert [one["sessionID"] for one in array] == ["ses_shop0001"] * 2
    assert filled.exists()


def test_an_empty_slice_is_an_empty_array(database: Path, mimohist: Program) -> None:
    with MimoDatabase(database) as db:
        db.session(id="ses_empty", title="nothing yet")
        db.say(db.session(id="ses_full"), "x")
    ended = mimohist("export", "ses_empty")
    assert (ended.status, json.loads(ended.out)) == (0, [])


@pytest.mark.parametrize("form", ["json", "jsonl", "md", "html"])
def test_secrets_are_replaced_on_request(filled: Path, mimohist: Program, form: str) -> None:
    key = "AKIA" + "ABCDEFGHIJKLMNOP"
    assert key in mimohist("export", "ses_shop0001", "--format", form).out
    out = mimohist("export", "ses_shop0001", "--format", form, "--redact").out
    assert (key in out, "redacted:aws-key" in out) == (False, True)
    assert filled.exists()


def test_a_page_with_two_sessions_is_one_page(filled: Path, mimohist: Program) -> None:
    out = mimohist("export", "ses_shop0001", "ses_note0002", "--format", "html").out
    reader = read(out)
    assert out.count("<article>") == 2
    assert "Cart <b>total</b>" in reader.text
    assert filled.exists()


def test_when_the_source_is_gone_the_index_is_written_and_it_is_said(
    filled: Path, mimohist: Program
) -> None:
    mimohist("backfill")
    filled.unlink()
    ended = mimohist("export", "ses_shop0001", "--no-refresh")
    assert (ended.status, len(json.loads(ended.out))) == (0, 2)
    assert "written from the index, which keeps texts but not every field" in ended.err


@pytest.mark.parametrize(
    ("arguments", "status", "complaint"),
    [
        (("ses_nope",), 1, "no message or session"),
        (("ses_shop0001", "--agent", "nope"), 2, "no agent 'nope' in this session"),
        (("ses_shop0001", "--step", "9"), 2, "no step 9: the model answered 1 times here"),
        (("ses_shop0001", "--step", "0"), 2, "--step"),
        (("ses_shop0001", "--format", "xml"), 2, "xml"),
        (("-",), 2, "no refs on standard input"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_written(
    filled: Path, mimohist: Program, arguments: tuple[str, ...], status: int, complaint: str
) -> None:
    ended = mimohist("export", *arguments)
    assert (ended.status, ended.out) == (status, "")
    assert complaint in ended.err
    assert filled.exists()
