# Tree → blocks: the same as crawler_dedup/signing/outline.py, which explains it.

cdef enum Kind:
    INLINE = 1
    SKIPPED = 2
    DRAWING = 4
    SWALLOWING = 8
    LIST = 16
    ITEM = 32
    PARAGRAPH = 64
    WRITTEN = 128
    ANCHOR = 256
    BREAK = 512
    FIRST_HEADING = 1024
    CONTENT = 2048  # an article, a main part or a footer
    LEVEL = 4096    # the lowest of three bits: the level of a heading

cdef enum Ending:
    NOTHING
    BLOCK_ENDS
    LINK_ENDS


cdef struct Open:
    # An element whose children are read.
    tree.xmlNode* element
    tree.xmlNode* child   # the next child
    int number       # number of the nearest element around it, or itself, that begins and ends a block
    int levels       # how many levels of elements may be inside
    int state        # how it conceals its content
    Ending ending


cdef struct Around:
    int group
    int list
    int level
    int place



cdef class ReadOutline:
    """Reads the outlines of trees, as ``crawler_dedup.signing.outline.read_outline`` does.

    Args:
        kinds: the tags of each kind, by its name.
        headings: the level of each heading, by its tag.
        block: makes a block from a tuple.
        too_deep: the exception that is raised if elements are nested too deep.
        roots_and_states: yields the roots of a tree.
        conceals: returns how an element with a style conceals its content.
        least_swallowed: the least number of letters of an element that may have swallowed the page.
        most_passes: how many times a page is read at most.
    """

    cdef Words tags           # known tags
    cdef Numbers kinds        # kinds of these tags
    cdef type block, too_deep
    cdef object roots_and_states, conceals
    cdef int least_swallowed, most_passes

    def __init__(
        self, *, kinds, headings, block, too_deep, roots_and_states, conceals, least_swallowed, most_passes
    ):
        self.block, self.too_deep = block, too_deep
        self.roots_and_states, self.conceals = roots_and_states, conceals
        self.least_swallowed, self.most_passes = least_swallowed, most_passes
        of_tags = {tag: LEVEL * level for tag, level in headings.items()}
        for name, tags in {**OTHER_KINDS, **kinds}.items():
            for tag in tags:
                of_tags[tag] = of_tags.get(tag, 0) | KINDS[name]
        count_in_list(&self.tags, of_tags)
        for tag in of_tags:
            append_number(&self.kinds, of_tags[tag])

    def __dealloc__(self):
        free_words(&self.tags)
        free(self.kinds.start)

    cdef int kind_of(self, int tag) noexcept:
        """Return the kind of a tag, given its number."""
        return self.kinds.start[tag - 1] if tag <= self.kinds.size else 0

    def __call__(self, tree, int max_depth=250):
        cdef _Reader reader
        cdef etree._Element element
        cdef list swallowed = []
        for _ in range(self.most_passes):
            reader = _Reader(self, {<size_t> node_of(element) for element in swallowed})
            for root, around in self.roots_and_states(tree) if has_root_behind(tree) else ((tree, SHOWN),):
                reader.read_root(root, around, max_depth)
            least = max(self.least_swallowed, unlinked_size(reader.outline))
            more = [
                element for element in reader.skipped if unlinked_size(self.read_alone(element, max_depth)) > least
            ]
            if not more:
                break
            swallowed += more
        return reader.outline

    cdef Outline read_alone(self, etree._Element element, int max_depth):
        cdef _Reader reader = _Reader(self, set())
        reader.read_root(element, SHOWN, max_depth)
        return reader.outline


read_outline = ReadOutline

KINDS = {
    "inline": INLINE, "skipped": SKIPPED, "drawing": DRAWING, "swallowing": SWALLOWING, "lists": LIST, "items": ITEM,
    "paragraphs": PARAGRAPH, "written": WRITTEN, "anchor": ANCHOR, "break": BREAK, "first heading": FIRST_HEADING,
    "content": CONTENT,
}
OTHER_KINDS = {"anchor": ["a"], "break": ["br"], "first heading": ["h1"], "content": ["article", "footer", "main"]}


cdef Py_ssize_t unlinked_size(Outline outline) noexcept:
    cdef Py_ssize_t size = 0
    cdef int at
    for at in range(outline.count):
        size += outline.row_of()[at].letters
    return size - outline.linked
