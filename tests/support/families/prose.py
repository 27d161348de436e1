"Texts for the other pages of a site: sentences that make some sense, and differ for each name."

from __future__ import annotations

import random
from functools import cache

_ENGLISH = {
    "who": "the harbour master,a retired teacher,the youngest apprentice,our neighbour from the mill,the parish clerk,"
    "a travelling piano tuner,the night porter,the owner of the orchard,a student of geology,the bicycle mechanic,"
    "the choir's second alto,a surveyor with a red hat,the woman at the ticket desk,an engineer from the waterworks,"
    "the beekeeper,a potter of the old school,the ferryman,the new librarian,a cook without a restaurant,the roofer,"
    "the postwoman,a collector of barometers,the warden of the hostel,the tailor's brother,a botanist,the umpire",
    "does": "repaired,measured,photographed,bought back,painted,described,catalogued,borrowed,took apart,restored,"
    "inherited,gave away,planted,sketched,carried home,weighed,rebuilt,sold,lost and recovered,polished,exhibited,"
    "labelled,hid,discovered,counted,insured",
    "what": "a brass kettle,three crates of pears,the oldest map of the valley,a broken accordion,forty metres of rope,"
    "the weathercock,a collection of tickets,the granite steps,a rowing boat,several hundred tulip bulbs,the oak table,"
    "a wooden bridge,the church clock,a letter without a sender,two copper boilers,the garden wall,a pair of skates,"
    "the signal lamp,a box of lenses,the stage curtain,a hand loom,the apple press,a telescope,the kitchen stove,"
    "a barrel of vinegar,the lending register",
    "where": "behind the station,in the upper village,on the market square,under the viaduct,at the edge of the marsh,"
    "beside the canal,in a barn near the border,at the foot of the quarry,on the island,in the cellar of the school,"
    "between two greenhouses,above the bakery,near the lock,in the former dairy,along the coastal path,in the attic",
    "when": "last autumn,shortly before Easter,after eleven years,on a rainy Tuesday,during the strike,every second spring,"
    "since the flood,in the week of the fair,long after midnight,before the first frost,at the end of the season,"
    "for the third time,on the day of the census,while the museum was closed,without any plan,in less than an hour",
    "patterns": "{Who} {does} {what} {where} {when}.|{When}, {who} {does} {what}, and {who} {does} {what} {where}.|"
    "Nobody remembers why {who} {does} {what} {when}.|{Where}, {who} and {who} {does} {what}.|"
    "What {who} {does} {where} was {what}, not {what}.|{Who} says that {who} {does} {what} {when}.",
}
_GERMAN = {
    "who": "der Hafenmeister,eine Lehrerin im Ruhestand,der jüngste Lehrling,die Nachbarin aus der Mühle,ein Klavierstimmer,"
    "der Nachtportier,die Besitzerin des Obstgartens,ein Student der Geologie,die Fahrradmechanikerin,der Fährmann,"
    "eine Töpferin,der neue Bibliothekar,der Imker,die Postbotin,ein Botaniker",
    "does": "reparierte,vermaß,fotografierte,bemalte,verkaufte,erbte,verschenkte,entdeckte,wog,versteckte,zerlegte,kaufte",
    "what": "einen Messingkessel,drei Kisten Birnen,die älteste Karte des Tals,ein kaputtes Akkordeon,vierzig Meter Seil,"
    "den Wetterhahn,eine Sammlung von Fahrkarten,die Granitstufen,ein Ruderboot,den Eichentisch,die Kirchenuhr,"
    "einen Brief ohne Absender,zwei Kupferkessel,ein Paar Schlittschuhe,den Webstuhl,die Apfelpresse",
    "where": "hinter dem Bahnhof,im oberen Dorf,auf dem Marktplatz,unter dem Viadukt,am Rand des Moors,neben dem Kanal,"
    "auf der Insel,im Keller der Schule,über der Bäckerei,in der alten Molkerei",
    "when": "im letzten Herbst,kurz vor Ostern,nach elf Jahren,an einem verregneten Dienstag,während des Streiks,"
    "seit dem Hochwasser,lange nach Mitternacht,vor dem ersten Frost,zum dritten Mal,ohne jeden Plan",
    "patterns": "{Who} {does} {when} {what} {where}.|{When} {does} {who} {where} {what}.|"
    "{Where} {does} {who} {what}, und {who} {does} {what}.|Niemand weiß, warum {who} {when} {what} {does}.",
}
_CHINESE = {
    "who": "码头管理员,退休教师,年轻的学徒,磨坊的邻居,教堂的书记,调琴师,守夜人,果园主人,地质系学生,修车师傅,测量员,售票员,"
    "水厂工程师,养蜂人,陶艺师,渡船船夫,"
    "图书管理员,厨师,邮递员,裁缝的弟弟",
    "does": "修好了,测量了,拍下了,买回了,重新粉刷了,记录了,借走了,"
    "拆开了,继承了,送走了,种下了,画出了,称了,卖掉了,展出了,藏起了",
    "what": "一把铜壶,三箱梨子,山谷里最早的地图,一架坏了的手风琴,四十米绳子,屋顶的风标,一套车票,花岗岩台阶,"
    "一条小船,橡木桌子,"
    "木桥,教堂的大钟,"
    "没有寄信人的信,两口铜锅,花园围墙,一双冰鞋,信号灯,舞台的幕布,旧织机,榨汁机",
    "where": "在车站后面,在上村,在集市广场,在高架桥下,在沼泽边,在运河旁,在边境附近的谷仓,在采石场脚下,在岛上,"
    "在学校地下室,在面包房楼上,在船闸附近",
    "when": "去年秋天,清明以前,十一年以后,一个下雨的星期二,罢工期间,"
    "每隔一个春天,洪水过后,赶集那一周,"
    "后半夜,第一场霜以前,季末,人口普查那天",
    "patterns": "{when}，{who}{where}{does}{what}。|{who}说，{who}{when}{does}{what}。|"
    "{where}，{who}{does}{what}，{who}却{does}{what}。|没有人记得{who}为什么{does}{what}。",
}
_LANGUAGES = {"en": _ENGLISH, "de": _GERMAN, "zh": _CHINESE}


class _Words:
    "Returns words of each kind; no word is repeated before all words were returned."

    def __init__(self, source: random.Random, lang: str) -> None:
        self._source = source
        self._kinds = {
            kind: words.split("|" if kind == "patterns" else ",") for kind, words in _LANGUAGES[lang].items()
        }
        self._left: dict[str, list[str]] = {kind: [] for kind in self._kinds}

    def next(self, kind: str) -> str:
        if not self._left[kind]:
            self._left[kind] = self._source.sample(self._kinds[kind], len(self._kinds[kind]))
        return self._left[kind].pop()

    def __getitem__(self, name: str) -> str:
        word = self.next(name.lower())
        return word if name.islower() else word[0].upper() + word[1:]


@cache
def paragraph(name: str, sentences: int = 4, lang: str = "en") -> str:
    "Return *sentences* sentences. They are the same for the same *name*."
    words = _Words(random.Random(f"{name} {lang}"), lang)
    return ("" if lang == "zh" else " ").join(words.next("patterns").format_map(words) for _ in range(sentences))


def paragraphs(name: str, count: int = 4, lang: str = "en") -> list[str]:
    return [paragraph(f"{name} {number}", 4, lang) for number in range(count)]


@cache
def heading(name: str, lang: str = "en") -> str:
    "Return a title. It is the same for the same *name*."
    words = _Words(random.Random(f"heading {name} {lang}"), lang)
    pattern = {"en": "{What} {where}", "de": "{What} {where}", "zh": "{where}的{what}"}[lang]
    return pattern.format_map(words)
