"""Pieces of pages that hide text, or look as if they did.

``tests/signing/test_hidden.py`` compares them with Chromium.
"""

from __future__ import annotations

_SHADOW = "<template shadowrootmode=open>"
# A page within a page: the outline reads it even in a dialog.
_PAGE_WORDS = " ".join(["Harbour", *(f"rope{number}" for number in range(60))])
_PAGE = _PAGE_WORDS.replace("Harbour ", "<h1>Harbour</h1><article>") + "</article>"

# fmt: off
_HIDING_STYLES = (
    "display:none", "DISPLAY :\tNone ! important ;display:block", "display:/* x */none", "display/**/:none",
    "a:'/*';display:none", r"/* \*/display:none", "a:'x\n;display:none", "a:url(it's.png);display:none",
    "a:b)};display:none", "display:none;display:block block", "display:none;display:-ms-flexbox", r"d\69splay:none",
    r"\44 isplay:none", r"display:n\6fne", r"display:\6e\6f\6e\65", r"d\000069 splay:none", r"di\splay:none",
    r"a:\110000;display:none", "visibility:hidden", "visibility:collapse", "opacity:0", "opacity:0%", "opacity:-1",
    "opacity:0.0e3", "opacity:0;opacity:x", "font-size:0", "font-size:.0px", "font-size:0%",
    "content-visibility:hidden", "height:0;overflow:hidden", "overflow:clip;height:0px", "height:-0px;overflow:auto",
    "height:0;overflow:visible clip", "height:0;overflow-x:hidden", "height:0;overflow:hidden;padding:0 9px",
    "max-height:0;overflow:hidden", "max-height:0;max-height:auto;overflow:hidden",
)
_SHOWING_STYLES = (
    "display:block", "display:hidden", "--display:none", "dis/**/play:none", "visibility:visible",
    "backface-visibility:hidden", "opacity:.5", "opacity:0.05", "opacity:1", "fill-opacity:0", "transition:opacity 0s",
    "font-size:0.9em", "font-size:1px", "content-visibility:visible", "overflow:hidden", "height:0",
    "height:0;overflow:visible", "height:90px;overflow:hidden", "min-height:0;overflow:hidden",
    "max-height:90.0px;overflow:hidden",
)
# Chromium shows these. The text counts as hidden, which is safe.
_HIDING_TO_BE_SAFE = (
    "display:none;display:block", "display:block!important;display:none", "/* display:none */color:red",
    "background:url(a;display:none)", "font-family:'x;display:none'", r"x\;display:none", "opacity:0;opacity:1",
    "font-size:0foo", "display:contents;opacity:0", "height:0;overflow:hidden;min-height:30px",
    "height:0;overflow:hidden;padding-bottom:56%", "height:0%;overflow:hidden", "height:0;overflow:clip visible",
    "height:0;overflow:hidden;display:inline", "display:none 'x'",
)

# The words that Chromium shows of each piece
CASES = {
    **{f'<div style="{style}">a</div>': "" for style in _HIDING_STYLES},
    **{f'<div style="{style}">a</div>': "a" for style in _SHOWING_STYLES},
    "<div hidden>a</div>": "",
    "<div hidden=until-found>a</div>": "",
    "<div hidden=false>a</div>": "",
    "<div aria-hidden=true class=hidden data-hidden>a</div>": "a",
    "<div popover=manual>a</div>": "",
    f"<dialog>{_PAGE}</dialog>": "",
    f'<dialog open style="position:static">{_PAGE}</dialog>': _PAGE_WORDS,
    f"<noscript>{_PAGE}</noscript>": "",
    "<ruby>a<rp>(</rp><rt>b</rt><rp>)</rp></ruby>": "a b",
    "<math><semantics><mi>a</mi><annotation>b</annotation><annotation-xml>c</annotation-xml></semantics></math>": "a",
    "<math display=block><mi>a</mi></math>": "a",
    # Drawings
    "<svg height=20><text y=15>a</text></svg>": "a",
    "<svg height=20 display=none><text y=15>a</text></svg>": "",
    "<svg height=20><g display=NONE><text y=15>a</text></g><text y=15>b</text></svg>": "b",
    "<svg height=20><text y=15 visibility=hidden>a <tspan style='visibility:visible'>b</tspan></text></svg>": "b",
    **{
        f"<svg height=20><{tag}><text y=15>a</text></{tag}><text y=15>b</text></svg>": "b"
        for tag in ("clipPath", "defs", "marker", "mask", "pattern", "symbol")
    },
    # Elements inside
    "<div style='opacity:0'><p style='opacity:1'>a</p></div>": "",
    "<div style='visibility:hidden'>a<p style='Visibility : visible;'>b</p></div>": "b",
    **{
        f"<div style='visibility:hidden'><p {attribute}>a</p></div>": ""
        for attribute in (
            "visibility=visible", r"style='visibility\:visible'", "style='visibility:visible;all:inherit'",
            "style='--x:visibility:visible'", "style='visibility:\u00a0visible'",
        )
    },
    "<div><template shadowrootmode=bogus>b</template>a</div>": "a",
}
# What Chromium shows of the words outside of shadow trees, and what a page shows with them
SHADOW_TREES = {
    f"<div>b<p>c</p>{_SHADOW}a</template>d</div>": ("", "a"),
    f"<p>b<span>{_SHADOW}a</template>c<b>d</b></span>e</p>": ("b e", "b a e"),
    f"<div>b<p>c</p>{_SHADOW}a<slot></slot></template>d</div>": ("b c d", "b c a d"),
    f"<div>{_SHADOW}a<b>{_SHADOW}b</template></b></template>d</div>": ("", "a b"),
    f"<div hidden><b>{_SHADOW}a</template></b></div>": ("", ""),
    f"<div><template><p>{_SHADOW}a</template>b</p></template>c</div>": ("c", "c"),
}
HIDDEN_TO_BE_SAFE = (
    *(f'<div style="{style}">a</div>' for style in _HIDING_TO_BE_SAFE),
    '<div hidden style="display:block">a</div>',
    "<span hidden=until-found>a</span>",
    '<div popover style="display:block;position:static">a</div>',
    '<p><ruby><rp style="display:inline">a</rp></ruby></p>',
    "<div display=none>a</div>",
    "<span style='height:0;overflow:hidden'>a</span>",
    "<div style='font-size:0'><p style='font-size:12px'>a</p></div>",
    "<div style='visibility:hidden'><p style='color:red;visibility:visible'>a</p></div>",
    "<svg height=20 visibility=hidden><text y=15 visibility=visible>a</text></svg>",
)
# fmt: on
