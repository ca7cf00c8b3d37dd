"""Scores how plausible a decoded text is: which reading of bytes in an unknown encoding a human would have written.

Used only by `encodings`. A wrong one-byte encoding gives letters in the wrong case or of the wrong frequency, a wrong
two-byte encoding gives rare ideographs; both lower the score.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Final

_WESTERN: Final = {
    **dict.fromkeys("éèàäöüåøæçóíáãêúßâôëïîœ", 2.6),
    "ñ": 2.8,
    **dict.fromkeys("ìòù", 2.2),
    **dict.fromkeys("ûõÿðþý", 1.0),
}
_CENTRAL: Final = {
    **dict.fromkeys("áéíóúýöüäô", 2.52),
    **dict.fromkeys("čšžěřůőűąęłśżćńźđ", 2.6),
    **dict.fromkeys("ăşţâî", 1.8),
    **dict.fromkeys("ďťňľĺŕ", 1.0),
}
_TURKISH: Final = {**dict.fromkeys("ışğ", 2.7), **dict.fromkeys("üçöİ", 2.5), **dict.fromkeys("âîû", 1.5)}
_CYRILLIC: Final = "оеаинтсрвлкмдпугяызбйьчхжцшщюэфъёіїєґўјљњћќџђ"
_GREEK: Final = "ατοιενρσκηπςυμλίόάγέδήωχθύφβξζψώϊϋΐΰ"
_HEBREW: Final = "יוהלרבתמאשנעםדקחפסכגטצןזךץף"
_ARABIC: Final = "اليمونرتبةعدسفهكقأحجشطصىخإذضثزغءآظؤئ،؟؛"
_BALTIC: Final = dict.fromkeys("āčēģīķļņšūžąęėįų", 2.5)
_SIMPLIFIED: Final = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成"
    "方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工"
    "使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表"
    "化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结"
    "反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难"
    "且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运行码字符输错误请注"
    "参返回默认测试值件包含息串编译函变量文本检查简单您好吗呢吧码户密登录网络服器库配置功能模块运行初始"
)
_TRADITIONAL: Final = (
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作里用道行所然家種事成"
    "方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與長把機十民第公此已工"
    "使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政美相見被利什二等產或新己制身果加西月話合回特代內信表"
    "化老給世位次度門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活更別打女變四神總何電數安少報才結"
    "反受目太量再感建務做接必場件計管期市直資命山金指許統區保至隊形社便空決治展馬科司五基眼書非則聽白卻界達光放強即像難"
    "且權思王象完設式色路記南品住告類求據程北邊死張該交規萬取望覺術領共確傳師觀清今切院讓識候帶導爭運碼字檔案繁您嗎呢吧包含"
    "輸錯誤請註測試值息串編譯檢查簡單戶密登錄網絡服器庫配置功塊初始"
)
_KANJI: Final = (
    "日本語人年大十二中長出三時行見月分後前生五間上東四今金九入学高円子外八六下来気小七山話女北午百書先名川千水半男西電校土木"
    "聞食車何南万毎白天母火右読友左休父雨世界文字列数値変更処理設定開始終了実行結果追加削除取得作成表示入力出力確認必要場合使用"
    "方法関数対象情報画面保存接続失敗成功最初全部新同自動手目的国会社事務所田一漢行番号注意説明項戻返引検索登録利用者名称型配列"
)
_HANGUL: Final = (
    "이다에의는로하을가고지서한은기으년대사시를리도인스일자해어여부라그정나전수보제있장아구것주상과만유동선비안신공소들조원미성우연면"
    "오진화중무요국세문생경마관계모내적위치방분실드용음명학때또할합니습없말되된된게했었트러버개회결입출력값파설변오류름녕까야간저번않"
    "반본물발통날려겠같당단데감각작업텍줄둘째첫두행달타나와및등더모든열함환키크기로그"
)
_PUNCTUATION: Final = frozenset("“”‘’„‚…–—«»‹›°§©®™€£·×¡¿№•¶±÷½¼²³´¨¸ªº†‡ \N{SOFT HYPHEN}")
_TYPOGRAPHIC: Final = frozenset("“”‘’–—…€£©°«»§®™·„¿¡")
_INSIDE_WORDS: Final = frozenset("’‘·–—…\N{SOFT HYPHEN}\N{NO-BREAK SPACE}")
_WIDE_PUNCTUATION: Final = frozenset("、。「」『』，．：；？！（）［］【】《》〈〉・…—“”‘’〜～　·￥％＋－＝／–")
_UNEXPECTED: Final = -3.0
_CONTROL: Final = -6.0
_GRADES: Final = ((8, 3.0), (20, 2.0), (28, 1.2))

Weight = Callable[[str], float]


def plausibility(text: str, script: str) -> float:
    """Return how plausible the non-ASCII characters are as text in this script: their mean weight, about 3 at best."""
    weight, rules = _weight_of(script), _RULES.get(script, _alphabetic)
    total, count = 0.0, 0
    for at, character in enumerate(text):
        if character < "\x80":
            continue
        count += 1
        before = text[at - 1] if at else " "
        behind = text[at + 1] if at + 1 < len(text) else " "
        total += weight(character) + rules(before, character, behind)
    return total / count if count else 0.0


def most_plausible_script(text: str) -> float:
    """Return the best plausibility of the text over all scripts, for encodings that can hold all of them."""
    return max(plausibility(text, script) for script in _ALPHABETS | _IDEOGRAPHS)


def _latin(before: str, character: str, behind: str) -> float:
    """Weigh a Latin letter: accented letters occur beside ASCII letters; a run of them is another script in the wrong
    encoding.
    """
    if not character.isalpha():
        is_inside = before.isalpha() and behind.isalpha() and character not in _INSIDE_WORDS
        return -4.0 if is_inside else 1.9 if character in _TYPOGRAPHIC else 0.0
    run = (before >= "\x80" and before.isalpha()) + (behind >= "\x80" and behind.isalpha())
    is_beside = _is_ascii_letter(before) or _is_ascii_letter(behind)
    wrong_case = character.isupper() and before.islower()
    return -1.5 * run + 0.5 * is_beside - 2.5 * wrong_case


def _alphabetic(before: str, character: str, behind: str) -> float:
    """Weigh a letter of another alphabet: a word is in one script, and no capital letter follows a small one."""
    if not character.isalpha():
        return 0.0
    mixed = _is_ascii_letter(before) + _is_ascii_letter(behind)
    wrong_case = character.isupper() and before.islower()
    is_alone = not before.isalpha() and not behind.isalpha()
    return -2.5 * mixed - 3.0 * wrong_case - 1.2 * is_alone


def _ideographic(before: str, _: str, behind: str) -> float:
    """Weigh an ideograph: beside ASCII letters it is probably a misread accented letter and the letter after that."""
    beside = _is_ascii_letter(before) + _is_ascii_letter(behind)
    return -1.0 * beside - 1.0 * (beside == 2)


def _is_ascii_letter(character: str) -> bool:
    return character.isascii() and character.isalpha()


def _graded(letters: str) -> dict[str, float]:
    """Return the weight of each letter, given the letters in the order of their frequency, the most frequent first."""
    return {letter: next((grade for most, grade in _GRADES if rank < most), 0.3) for rank, letter in enumerate(letters)}


_ALPHABETS: Final = {
    "western": _WESTERN,
    "central": _CENTRAL,
    "turkish": _TURKISH,
    "baltic": _BALTIC,
    "cyrillic": _graded(_CYRILLIC),
    "greek": _graded(_GREEK),
    "hebrew": _graded(_HEBREW),
    "arabic": _graded(_ARABIC),
    "thai": _graded("านรอกเงมยลวดทสตะปบคหแจพชขใ"),
}
_IDEOGRAPHS: Final = {
    "simplified": frozenset(_SIMPLIFIED),
    "traditional": frozenset(_TRADITIONAL),
    "japanese": frozenset(_KANJI),
    "korean": frozenset(_HANGUL),
}
_RULES: Final = {
    **dict.fromkeys(("western", "central", "turkish", "baltic"), _latin),
    **dict.fromkeys(_IDEOGRAPHS, _ideographic),
}
_BLOCKS: Final = {"cyrillic": "CYRILLIC", "greek": "GREEK", "hebrew": "HEBREW", "arabic": "ARABIC", "thai": "THAI"}


@cache
def _weight_of(script: str) -> Weight:
    make = _ideograph_weight if script in _IDEOGRAPHS else _letter_weight
    return cache(make(script))


def _letter_weight(script: str) -> Weight:
    alphabet = _ALPHABETS[script]
    block = _BLOCKS.get(script, "")
    is_latin = not block

    def weight(character: str) -> float:
        if unicodedata.category(character)[0] == "C" and character != "\N{SOFT HYPHEN}":
            return _CONTROL
        small = character.lower()
        grade = alphabet.get(small) or alphabet.get(character)
        if grade is not None:
            return grade if character == small else grade * 0.92
        if character in _PUNCTUATION:
            return 0.3
        if block and unicodedata.name(character, "").startswith(block):
            return 0.0
        return -0.5 if is_latin and character.isalpha() else _UNEXPECTED

    return weight


def _ideograph_weight(script: str) -> Weight:
    common = _IDEOGRAPHS[script]
    plain = _CODECS_OF_COMMON[script]

    def weight(character: str) -> float:
        if character in common:
            return 3.0
        if character in _WIDE_PUNCTUATION or "\uff10" <= character <= "\uff5a":
            return 1.5
        if "\u3041" <= character <= "\u30fe":
            return 2.5 if script == "japanese" else -1.0
        if "\uac00" <= character <= "\ud7a3":
            return (1.0 if _is_common(character, plain) else -0.5) if script == "korean" else _UNEXPECTED
        if "\u4e00" <= character <= "\u9fff":
            return -1.5 if script == "korean" else 0.8 if _is_common(character, plain) else -0.8
        return _CONTROL if unicodedata.category(character)[0] == "C" else -2.0

    return weight


_CODECS_OF_COMMON: Final = {
    "simplified": ("gb2312", 0xB0, 0xD7),
    "traditional": ("big5", 0xA4, 0xC6),
    "japanese": ("euc_jp", 0xB0, 0xCF),
    "korean": ("euc_kr", 0xB0, 0xC8),
}
"""For each script, a codec that has the frequent characters in its first rows, and the first and last of these rows."""


def _is_common(character: str, plain: tuple[str, int, int]) -> bool:
    codec, first, last = plain
    try:
        return first <= character.encode(codec)[0] <= last
    except UnicodeEncodeError:
        return False
