"""Which characters make words, as the insides of regular-expression classes.

Read off SQLite 3.40.1's `unicode61 remove_diacritics 2` (its tables are Unicode 6.1's)
and Python's own character data; `tests/test_alphabet.py` checks them against the SQLite
at hand, character by character.
"""

from __future__ import annotations

UNSPACED = (
    # Han, kana, Bopomofo, Hangul
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u3096\u309d-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7a3\ud7b0-\ud7fb\uf900-\ufaff"
    "\uff66-\uffdc\u1100-\u11ff"
    # Thai
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46"
    # Lao
    "\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd-\u0ec6\u0edc-\u0edf"
    # Myanmar
    "\u1000-\u102a\u103f\u1050-\u1055\u105a-\u105d\u1061\u1065\u1066\u106e-\u1070"
    "\u1075-\u1081\u108e\ua9e0-\ua9e4\ua9e6-\ua9fe\uaa60-\uaa76\uaa7a"
    # Khmer
    "\u1780-\u17b3\u17d7\u17dc"
    # Han beyond the basic plane
    "\U00020000-\U0003ffff"
)
"""Characters of scripts that are written without spaces: each is a token of its own."""

UNKNOWN = "\u19b0-\u19c0\u19c8\u19c9\u1cf2\u1cf3\uaa77-\uaa79"
"""Letters to Python that are separators to the tokenizer: they make no word."""

KINDRED = (
    "\u0080-\u00a9\u00ab\u00ac\u00ae-\u00b1\u00b4-\u00b8\u00bb\u00bf-\u00c5\u00c7-\u00cf"
    "\u00d1-\u00d7\u00d9-\u00dd\u00e0-\u00e5\u00e7-\u00ef\u00f1-\u00f7\u00f9-\u00fd"
    "\u00ff-\u010f\u0112-\u0125\u0128-\u0130\u0134-\u0137\u0139-\u013e\u0143-\u0148"
    "\u014c-\u0151\u0154-\u0165\u0168-\u017f\u0181-\u0196\u0198\u0199\u019b-\u01b4"
    "\u01b7-\u01c3\u01cd-\u01df\u01e4-\u01ed\u01f0\u01f4-\u01fb\u0200-\u023c\u023e-\u0242"
    "\u0245\u024a\u024b\u0370-\u0373\u0375-\u0377\u037b-\u037e\u0384\u0385\u0387"
    "\u0391-\u03a1\u03a3-\u03a9\u03b1-\u03c9\u03cf-\u03d1\u03d5-\u03f1\u03f3-\u03f8"
    "\u03fa-\u03ff\u0402\u0404-\u0406\u0408-\u040b\u040f-\u0418\u041a-\u0438\u043a-\u044f"
    "\u0452\u0454-\u0456\u0458-\u045b\u045f-\u0475\u0478-\u0482\u048a-\u04c0\u04c3-\u04cf"
    "\u04d4\u04d5\u04d8\u04d9\u04e0\u04e1\u04e8\u04e9\u04f6\u04f7\u04fa-\u0527\u0529"
    "\u052b\u052d\u052f\u05d0-\u05ea\u0606-\u060f\u061b\u061e-\u0621\u0627-\u063f"
    "\u0641-\u064a\u0660-\u066f\u0671-\u0674\u0679-\u06bf\u06c1\u06c3-\u06d2\u06d4\u06d5"
    "\u06de\u06e5\u06e6\u06e9\u06ee-\u06ff\u0e01-\u0e32\u0e34-\u0e3a\u0e3f-\u0e5b"
    "\u1ea0-\u1ef9\u2010-\u2027\u2030-\u205e\u20a0-\u20a7\u20a9-\u20b9\u2104\u2108\u2114"
    "\u2117\u2118\u211e\u211f\u2123\u2125-\u2127\u2129-\u212b\u212e\u2132\u213a"
    "\u2140-\u2144\u214a-\u214f\u2190-\u23f3\u2500-\u26ff\u2701-\u27bf\u3000-\u3029"
    "\u302e-\u3037\u303b-\u303f\u3041-\u3096\u309d\u309e\u30a0-\u30fe\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
    "\U0001f300-\U0001f320\U0001f330-\U0001f335\U0001f337-\U0001f37c\U0001f380-\U0001f393"
    "\U0001f3a0-\U0001f3c4\U0001f3c6-\U0001f3ca\U0001f3e0-\U0001f3f0\U0001f400-\U0001f43e"
    "\U0001f440\U0001f442-\U0001f4f7\U0001f4f9-\U0001f4fc\U0001f500-\U0001f53d"
    "\U0001f540-\U0001f543\U0001f550-\U0001f567\U0001f5fb-\U0001f640\U0001f645-\U0001f64f"
    "\U0001f680-\U0001f6c5\U00020000-\U0002a6df"
)
"""Characters beyond ASCII that the tokenizer folds just as `text.fold` does.

A text of these and ASCII alone needs no folded form beside it.  Marks that compose
with the character before them are left out.
"""

STEADY = (
    "\\x00-\\x7f\u2010-\u2017\u201a\u201b\u201e-\u2027\u2190-\u23f3\u2500-\u27bf"
    "\u3001-\u3029\u3041-\u3096\u309d\u309e\u30a0-\u30fe\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\U0001f300-\U0001f6c5"
)
"""Characters that `text.fold` leaves as they are once lower-cased: the fast path."""
