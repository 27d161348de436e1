"""The articles of the demo's two sites, written for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Article:
    """A text with its heading."""

    slug: str
    title: str
    paragraphs: tuple[str, ...]


ENGLISH = (
    Article(
        "lighthouse",
        "The lamp that kept the harbour awake",
        (
            "For ninety years the lighthouse on Gannet Point burned paraffin, and for ninety years somebody had to carry "
            "the cans up one hundred and forty steps. The last keeper, Ottilie Brandt, still remembers the weight of "
            "them, and the smell that followed her down into the kitchen.",
            "The lamp stood in a bath of quicksilver so that a child could turn two tons of glass with one finger. A "
            "clockwork drove it, and every four hours the weights had to be wound back to the top of the tower. Whoever "
            "fell asleep on watch was woken by a bell when the rotation slowed.",
            "Today a diode no larger than a thumbnail does the work. The lens is kept in the museum beside the fish "
            "market, where visitors may push it once around and watch the ceiling fill with rainbows.",
        ),
    ),
    Article(
        "sourdough",
        "A baker measures the weather by her dough",
        (
            "Before Imke Larsson looks out of the window in the morning she lifts the cloth from her starter. If it has "
            "climbed past the second ring of the jar, the night was mild; if it sulks at the bottom, there is frost on "
            "the roofs. The dough, she says, has never been wrong.",
            "Sourdough is a household of yeasts and bacteria that settle their quarrels in acid. Warmth favours the "
            "yeast and makes the crumb open; cold favours the bacteria and makes the crust taste of apples. A good "
            "baker does not fight the season but moves the bowl nearer to the oven or farther away.",
            "Her loaves rest for eighteen hours on linen, and the bakery sells out before nine. She has been offered "
            "a machine with a thermostat three times. It stands in the yard, full of geraniums.",
        ),
    ),
    Article(
        "night-train",
        "Sleeping cars return to the mountain line",
        (
            "At twenty past ten in the evening a train with blue curtains leaves the capital again, and at breakfast it "
            "stands under the glaciers. The sleeping cars were sold for scrap eleven years ago. Volunteers found five "
            "of them in a gravel pit, one with a birch growing through the dining compartment.",
            "The railway company agreed to lend a locomotive if the association could fill sixty berths a week. It "
            "filled two hundred. Students travel to lectures, climbers to the north face, and a retired judge rides up "
            "and down every Thursday because he sleeps nowhere better.",
            "What pays for the venture in the end is the mail: parcels from the valley farms travel in the last "
            "carriage, and cheese does not mind the curves.",
        ),
    ),
    Article(
        "urban-bees",
        "Why honey from the tram depot tastes of lime",
        (
            "On the flat roof above track nine live four hundred thousand employees who are on no payroll. The "
            "transport authority set up the hives to use a surface that nobody could walk on; now passengers queue in "
            "August for jars with a tram on the label.",
            "City bees find more kinds of blossom within two kilometres than their cousins beside a maize field. The "
            "avenues were planted with lime trees a century ago, and balconies carry lavender, thyme and runner beans. "
            "Pollen counts by the university found traces of eighty plants in a single comb.",
            "There are rules: water must be offered so that the insects do not visit the open-air pool, and before a "
            "swarm is caught the overhead wires are switched off. That has happened twice, and both times the "
            "timetable recovered before the queen did.",
        ),
    ),
    Article(
        "tide-mill",
        "A mill that works twelve hours and fifty minutes later each time",
        (
            "The tide mill at Sallow Creek has neither a stream nor sails. Twice a day the sea fills its pond through a "
            "gate that closes by itself, and when the water outside has fallen far enough, the miller lets the pond run "
            "out under the wheel. His working hours follow the moon.",
            "Records from the parish show flour leaving by barge at three in the morning and at noon, at dusk and at "
            "dawn, always a little later than the day before. Marriages in the miller's family were arranged around "
            "neap tides, when there was too little water to grind anything.",
            "Engineers visit now with laptops, because a pond with a gate is also a battery. The wheel turns a small "
            "generator, and the village hall has light for exactly as long as the moon permits.",
        ),
    ),
    Article(
        "letterpress",
        "Forty drawers of lead find a new owner",
        (
            "When the printing works of Adler and Sons closed, the type was to be melted for the price of its metal. "
            "A schoolteacher bought it over the telephone without asking how much forty drawers weigh. The lorry that "
            "brought them needed two journeys, and the floor of her garage needed a beam.",
            "Since then her pupils set their own invitations, letter by letter and upside down. They learn why capitals "
            "are called upper case, why a mistake costs an hour, and that an apostrophe is something one can drop on "
            "the floor and search for with a torch.",
            "The favourite is a wooden poster face with a chipped letter R. Nobody wants it repaired. It has become a "
            "kind of signature, and the town recognises every notice of the school by its limp.",
        ),
    ),
)

MIRROR_EDITS = {
    "night-train": (
        ("What pays for the venture", "What keeps the trains running"),
        ("from the valley farms", "from the farms in the valley"),
        ("cheese does not mind", "the cheese does not mind"),
    )
}
"""What the mirror has changed in an article: the words of the newspaper, and its own."""

MIRROR_ONLY = Article(
    "salt-road",
    "Walking the old salt road in six days",
    (
        "Mule drivers once carried salt from the coast over three passes to people who had only meat and snow. Their "
        "path is still there, worn knee-deep into the slate, and since last summer it is marked again with small blue "
        "hands that point uphill.",
        "The stages are short because mules were unloaded every four hours. In the inns one sleeps above the stable, "
        "which is empty but keeps its smell. On the fourth day the track crosses a meadow where the drivers traded "
        "rumours, and walkers have taken up the custom.",
        "Whoever arrives on the far side receives a pinch of grey salt in a twist of paper. It tastes of nothing "
        "special until the first soup.",
    ),
)

CHINESE = (
    Article(
        "tea-house",
        "河边的老茶馆又开门了",
        (
            "停业两年之后，渡口旁边的老茶馆在立春那天重新开门。天还没有亮，住在附近的老人就带着自己的茶杯来排队，他们说"
            "别处的茶也能喝，可是别处听不到船夫的号子。老板娘把祖母留下的铜壶擦得发亮，一口气烧了三十壶水。",
            "茶馆的木梁是一百二十年前从上游漂下来的杉木，去年夏天被洪水泡过，修复时木匠把每一根都编了号，晾干以后再按"
            "原来的次序装回去。墙上那道水痕没有刷掉，旁边写着日期，提醒客人河水曾经坐到过哪一张桌子。",
            "下午说书人来了，讲的还是从前那一段，只是把故事里的大水换成了去年的。孩子们听得入神，忘了写作业，茶也凉了。",
        ),
    ),
    Article(
        "kite-maker",
        "风筝师傅和他的四十七种竹子",
        (
            "在城北的小巷里，邓师傅已经做了五十年风筝。他的院子里种着四十七种竹子，每一种都有不同的脾气：有的轻而脆，"
            "适合做燕子的翅膀；有的重而韧，只能用来做龙骨。砍竹子要等到霜降以后，那时候糖分少，虫子不来。",
            "一只大风筝要经过扎、糊、绘、放四道工序，快则三天，慢则两个月。最难的不是画，而是称重，左右两边只要相差"
            "一粒米，风筝到了天上就会打转。师傅不用秤，他把风筝放在手指上闭着眼睛等，等它自己停下来。",
            "今年他收了第一个女徒弟，是学航空的大学生。她用电脑算出来的重心和师傅手指找到的地方只差一毫米。",
        ),
    ),
    Article(
        "night-market",
        "夜市里修收音机的人",
        (
            "晚上九点以后，烤鱼摊的烟散了一些，修收音机的老周才支起他的小桌子。一盏台灯，一把烙铁，一盒从旧机器上拆下"
            "来的零件，就是他的全部家当。来找他的多半是上了年纪的人，也有年轻人抱着祖父留下的电子管收音机。",
            "老周修东西有一个规矩：修好以后先不收钱，把收音机拿回家听三个晚上，没有杂音再来付。三十年里只有一个人没有"
            "回来，后来才知道那人搬去了外地，过了七年托人带来一袋橘子和当年的工钱。",
            "他说现在的零件越来越小，眼睛却越来越花，可是只要听见沙沙声里忽然跳出人的说话，他就觉得这一夜没有白坐。",
        ),
    ),
)

CHANGING = (
    Article(
        "harbour-notice",
        "Notice of the harbour office",
        (
            "The outer basin is closed for dredging until further notice. Fishing boats moor at the northern quay, where "
            "ladders and fresh water have been provided, and land their catch between five and eight in the morning.",
            "Skippers who need ice order it at the kiosk one day ahead. The slipway remains open for rowing clubs, and "
            "the ferry uses the pontoon beside the customs house. Please keep the channel free of lobster pots.",
        ),
    ),
    Article(
        "harbour-notice",
        "Notice of the harbour office",
        (
            "Dredging has been completed and all berths are available again. The regatta takes place on the second "
            "weekend of the month; spectators find stands along the mole and a first-aid tent near the crane.",
            "Motor vessels reduce speed to three knots while sails are on the course. Winners are announced from the "
            "balcony of the pilot house, followed by music, mussels and fireworks if the wind allows.",
        ),
    ),
)
