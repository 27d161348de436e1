"""Phrases in short lines that count visits or tell the time since something: "123 views", "阅读(12)", "3 minutes ago".

They differ from visit to visit, and say nothing about the content of a page.
"""

from __future__ import annotations

import re
from functools import lru_cache

_LONGEST_LINE = 60
"""A number in a longer line is a part of a sentence."""
_NUMBER = r"\d+(?:[., ]\d{3})*(?:[.,]\d+)?(?: ?(?:k|m|mio|tsd|mil|тыс|w|万|천|만)(?!\w))?\+?"
# Beginnings of words, as normalised text has them: English, German, French, Spanish, Portuguese and Italian, Dutch, Nordic
# languages, Czech and Polish, Russian and Ukrainian, Turkish, Indonesian, Arabic.
_COUNTED = "|".join(
    """
    views? reads? readers? hits? visits? visitors? shares? likes? votes? upvotes? downvotes? comments? repl(?:y|ies) answers?
    responses? followers? subscribers? favou?rites? downloads? retweets? reactions? claps? bookmarks? ratings? reviews?
    aufruf\\w{0,2} ansichten leser besucher\\w? kommentar\\w? antwort\\w{0,2} bewertung\\w{0,2} stimmen? abonnent\\w{0,2}
    vues? lectures? visiteurs? commentaires? réponses? partages? avis abonnés?
    vistas? visitas? lecturas? comentarios? respuestas? votos? seguidores
    visualizações visualização leituras? comentários? respostas? curtidas? visualizzazion[ei] visite letture
    comment[oi] rispost[ae] vot[oi] weergaven? reacties? lezers visningar visninger kommentar(?:er)? svar
    zhlédnutí komentář\\w* wyświetle\\w* odsłon\\w* komentarz\\w*
    просмотр\\w{0,2} комментари\\w{0,2} ответ\\w{0,2} голос\\w{0,2} лайк\\w{0,2} отзыв\\w{0,2}
    перегляд\\w{0,2} коментар\\w{0,2}
    görüntülenme görüntüleme okunma yorum beğeni dilihat komentar مشاهدة مشاهدات تعلیق تعلیقات
    """.split()
)
# The same in scripts without spaces: Chinese, in simplified characters as normalised text is, Japanese and Korean.
_UNSPACED = (
    "(?:阅读|浏览|点击|访问|阅览|查看|播放|下载|观看|评论|回复|点赞|收藏|转发|分享|关注|围观|人气|热度|回视听|再生|コメント|いいね|조회|댓글|추천|좋아요)"
    "(?:量|数|次数|回数|率|수)?"
)
_MEASURE = "(?:次|人次|人|条|个|位|回|件の?|명이?|건|회|개)"
_UNITS = (
    "sec(?:ond)?s?|min(?:ute)?s?|h(?:ou)?rs?|days?|weeks?|months?|years?|[smhdwy]"
    "|sekunden?|minuten?|stunden?|tage?n?|wochen?|monate?n?|jahre?n?|secondes?|heures?|jours?|semaines?|mois|ans?"
    "|segundos?|minutos?|horas?|d[ií]as?|semanas?|mes(?:es)?|mês|a[ñn]os?|second[oi]|minut[oi]|or[ae]|giorn[oi]|settiman[ae]|mes[ei]|ann[oi]"
    "|sekunder|minutter|minuter|timer|timmar|dager?|dagar|uker|veckor|måneder|månader|år"
    "|seconden?|uur|uren|dag(?:en)?|weken|maanden?|jaar|сек\\w*|мин\\w*|час\\w*|дн\\w*|день|недел\\w*|месяц\\w*|год\\w*|лет"
    "|saniye|dakika|saat|gün|hafta|ay|yıl|sekund\\w*|minut\\w*|godzin\\w*|dni|tygodni\\w*|miesi\\w*"
)
_PHRASES = re.compile(
    rf"(?<!\w){_NUMBER} ?(?:(?:{_COUNTED})(?!\w)|{_MEASURE}? ?{_UNSPACED}(?!\w))"
    rf"|(?<!\w)(?:(?:{_COUNTED}) ?[:(] ?|visitor (?:n\w*[.:]? )?){_NUMBER}"
    rf"|{_UNSPACED}[ :(]*{_NUMBER} ?{_MEASURE}?(?!\w|[.,]\d)"
    rf"|(?<!\w){_NUMBER} (?:{_UNITS}) (?:ago|atrás|fa|назад|geleden|temu|önce|siden|sedan)(?!\w)"
    rf"|(?<!\w)(?:för|for) {_NUMBER} (?:{_UNITS}) (?:siden|sedan)(?!\w)"
    rf"|(?<!\w)(?:vor|il y a|hace|há|před|منذ|قبل) {_NUMBER} (?:{_UNITS}|دقائق|ساعات|أیام)(?!\w)"
    r"|\d+ ?(?:秒|分|小时|时间|天|日|周|星期|个月|ヶ月|か月|月|年)(?:钟|间)?之?前|\d+ ?(?:초|분|시간|일|주|개월|년) ?전"
    rf"|(?<!\w)\d+[ -](?:minutes?|mins?|мин\w*|dk)[ -](?:to )?(?:read|reading|чтения|okuma)(?!\w)"
    r"|(?<!\w)\d+ (?:minutes?|minuti?|minutos?|min) d[ei] (?:lecture|lectura|leitura|lettura)(?!\w)"
    r"|(?<!\w)\d+ min\w*\.? (?:lesezeit|leestijd)"
    r"|(?:reading time|read time|lesezeit|temps de lecture|tiempo de lectura|tempo de leitura|tempo di lettura|время чтения"
    r"|阅读时间|阅读时长)[ :]*(?:ca |about |约)?\d+"
)
_DIGIT = re.compile(r"\d")
_REMEMBERED = 4096


def without_visits(plain: str) -> str:
    """Return the lines of a normalised text without phrases that count visits or tell the time since something.

    Lines of more than 60 characters stay as they are: there a number is a part of a sentence.
    """
    if not _DIGIT.search(plain):
        return plain
    return "\n".join(
        [
            _without_phrases(line) if len(line) <= _LONGEST_LINE and _DIGIT.search(line) else line
            for line in plain.split("\n")
        ]
    )


@lru_cache(maxsize=_REMEMBERED)  # the pages of a site have many lines in common
def _without_phrases(line: str) -> str:
    return _PHRASES.sub("", line)
