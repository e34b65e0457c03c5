"""The texts of a stretch of a session: prose, code, logs, listings, paths, all made up.

Words come in bursts, as they do in real talk: each stretch draws from bags that are
filled from the whole vocabulary, the project's names and the session's topic, and are
filled anew some hundred parts later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.bench import words

if TYPE_CHECKING:
    from random import Random

_CODES: tuple[str, ...] = (
    "E0308",
    "E0502",
    "TS2345",
    "TS7006",
    "ENOENT",
    "EACCES",
    "ECONNRESET",
    "SQLITE_BUSY",
)
_CODES += ("HTTP 502", "exit 137", "SIGSEGV", "W0611", "F821", "CVE-2026-1043", "0x80070005")
_FOLDERS = ("src", "tests", "lib", "internal", "pkg", "app", "docs", "scripts", "cmd", "ui", "core")
_PYTHON = (
    "def {0}(self, {1}, {2}=None):",
    "    return self.{0}.{1}({2})",
    "    if not {0}.{1}:",
    '        raise ValueError(f"{3} {4} {{{0}}}")',
    "    {0} = {1}({2}, timeout={n})",
    "import {1}",
    "from {0}.{1} import {2}",
    "    # {3} {4} {5} {6} {7}",
    "    for {1} in {0}.items():",
    '    """{3} {4} {5} {6} {7}."""',
    '        {0}["{4}"] = {1}.get("{3}", {n})',
    "",
    "class {0}({1}):",
    "    assert {0}({n}) == {1}",
)
_TYPESCRIPT = (
    "export function {0}({1}: string, {2}?: number): {0} {{",
    "  const {0} = await {1}.{2}({n});",
    "  return {0}.map(({1}) => {1}.{2});",
    'import {{ {0}, {1} }} from "../{4}/{2}";',
    "  // {3} {4} {5} {6} {7}",
    "  if ({0} === undefined) throw new Error(`{3} {4} ${{{1}}}`);",
    "  this.{0} = {1} ?? {n};",
    "}}",
    "",
    "  expect({0}({n})).toBe({1});",
    '  <{0} {1}={{{2}}} className="{3}-{4}" />',
)
_COMPILED = (
    "pub fn {0}(&self, {1}: &str) -> Result<{2}, Error> {{",
    "    let mut {0} = std::mem::take(&mut self.{1});",
    "func ({1} *{0}) {2}(ctx context.Context) error {{",
    '    if err != nil {{ return fmt.Errorf("{3} {4}: %w", err) }}',
    "    // {3} {4} {5} {6} {7}",
    "    self.{0}.push({1}.{2}());",
    "    match {0} {{ Some({1}) => {2}, None => return }}",
    "}}",
    "",
    "use crate::{0}::{1};",
    "    assert_eq!({0}({n}), {1});",
)
_LANGUAGES = {"py": _PYTHON, "ts": _TYPESCRIPT, "rs": _COMPILED}


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All words there are, weighted; `shared` are names that occur in every project."""

    function: words.Weighted
    content: words.Weighted
    foreign: dict[str, words.Weighted]
    shared: list[str]


def vocabulary(rng: Random, size: int = 50_000) -> Vocabulary:
    """Make the vocabulary of one corpus."""
    content = words.content_words(rng, size)
    foreign = {
        tongue: words.zipf(words.foreign_words(rng, tongue), 4.0) for tongue in words.TONGUES
    }
    lexicon = words.PROGRAM.split()[:150]
    shared = list(dict.fromkeys(_identifier(rng, lexicon, "py") for _ in range(400)))
    return Vocabulary(words.function_words(), words.zipf(content), foreign, shared)


class Project:
    """A checkout with its language, names and files."""

    def __init__(self, rng: Random, known: Vocabulary, id_: str, worktree: str) -> None:
        self.id = id_
        self.worktree = worktree
        self.language = rng.choice(tuple(_LANGUAGES))
        lexicon = rng.choices(known.content[0][:400], k=120)
        lexicon += rng.choices(known.content[0], cum_weights=known.content[1], k=280)
        made = (_identifier(rng, lexicon, self.language) for _ in range(1500))
        names = list(dict.fromkeys(made)) + rng.sample(known.shared, 150)
        rng.shuffle(names)
        self.names = words.zipf(names, 8.0)
        self.files = [self._file(rng, lexicon) for _ in range(300)]

    def _file(self, rng: Random, lexicon: list[str]) -> str:
        folders = [rng.choice(_FOLDERS), *rng.choices(lexicon, k=rng.choice((0, 1, 1, 2)))]
        stem = "_".join(rng.choices(lexicon, k=rng.choice((1, 1, 2))))
        kind = self.language if rng.random() < 0.8 else rng.choice(("md", "json", "toml", "sql"))
        return "/".join((self.worktree, *folders, f"{stem}.{kind}"))


class Scribe:
    """Writes texts from bags; `topic` are the words that this session keeps coming back to."""

    def __init__(self, rng: Random, known: Vocabulary, project: Project, topic: list[str]) -> None:
        self.rng = rng
        self.known = known
        self.project = project
        self.names = rng.choices(project.names[0], cum_weights=project.names[1], k=600)
        self.files = rng.choices(project.files, k=40)
        self._bag = self._fill(topic)
        self._lines = self._make_lines(900)
        self._foreign: dict[str, list[str]] = {}

    def prose(self, count: int) -> str:
        """English-like text of about so many words."""
        if count <= 70:
            text = " ".join(self.rng.choices(self._bag, k=max(count, 1)))
        else:
            choices, bag = self.rng.choices, self._bag
            text = "\n".join(" ".join(choices(bag, k=60)) for _ in range(count // 60))
        return text[0].upper() + text[1:]

    def foreign(self, tongue: str, count: int) -> str:
        """Text in another tongue, here and there with a name of the project stuck to it."""
        bag = self._foreign.get(tongue)
        if bag is None:
            all_, weights = self.known.foreign[tongue]
            bag = self.rng.choices(all_, cum_weights=weights, k=1500) + self.names[:60]
            self._foreign[tongue] = bag
        return "".join(self.rng.choices(bag, k=max(count, 2)))

    def code(self, count: int) -> str:
        """So many lines of code."""
        return "\n".join(self.rng.choices(self._lines, k=max(count, 1)))

    def numbered(self, count: int, first: int) -> str:
        """Lines of a file as the `read` tool shows them."""
        lines = self.rng.choices(self._lines, k=max(count, 1))
        return "\n".join([f"{number}: {line}" for number, line in enumerate(lines, first)])

    def log(self, count: int) -> str:
        """So many log lines, each with a time, an id and a duration of its own."""
        rng, bag, names = self.rng, self._bag, self.names
        random, choices, bits = rng.random, rng.choices, rng.getrandbits
        level = ("INFO", "INFO", "INFO", "DEBUG", "WARN", "ERROR")
        return "\n".join(
            [
                f"2026-{1 + int(random() * 11):02}-{1 + int(random() * 28):02}T"
                f"{int(random() * 24):02}:{int(random() * 60):02}:{random() * 60:06.3f}Z "
                f"{level[int(random() * 6)]} {names[int(random() * 600)]}: "
                f"{' '.join(choices(bag, k=4))} id={bits(48):012x} took {int(random() * 900)}ms"
                for _ in range(max(count, 1))
            ]
        )

    def hits(self, count: int) -> str:
        """So many lines as `grep` prints them."""
        rng = self.rng
        lines = rng.choices(self._lines, k=max(count, 1))
        return "\n".join([f"{rng.choice(self.files)}:{rng.randrange(1, 900)}:{x}" for x in lines])

    def listing(self, count: int) -> str:
        """So many paths."""
        return "\n".join(self.rng.choices(self.project.files, k=max(count, 1)))

    def commits(self, count: int) -> str:
        """So many lines as `git log --oneline` prints them."""
        bits = self.rng.getrandbits
        return "\n".join(f"{bits(28):07x} {self.prose(7)}" for _ in range(max(count, 1)))

    def failure(self) -> str:
        """Give what a failed tool says."""
        code, name = self.rng.choice(_CODES), self.name()
        return f"{code}: {self.prose(9)} `{name}`\n  at {self.file()}:{self.rng.randrange(900)}"

    def command(self) -> str:
        """Give a shell command."""
        rng = self.rng
        return rng.choice(
            (
                f"pytest -q {self.file()} -k {self.name()}",
                f"git log --oneline -n {rng.randrange(5, 60)} -- {self.file()}",
                f"rg -n '{self.name()}' {self.project.worktree}/src | head -{rng.randrange(5, 50)}",
                f"cd {self.project.worktree} && npm run build 2>&1 | tail -{rng.randrange(5, 90)}",
                f"sed -n '{rng.randrange(1, 200)},{rng.randrange(200, 400)}p' {self.file()}",
                f"curl -s http://127.0.0.1:{rng.randrange(3000, 9999)}/{self.name()} | jq .",
                f'python -c "import {self.name()}; print({self.name()})"',
                f"git show {rng.getrandbits(40):010x} --stat",
                f"docker logs {rng.getrandbits(48):012x} --since {rng.randrange(1, 90)}m",
            )
        )

    def name(self) -> str:
        """Give an identifier of the project."""
        return self.names[int(self.rng.random() * len(self.names))]

    def file(self) -> str:
        """Give a path of the project."""
        return self.files[int(self.rng.random() * len(self.files))]

    def _fill(self, topic: list[str]) -> list[str]:
        rng = self.rng
        bag = rng.choices(self.known.function[0], cum_weights=self.known.function[1], k=1900)
        bag += rng.choices(self.known.content[0], cum_weights=self.known.content[1], k=1300)
        bag += rng.choices(topic, k=650)
        bag = [f"{word}{end}" for word, end in zip(bag, _ends(rng, len(bag)), strict=True)]
        bag += [f"`{name}`" for name in self.names[:110]]
        bag += [f"`{path}`" for path in self.files[:15]]
        bag += rng.choices(_CODES, k=4) + [str(rng.randrange(2000)) for _ in range(40)]
        bag += [f"{rng.getrandbits(28):07x}" for _ in range(8)]
        return bag

    def _make_lines(self, count: int) -> list[str]:
        rng = self.rng
        forms = rng.choices(_LANGUAGES[self.project.language], k=count)
        plain = [word.rstrip(".,:;") for word in self._bag[:3800]]
        names, said = rng.choices(self.names, k=3 * count), rng.choices(plain, k=5 * count)
        return [
            form.format(
                *names[3 * place : 3 * place + 3],
                *said[5 * place : 5 * place + 5],
                n=place * 7 % 512,
            )
            for place, form in enumerate(forms)
        ]


def _ends(rng: Random, count: int) -> list[str]:
    return rng.choices(("", ".", ",", ":"), cum_weights=(84, 93, 99, 100), k=count)


def _identifier(rng: Random, lexicon: list[str], language: str) -> str:
    parts = rng.choices(lexicon, k=rng.choice((2, 2, 2, 3)))
    style = rng.random()
    if style < 0.1:
        return "_".join(parts).upper()
    if style < 0.25:
        return "".join(part.capitalize() for part in parts)
    if language == "ts":
        return parts[0] + "".join(part.capitalize() for part in parts[1:])
    return "_".join(parts)
