"""The language of a text: by script, by stop words, or unknown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup import Config
from crawler_dedup.signing.language import UNKNOWN, find_language
from crawler_dedup.signing.signer import Signer
from tests.support.crawling import words

SIGNER = Signer(Config(tokenizer="bigrams"))
_LINES = """
ar ذهبت إلى المكتبة هذا الصباح لأن الكتاب الذي أردت قراءته كان هناك منذ أيام، ولكن لم أجده على الرف.
bg Тази сутрин отидох в библиотеката, защото книгата, която исках да прочета, беше там, но не я намерих на рафта.
bn আজ সকালে আমি গ্রন্থাগারে গিয়েছিলাম, কিন্তু বইটি সেখানে ছিল না।
cs Dnes ráno jsem šel do knihovny, protože tam byla kniha, kterou jsem chtěl číst, ale už nebyla na svém místě.
da I morges gik jeg på biblioteket, fordi jeg ville læse en bog, som jeg havde hørt om, men den var der ikke mere.
de Heute Morgen ging ich in die Bücherei, weil ich ein Buch lesen wollte, von dem ich gehört hatte, aber es war nicht
el Σήμερα το πρωί πήγα στη βιβλιοθήκη, αλλά το βιβλίο δεν ήταν εκεί.
en This morning I went to the library because I wanted to read a book that I had heard of, but it was not there.
es Esta mañana fui a la biblioteca porque quería leer un libro del que me habían hablado, pero ya no estaba allí.
fa امروز صبح به کتابخانه رفتم چون می‌خواستم کتابی را بخوانم که درباره آن شنیده بودم، اما آن را پیدا نکردم.
fi Tänä aamuna menin kirjastoon, koska halusin lukea kirjan, josta olin kuullut, mutta se ei ollut enää siellä.
fr Ce matin je suis allé à la bibliothèque parce que je voulais lire un livre dont on m'avait parlé, mais il n'y était
he הבוקר הלכתי לספרייה כי רציתי לקרוא ספר, אבל הוא לא היה שם.
hi आज सुबह मैं पुस्तकालय गया क्योंकि मुझे एक किताब पढ़नी थी, लेकिन वह वहां नहीं थी और कोई भी उसके बारे में नहीं जानता
hu Ma reggel elmentem a könyvtárba, mert el akartam olvasni egy könyvet, amelyről már hallottam, de az nem volt ott.
it Questa mattina sono andato in biblioteca perché volevo leggere un libro di cui mi avevano parlato, ma non era più
ja 今朝は図書館へ行きました。読みたい本があったからですが、もう棚にはありませんでした。
ka დღეს დილით ბიბლიოთეკაში წავედი, მაგრამ წიგნი იქ არ იყო.
ko 오늘 아침 도서관에 갔지만 읽고 싶었던 책은 거기에 없었습니다.
nl Vanmorgen ging ik naar de bibliotheek omdat ik een boek wilde lezen waar ik van had gehoord, maar het was er niet
pl Dziś rano poszedłem do biblioteki, ponieważ chciałem przeczytać książkę, o której już słyszałem, ale jej tam nie
pt Esta manhã fui à biblioteca porque queria ler um livro de que me tinham falado, mas ele já não estava lá.
ro În această dimineață am fost la bibliotecă pentru că voiam să citesc o carte despre care am auzit, dar nu mai era
ru Сегодня утром я пошёл в библиотеку, потому что хотел прочитать книгу, о которой мне говорили, но её там уже не было.
sv I morse gick jag till biblioteket eftersom jag ville läsa en bok som jag hade hört talas om, men den var inte kvar
ta இன்று காலை நான் நூலகத்திற்குச் சென்றேன், ஆனால் புத்தகம் அங்கே இல்லை.
th เช้านี้ฉันไปห้องสมุดเพราะอยากอ่านหนังสือเล่มหนึ่ง แต่มันไม่อยู่ที่นั่นแล้ว
tr Bu sabah kütüphaneye gittim çünkü daha önce duyduğum bir kitabı okumak istiyordum ama o kitap artık orada değildi.
vi Sáng nay tôi đã đi đến thư viện vì tôi muốn đọc một cuốn sách mà tôi đã nghe nói, nhưng nó không còn ở đó nữa.
zh 今天早上我去了图书馆，因为我想读一本别人说过的书，可是那本书已经不在那里了。
"""
SENTENCES = dict(line.split(" ", 1) for line in _LINES.strip().split("\n"))
CODE = "func (node *Node) insert(value int) { if node.left == nil { node.left = newNode(value) } }\n"


def language_of(text: str) -> str:
    tokenised = SIGNER.text_of(text)
    return find_language(tokenised.plain, tokenised.tokens)


def test_the_language_of_a_sentence_is_recognised() -> None:
    for language, text in SENTENCES.items():
        assert language_of(text) == language


def test_traditional_and_simplified_chinese_are_one_language() -> None:
    traditional = "今天早上我去了圖書館，因為我想讀一本別人說過的書，可是那本書已經不在那裡了。"
    assert language_of(traditional) == "zh"
    assert find_language(traditional, list(traditional)) == "zh"  # not folded


def test_names_code_and_a_few_words_of_another_script_do_not_change_the_language_of_a_text() -> None:
    assert language_of(SENTENCES["zh"] * 2 + CODE) == "zh"
    assert language_of(SENTENCES["ru"] + CODE) == "ru"
    assert language_of(SENTENCES["en"] + " The title is 图书馆, in Russian Библиотека.") == "en"


SHORT = {
    "empty": "",
    "numbers": "42 1999 17:30",
    "a word": "the",
    "a menu": "Home Sign in",
    "invented words": " ".join(words("no language")),
    "units": "12 000 kg / 3 m² = 4 t/m²",
    "symbols": "☃" * 200,
}


def test_the_language_of_a_text_that_is_too_short_is_unknown() -> None:
    for text in SHORT.values():
        assert language_of(text) == UNKNOWN


@given(st.permutations(SENTENCES["nl"].split() + SENTENCES["de"].split()))
def test_the_order_of_words_does_not_change_the_language(shuffled: list[str]) -> None:
    assert language_of(" ".join(shuffled)) == language_of(SENTENCES["nl"] + " " + SENTENCES["de"])


@given(st.text(max_size=400))
def test_every_text_has_a_language_code_or_an_unknown_language(text: str) -> None:
    language = language_of(text)
    assert language == UNKNOWN or (len(language) == 2 and language.isascii() and language.islower())
