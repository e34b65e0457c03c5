"""Words by frequency, made from a seed: English-like ones, Chinese, Japanese, Korean and Thai.

No outside data: the most frequent English and programming words stand here, the tens of
thousands below them are made of syllables, and CJK and Thai words of frequent characters.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

FUNCTION = """
the 620 of 310 and 280 to 270 a 240 in 200 is 130 that 110 it 100 for 95 was 60 on 65 with 66
as 62 be 60 this 70 not 50 are 48 by 50 from 46 or 44 at 38 an 34 if 42 we 36 but 30 i 40 can 34
have 28 has 22 will 24 when 30 all 24 there 20 which 22 so 24 do 20 you 28 they 14 no 20 one 20
only 18 then 20 now 18 let 18 me 14 should 18 would 12 its 12 into 14 after 12 because 12 where 10
also 12 already 8 before 9 does 10 what 12 how 9 than 9 more 10 each 8 both 6 same 10 still 7 just 9
these 8 them 8 their 5 my 6 your 6 our 5 been 6 were 6 being 4 out 9 up 9 other 6 any 8 some 7
here 7
instead 6 without 6 between 5 while 6 until 4 like 7 make 8 need 9 needs 6 looks 6 see 7 look 7
keep 4
"""

PROGRAM = """
file test error function code run type value name path line string return data class request
user config build server client key index table query message session list set get add update
remove check fix change call use read write load parse test_case module package version import
export default option input output result response status state event handler callback async
await thread lock queue cache buffer stream socket connection pool timeout retry database column
row schema migration transaction commit rollback branch merge rebase diff patch log warning debug
info trace exception stack frame memory leak heap pointer reference array map hash tree node edge
graph loop condition variable constant parameter argument field method object instance interface
protocol struct enum trait generic template macro token parser lexer compiler linker runtime
interpreter library framework dependency install upgrade release deploy container image docker
cluster service endpoint route router middleware controller model view component render layout
style theme button form page screen window dialog menu icon font color width height margin
padding border scroll drag drop click hover focus keyboard mouse touch network packet header body
payload token_count cookie login password secret permission role policy account profile email
notification webhook payment invoice order cart product price discount currency tax total amount
balance customer vendor shipment address country locale timezone date time clock schedule cron job
worker task batch pipeline stage step script command shell terminal process signal exit code_path
environment variable_name directory folder root home temp archive compress encode decode encrypt
decrypt sign verify certificate proxy gateway balancer replica shard partition offset cursor
page_size
limit filter sort search match pattern regex replace split join trim format print assert expect
mock fixture suite coverage benchmark profile_run latency throughput metric counter gauge histogram
alert dashboard report summary detail document comment readme license author issue ticket review
feature bug regression hotfix workaround cleanup refactor rename move copy delete create insert
select drop alter constraint unique primary foreign null empty missing invalid unexpected expected
actual failed passed skipped pending running done ready open closed enabled disabled true false
first last next previous current new old left right top bottom start end begin finish width_of
""".replace("_", " ")

_ONSETS = [
    "b",
    "br",
    "c",
    "ch",
    "cl",
    "d",
    "dr",
    "f",
    "fl",
    "g",
    "gr",
    "h",
    "j",
    "k",
    "l",
    "m",
    "n",
    "p",
    "pl",
    "pr",
    "qu",
    "r",
    "s",
    "sc",
    "sh",
    "sl",
    "sp",
    "st",
    "t",
    "tr",
    "v",
    "w",
    "z",
]
_VOWELS = ["a", "e", "i", "o", "u", "ai", "ea", "ee", "ou", "io", "ie"]
_CODAS = ["", "", "", "n", "r", "l", "s", "t", "m", "d", "ck", "nt", "rd", "st", "x"]
_ENDINGS = [
    "",
    "",
    "",
    "",
    "s",
    "ed",
    "ing",
    "er",
    "ly",
    "tion",
    "ment",
    "able",
    "ness",
    "al",
    "ist",
]

HAN = (
    "的一是不了在人有我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么心"
    "多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长知民样现分将外但"
    "身些与高意进把法此实回二理美点月明其种声全工己话儿者向情部正名定女问力机给等几很业最间新什打便位因重被走电四第"
    "门相次东政海口使教西再平真听世气信北少关并内加化由却代军产入先山五太水万市眼体别处总才场师书比住员九笑性通目华"
    "报立马命张活难神数件安表原车白应路期叫死常提感金何更反合放做系计或司利受光王果亲界及今京务制解各任至清物台象记"
    "边共风战干接它许八特觉望直服毛林题建南度统色字请交爱让认算论百吃义科怎元社术结六功指思非流每青管夫连远资队跟带"
    "花快条院变联言权往展该领传近留红治决周保达办运武半候七必城父强步完革深区即求品士转量空甚众技轻程告江语英基派满"
    "式李息写呢识极令黄德收脸钱党倒未持取设始版双历越史商千片容研像找友孩站广改议形委早房音火际则首单据导影失拿网香"
    "似斯专石若兵弟谁校读志飞观争究包组造落视济喜离虽坏查索缓存错误库码池消线锁启配置环境测试脚试验排检修复支码"
)
KANJI = (
    "日一国会人年大十二本中長出三同時政事自行社見月分議後前民生連五発間対上部東者党地合市業内相方四定今回新場金員"
    "九入選立開手米力学問高代明実円関決子動京全目表戦経通外最言氏現理調体化田当八六約主題下首意法不来作性的要用制治"
    "度務強気小七成期公野協取都和統以機平総加山思家話世受区領多県続進正安設保改数記院女初北午指権心界支第産結百派点"
    "教報済書府活原先共得解名交資予川向際査勝面委告軍文反元重近千考判認画海参売利組知案道信策集在件団別物側任引使求"
    "所次水半品昨論計死官増係感特情投示変打男基私各始島直両朝革価式確村提運終挙果西勢減台広容必応演電歳住争談能無再"
    "位置企真流格有疑口過局少放税検藤町常校料沢裁状工建語球営空職証土与急止送援供可役構木割聞身費付施切由説転食比難"
)
_HIRAGANA = (
    "あいうえおかきくけこさしすせそたちつてとなにぬねのはひ"
    "ふへほまみむめもやゆよらりるれろわんがぎぐげござじずぜ"
)
_KATAKANA = (
    "アイウエオカキクケコサシスセソタチツテトナニネノハヒフヘホマミ"
    "ムメモヤユヨラリルレロンガギグゲゴダデドバビブベボパピプペポー"
)
_PARTICLES = [
    "の",
    "は",
    "が",
    "を",
    "に",
    "で",
    "と",
    "も",
    "から",
    "まで",
    "です",
    "ます",
    "した",
    "する",
    "して",
    "ない",
    "いる",
    "ある",
    "という",
]
_INITIALS = "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅎ"
_KOREAN_PARTICLES = [
    "은",
    "는",
    "이",
    "가",
    "을",
    "를",
    "에",
    "의",
    "로",
    "에서",
    "으로",
    "와",
    "과",
    "도",
    "합니다",
    "했다",
    "하는",
]
_THAI_INITIALS = "กขคงจชซดตทนบปพมยรลวสหอ"
_THAI_VOWELS = ["า", "ี", "ิ", "ู", "ุ", "อ", "ัน", "าน", "าม", "ือ", "้า", "ี่", "่า", "ำ"]
_THAI_BEFORE = ["", "", "", "", "เ", "แ", "โ", "ไ"]

Weighted = tuple[list[str], list[float]]
"""Words and their cumulative weights, as `random.choices` takes them."""


def zipf(words: list[str], shift: float = 2.7) -> Weighted:
    """Weigh words by their place, as words of a language are (Zipf and Mandelbrot)."""
    return words, list(accumulate(1 / (rank + shift) for rank in range(len(words))))


def function_words() -> Weighted:
    """Give the commonest English words with about their real shares."""
    pairs = FUNCTION.split()
    return pairs[::2], list(accumulate(float(weight) for weight in pairs[1::2]))


def content_words(rng: Random, count: int) -> list[str]:
    """Words of programming in front, then made-up ones, most frequent first."""
    known = dict.fromkeys(PROGRAM.split())
    while len(known) < count:
        syllables = 1 + (rng.random() < 0.75) + (rng.random() < 0.3)
        stem = "".join(
            rng.choice(_ONSETS) + rng.choice(_VOWELS) + (rng.choice(_CODAS) if last else "")
            for last in (number == syllables - 1 for number in range(syllables))
        )
        known[stem + rng.choice(_ENDINGS)] = None
    return list(known)


def foreign_words(rng: Random, tongue: str, count: int = 6000) -> list[str]:
    """Words of `zh`, `ja`, `ko` or `th`, most frequent first."""
    make = _MAKERS[tongue]
    known: dict[str, None] = {}
    while len(known) < count:
        known[make(rng)] = None
    words = list(known)
    # Particles are commoner than any word with a meaning.
    for place, particle in enumerate(_LEADING[tongue]):
        words.insert(place * 2, particle)
    return words


def _pick(rng: Random, characters: str) -> str:
    # Squaring a uniform number favours the front, where the frequent characters stand.
    return characters[int(rng.random() ** 2 * len(characters))]


def _run(rng: Random, characters: str, lengths: str) -> str:
    return "".join(_pick(rng, characters) for _ in range(int(rng.choice(lengths))))


def _chinese(rng: Random) -> str:
    if rng.random() < 0.05:
        return chr(rng.randrange(0x4E00, 0x9FA6)) + _pick(rng, HAN)
    return _run(rng, HAN, "12222234")


def _japanese(rng: Random) -> str:
    kind = rng.random()
    if kind < 0.5:
        return _run(rng, KANJI, "122224") + (_run(rng, _HIRAGANA, "12") if kind < 0.2 else "")
    return _run(rng, _KATAKANA, "34567") if kind < 0.75 else _run(rng, _HIRAGANA, "2334")


def _korean(rng: Random) -> str:
    def syllable() -> str:
        initial = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ".index(rng.choice(_INITIALS))
        final = rng.choice((0, 0, 0, 4, 8, 16, 17, 21, 1))
        return chr(0xAC00 + (initial * 21 + rng.choice((0, 4, 5, 8, 13, 18, 20))) * 28 + final)

    return "".join(syllable() for _ in range(rng.choice((1, 2, 2, 2, 3, 4))))


def _thai(rng: Random) -> str:
    return "".join(
        rng.choice(_THAI_BEFORE) + rng.choice(_THAI_INITIALS) + rng.choice(_THAI_VOWELS)
        for _ in range(rng.choice((1, 1, 2, 2, 3)))
    )


_MAKERS: dict[str, Callable[[Random], str]] = {
    "zh": _chinese,
    "ja": _japanese,
    "ko": _korean,
    "th": _thai,
}
_LEADING = {
    "zh": ["，", "的", "。", "是", "在", "了", "不", "和"],
    "ja": ["、", *_PARTICLES[:8], "。", *_PARTICLES[8:]],
    "ko": [" ", *(f"{particle} " for particle in _KOREAN_PARTICLES), ". "],
    "th": [" ", "ที่", "และ", "ใน", "ของ", "ไม่", "เป็น"],
}
TONGUES = tuple(_MAKERS)
