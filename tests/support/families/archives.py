"""Archives of a site by month, day, tag, year and page, with side columns."""

from dataclasses import replace

from tests.support.families.cases import Case, Family, duplicate, new, part_and_whole
from tests.support.families.pages import Page, Site, link, links, p, pager, sites, table, teaser, ul
from tests.support.families.prose import heading, paragraph, paragraphs

_POSTS = {slug: (heading(slug), paragraph(slug, 1)) for slug in ("snail", "well", "quince", "fog", "gate", "frost")}
BLOG, RIJI, MIRROR = sites("archives")
BLOG = replace(BLOG, side=links("Recent", **{f"post_{slug}": title for slug, (title, _) in _POSTS.items()}) + BLOG.side)

_LONG = paragraphs("long", 4)
_LONG_TITLE = "The ditch that moved"
_END = paragraph("end", 7)
_ARTICLE = BLOG.page("/post/ditch", _LONG_TITLE, p(*_LONG))
_ARTICLE_WITHOUT_TITLE = BLOG.page("/post/ditch", _LONG_TITLE, p(*_LONG), head=BLOG.name)


def _listed(*slugs: str) -> str:
    return "".join(teaser(f"/post/{slug}", *_POSTS[slug]) for slug in slugs)


def _titles(*slugs: str) -> str:
    return ul(*[link(f"/post/{slug}", _POSTS[slug][0]) for slug in slugs])


def _archive(path: str, name: str, *slugs: str, side: str | None = None) -> Page:
    return BLOG.page(path, name, _listed(*slugs), side=side)


def _front(head: str | None, first: str) -> Page:
    """Return a page with a long teaser, seven short ones and 35 links."""
    short = [
        teaser(f"/post/{800 + number}", heading(f"front {number}"), paragraph(f"front {number}", 1))
        for number in range(7)
    ]
    older = ul(*[link(f"/post/{810 + number}", heading(f"older {number}")) for number in range(27)])
    return BLOG.page("/", "Hedge and Ditch", teaser("/post/ditch", _LONG_TITLE, first), *short, older, head=head)


def _numbered(path: str, site: Site, *posts: str) -> Page:
    return site.page(path, "Page 2", *posts, pager("/", 9), head=f"Page 2 – {site.name}")


def _full(title: str, *texts: str) -> str:
    return f"<article><h2>{title}</h2>{p(*texts)}</article>"


_FULL_POSTS = [_full(heading(f"full {number}"), paragraph(f"full {number}", 4)) for number in range(2)] + [
    _full(_LONG_TITLE, *_LONG)
]
_YEAR = (("January", "3"), ("February", "1"), ("March", "6"), ("April", "4"), ("May", "9"), ("June", "2"))
_ZH_POSTS = {
    "1": ("蜗牛与割草机", "割草机在下边的草地上停了。打开滤芯一看，里面坐着一只蜗牛，还活着，旁边有半片生菜。"),
    "2": ("井有多深", "石头掉下去两秒多才有回声。父亲说二十五米，姑姑小时候坐绳子下去过，说有三十米。"),
    "3": ("窗台上的木瓜", "太硬了不能生吃，太香了舍不得送人，就放在窗台上，直到有人想起那口大锅。"),
}


def _zh_archive(path: str, name: str, *slugs: str) -> Page:
    return RIJI.page(path, name, *[teaser(f"/p/{slug}", *_ZH_POSTS[slug]) for slug in slugs])


# fmt: off
_CASES: tuple[Case, ...] = (
    new("two months", _archive("/2024/05/", "May 2024", "snail", "well", "quince"),
        _archive("/2024/06/", "June 2024", "fog", "gate"), "They list other posts."),
    new("two tags of one post each, which stand in the side column", _archive("/tag/weather/", "Tag: weather", "fog"),
        _archive("/tag/tools/", "Tag: tools", "gate"), "The links are the same, the listed posts are not."),
    new("the same with titles alone", BLOG.page("/tag/weather/", "Tag: weather", _titles("fog")),
        BLOG.page("/tag/tools/", "Tag: tools", _titles("gate")), "The links are the same, the listed posts are not."),
    new("two days under one title, with titles alone", BLOG.page("/2024/06/11/", "Archive", _titles("fog")),
        BLOG.page("/2024/06/19/", "Archive", _titles("gate")), "The links are the same, the listed posts are not."),
    new("two months under one title, with titles alone",
        BLOG.page("/2024/05/", "Archive", _titles("snail", "well", "quince")),
        BLOG.page("/2024/06/", "Archive", _titles("fog", "gate", "frost")),
        "The links are the same, the listed posts are not."),
    duplicate("a tag under two addresses", _archive("/tag/weather/", "Tag: weather", "fog", "frost"),
        _archive("/tags/weather", "Tag: weather", "fog", "frost"), "They list the same posts."),
    duplicate("titles alone under two addresses",
        BLOG.page("/2024/05/", "May 2024", _titles("snail", "well", "quince")),
        BLOG.page("/archive?m=202405", "May 2024", _titles("snail", "well", "quince")), "They list the same posts."),
    duplicate("a month beside another side column", _archive("/2024/05/", "May 2024", "snail", "well", "quince"),
        _archive("/2024/05/?show=all", "May 2024", "snail", "well", "quince",
            side=links("Recent", post_900="Honey", post_901="The roof", post_902="Owls")),
        "The side column is not what makes an archive.", needs_site=True),
    *part_and_whole("a month before and after a post", _archive("/2024/06/?old", "June 2024", "fog", "gate"),
        _archive("/2024/06/", "June 2024", "fog", "gate", "frost"),
        "The later state has all posts of the earlier one."),
    new("two pages of an archive", _numbered("/page/2", BLOG, _listed("snail", "well", "quince")),
        _numbered("/page/3", BLOG, _listed("fog", "gate", "frost")), "They list other posts."),
    new("page 2 of two hosts that print some of the same posts", _numbered("/page/2", BLOG, *_FULL_POSTS),
        _numbered("/page/2", MIRROR, *_FULL_POSTS,
            _full("A letter to the surveyor", "Dear sir, the sheep have forgiven you. The pin is on your desk.")),
        "One short post stands nowhere else."),
    new("eight teasers after the article that covers the longest", _ARTICLE, _front(None, " ".join(_LONG[:3])),
        "Nobody has followed its 35 links."),
    new("eight teasers and the article under one title", _ARTICLE_WITHOUT_TITLE,
        _front(BLOG.name, " ".join(_LONG[:3])), "Nobody has followed its 35 links."),
    new("an article after eight teasers", _front(None, " ".join(_LONG[:3])), _ARTICLE,
        "Its last paragraph stands nowhere else."),
    new("an article after eight teasers under one title", _front(BLOG.name, " ".join(_LONG[:3])),
        _ARTICLE_WITHOUT_TITLE, "Its last paragraph stands nowhere else."),
    new("an article whose end is missing in a listing that has the words of it", _front(BLOG.name, " ".join(_LONG)),
        BLOG.page("/post/ditch", _LONG_TITLE, p(*_LONG, _END), head=BLOG.name),
        "Six hundred characters stand nowhere else."),
    new("the posts of two years in numbers",
        BLOG.page("/2023/", "Archive", p("Posts by month. Follow a month to read what happened then."), table(*_YEAR)),
        BLOG.page("/2022/", "Archive", p("Posts by month. Follow a month to read what happened then."),
            table(*[(name, str(int(count) + 11)) for name, count in _YEAR])), "The figures are of two years."),
    duplicate("a day on which one post was written, in full", _ARTICLE,
        BLOG.page("/2024/06/11/", "11 June 2024",
            f"<article><h2>{link('/post/ditch', _LONG_TITLE)}</h2>{p(*_LONG)}</article>"), "It is the post once more.",
        needs_site=True),
    new("两个月份", _zh_archive("/2024/05/", "五月", "1", "2"), _zh_archive("/2024/06/", "六月", "3"),
        "They list other posts."),
    new("两个标签只有标题", RIJI.page("/tag/a/", "标签：动物", ul(link("/p/1", _ZH_POSTS["1"][0]))),
        RIJI.page("/tag/b/", "标签：老屋", ul(link("/p/2", _ZH_POSTS["2"][0]))),
        "The links are the same, the listed posts are not."),
    duplicate("同一标签两个网址", _zh_archive("/tag/a/", "标签：动物", "1", "3"),
        _zh_archive("/tags/a", "标签：动物", "1", "3"), "They list the same posts."),
)
# fmt: on


def _make_other_pages() -> list[Page]:
    pages = []
    for site in (BLOG, MIRROR, RIJI):
        for number in range(16):
            name = f"{site.host} {number}"
            pages.append(site.page(f"/post/{600 + number}", heading(name, site.lang), p(paragraph(name, 6, site.lang))))
        for month in range(1, 9):
            several = [f"{site.host} {month} {at}" for at in range(3)]
            posts = [
                teaser(f"/post/{100 * month + at}", heading(name, site.lang), paragraph(name, 1, site.lang))
                for at, name in enumerate(several)
            ]
            pages.append(site.page(f"/2023/{month:02d}/", f"2023 / {month}", *posts))
    return pages


ARCHIVES = Family("archives", _CASES, _make_other_pages)
