# Outline → main text: the same as crawler_dedup.signing.maintext, which explains it.

cdef struct Limits:
    Py_ssize_t enough, named, name, notice, title, detail, long
    uint32_t common_words
    int series
    double link_share, main_share, unlinked_share, named_share, different, title_weight, titles_share


cdef class MainBlocks:
    """The blocks of *page* that are its main text. Python's blocks are made when they are asked for.

    Attributes:
        chosen: whether it is part of the main text, for each block of the page.
        size: letters of the main text, without titles of a list that are links.
        linked: letters inside links in the element that holds the main text.
    """

    cdef Outline page
    cdef unsigned char* chosen
    cdef readonly Py_ssize_t size, linked

    def __cinit__(self, Outline page):
        self.page = page
        self.chosen = <unsigned char*> calloc(page.count + 1, 1)
        if self.chosen == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.chosen)

    @property
    def blocks(self):
        cdef int at
        # Callers have this list too, and may have changed it.
        return [block for at, block in zip(range(self.page.count), self.page.blocks) if self.chosen[at]]

    @property
    def are_links(self):
        cdef const Row* row = self.page.row_of()
        cdef Py_ssize_t letters = 0, linked = 0
        cdef int at
        for at in range(self.page.count):
            if self.chosen[at]:
                letters += row[at].letters
                linked += row[at].linked
        return 2 * linked > letters


cdef class FindMainBlocks:
    """Finds the main texts of pages, as ``crawler_dedup.signing.maintext.find_main_blocks`` does.

    Args:
        casefold: returns what each of 256 characters becomes when case is folded.
        limits: the numbers and shares that limit the choice, by their names.
    """

    cdef object casefold
    cdef Limits limits

    def __init__(self, *, casefold, limits):
        self.casefold, self.limits = casefold, limits

    def __call__(self, page, str title=""):
        cdef Outline outline = outline_of(page)
        cdef _Choice choice
        if outline is not page and len({<size_t> <PyObject*> block for block in outline.made}) < outline.count:
            raise Unsupported("a block that stands on the page twice")
        choice = _Choice(outline)
        choice.terms, choice.limits = self, &self.limits
        return choice.choose(title)


find_main_blocks = FindMainBlocks


cdef class _Choice:
    """The choice of the main text of one page. Arrays are by the number of an element, unless stated otherwise."""

    cdef Outline page
    cdef FindMainBlocks terms
    cdef const Limits* limits
    cdef Py_ssize_t* size         # letters of the blocks of a group
    cdef Py_ssize_t* linked
    cdef Py_ssize_t* unlinked     # letters outside of links, those of elements inside included
    cdef double* held
    cdef double* shares           # share of the words of the title that a text has
    cdef unsigned char* is_text
    cdef int* firsts              # of a text: number of its first block plus 1
    cdef int* following           # of a block: number of the next block of its text plus 1
    cdef int texts
    cdef _Series series

    def __cinit__(self, Outline page):
        cdef size_t count = page.numbers.size
        self.page = page
        self.size = <Py_ssize_t*> calloc(count, sizeof(Py_ssize_t))
        self.linked = <Py_ssize_t*> calloc(count, sizeof(Py_ssize_t))
        self.unlinked = <Py_ssize_t*> calloc(count, sizeof(Py_ssize_t))
        self.held = <double*> calloc(count, sizeof(double))
        self.shares = <double*> calloc(count, sizeof(double))
        self.is_text = <unsigned char*> calloc(count, 1)
        if (
            self.size == NULL or self.linked == NULL or self.unlinked == NULL or self.held == NULL
            or self.shares == NULL or self.is_text == NULL
        ):
            raise MemoryError

    def __dealloc__(self):
        free(self.size)
        free(self.linked)
        free(self.unlinked)
        free(self.held)
        free(self.shares)
        free(self.is_text)
        free(self.firsts)
        free(self.following)

    cdef MainBlocks choose(self, str title):
        cdef _TitleWords words = _TitleWords(title, self.terms.casefold)
        cdef int name = 0, main
        self.find_texts()
        self.series = _Series(self.page)
        self.series.find(self.is_text, self.limits)
        if words.words.size:
            if self.texts > 1:
                self.read_shares(words)
            name = self.find_name(words)
        self.weigh()
        main = self.main_element(name)
        return self.take(main, self.end_of(main))

    cdef int find_texts(self) except -1:
        """Find the groups that say enough outside of links."""
        cdef const Row* row = self.page.row_of()
        cdef int at
        for at in range(self.page.count):
            self.size[row[at].group] += row[at].letters
            self.linked[row[at].group] += row[at].linked
        for at in range(self.page.numbers.size):
            self.unlinked[at] = self.size[at] - self.linked[at]
            if self.size[at] >= self.limits.enough and self.linked[at] <= self.limits.link_share * self.size[at]:
                self.is_text[at] = True
                self.texts += 1
        return 0

    cdef int read_shares(self, _TitleWords words) except -1:
        """Compute which share of the words of the title each text has."""
        cdef const Row* row = self.page.row_of()
        cdef int at, number
        cdef uint32_t seen
        self.firsts = <int*> calloc(self.page.numbers.size, sizeof(int))
        self.following = <int*> calloc(self.page.count, sizeof(int))
        if self.firsts == NULL or self.following == NULL:
            raise MemoryError
        for at in range(self.page.count - 1, -1, -1):
            self.following[at], self.firsts[row[at].group] = self.firsts[row[at].group], at + 1
        for number in range(self.page.numbers.size):
            if not self.is_text[number]:
                continue
            words.forget_texts()
            seen, at = 0, self.firsts[number]
            while at and seen < words.words.size:
                seen += words.count_new(self.page.texts.start + row[at - 1].begin, row[at - 1].size)
                at = self.following[at - 1]
            self.shares[number] = <double> seen / <double> words.words.size
        return 0

    cdef int find_name(self, _TitleWords words) except -1:
        """Return the number of the element of the heading that names the page; 0 if no heading does."""
        cdef const Row* row
        cdef int at, name = 0, rank, best = 0
        cdef uint32_t common, count, most = 0
        for at in range(self.page.count):
            row = &self.page.row_of()[at]
            if not row.level or row.letters > self.limits.name:
                continue
            rank = 2 * (2 * row.linked < row.letters) + (row.level == 1)
            if rank < best:
                continue
            words.read_heading(self.page.texts.start + row.begin, row.size, &common, &count)
            if common < self.limits.common_words or 2 * common < count:
                continue
            if rank > best or common > most:
                name, best, most = row.group, rank, common
        return name

    cdef void weigh(self) noexcept:
        """Weigh the texts of each element, without texts in elements inside."""
        cdef const Row* row = self.page.row_of()
        cdef int at
        cdef double weight
        for at in range(self.page.numbers.size):
            if self.is_text[at]:
                weight = self.size[at] * (1 + self.shares[at])
                self.held[at] = weight * sqrt(weight)
        self.weigh_members(DETAIL, 1)
        self.weigh_members(TITLE, self.limits.title_weight)

    cdef void weigh_members(self, Member kind, double factor) noexcept:
        cdef const Row* row
        cdef int at
        for at in range(self.series.in_order.size):
            if self.series.members[self.series.in_order.start[at]] == kind:
                row = &self.page.row_of()[self.series.in_order.start[at]]
                self.held[row.group] += factor * row.letters * sqrt(row.letters)

    cdef int main_element(self, int name) except -1:
        """Return the number of the element that holds the main text, given the number of the heading that names the page."""
        cdef Py_ssize_t* parents = self.page.numbers.start
        cdef int number, main
        cdef double least, unlinked_least
        for number in range(self.page.numbers.size - 1, 0, -1):
            self.held[parents[number]] += self.held[number]
            self.unlinked[parents[number]] += self.unlinked[number]
        if not self.held[0]:
            return 0
        least, unlinked_least = self.limits.main_share * self.held[0], self.limits.unlinked_share * self.unlinked[0]
        main = self.page.numbers.size - 1
        while main >= 0 and not (self.held[main] >= least and self.unlinked[main] >= unlinked_least):
            main -= 1
        if main < 0:
            raise Unsupported("more inside links than there is")
        number = name
        while number:
            if self.held[number] >= self.limits.named_share * self.held[0] and self.unlinked[number] >= self.limits.named:
                return main if self.is_around(number, main) else number
            number = parents[number]
        return main

    cdef bint is_around(self, int outer, int number) noexcept:
        """Return whether an element is *outer*, which is not the root, or is inside of it."""
        while number > outer:
            number = self.page.numbers.start[number]
        return number == outer

    cdef int end_of(self, int main) noexcept:
        """Return the number of the last element inside of *main*, plus 1."""
        cdef int number = main + 1
        while number < self.page.numbers.size and self.page.numbers.start[number] >= main:
            number += 1
        return number

    cdef MainBlocks take(self, int main, int end):
        """Take the content of the elements from *main* to *end*, except for repeated blocks and notices."""
        cdef MainBlocks chosen = MainBlocks(self.page)
        cdef _Texts texts = _Texts(self.page)
        cdef const Row* row = self.page.row_of()
        cdef Py_ssize_t titles = 0
        cdef int at
        cdef unsigned char member
        texts.forget(self.page.count)
        for at in range(self.page.count):
            if not main <= row[at].group < end or self.is_repeated(texts, at):
                continue
            member = self.series.members[at]
            if (self.is_text[row[at].group] or member) and not self.is_notice(&row[at]):
                chosen.chosen[at] = True
                if member == TITLE:
                    titles += row[at].letters
                else:
                    chosen.size += row[at].letters
        if titles < self.limits.titles_share * chosen.size:
            for at in range(self.page.count):
                chosen.chosen[at] = chosen.chosen[at] and self.series.members[at] != TITLE
        for at in range(main, end):
            chosen.linked += self.linked[at]
        return chosen

    cdef bint is_repeated(self, _Texts texts, int at) noexcept:
        """Return whether a block repeats a long block of another element."""
        cdef const Row* row = self.page.row_of()
        cdef int* known
        if row[at].letters < self.limits.long:
            return False
        known = texts.find(at)
        if not known[0]:
            known[0] = at + 1
        return row[known[0] - 1].group != row[at].group

    cdef bint is_notice(self, const Row* row) noexcept:
        cdef const unsigned char* text = self.page.texts.start + row.begin
        cdef size_t at
        if row.letters >= self.limits.notice:
            return False
        for at in range(1, row.size):
            if text[at - 1] == 0xC2 and text[at] == 0xA9:  # ©
                return True
        return False


# Main text → text.

def join_text():
    return join_lines


def join_shown_text():
    return join_shown_lines


def join_lines(part):
    """Return the text of a page, or of its main text, a line for each block."""
    cdef MainBlocks main
    cdef Outline page
    if type(part) is MainBlocks:
        main = part
        return join_chosen(main.page, main.chosen, False)
    if type(part) is Outline:
        page = part
        return decode(page.texts.start, page.texts.size - 1) if page.count else ""
    raise Unsupported("blocks that Python has made")


def join_shown_lines(part):
    """Return the text like :func:`join_lines`, without the content of hidden elements."""
    cdef MainBlocks main
    if type(part) is MainBlocks:
        main = part
        return join_chosen(main.page, main.chosen, True)
    if type(part) is Outline:
        return join_chosen(part, NULL, True)
    raise Unsupported("blocks that Python has made")


cdef str join_chosen(Outline page, const unsigned char* chosen, bint shown):
    """Join the texts of blocks; of all blocks if *chosen* is ``NULL``. A block that is not shown at all has no line."""
    cdef const Row* row
    cdef Bytes lines
    cdef int at
    memset(&lines, 0, sizeof(Bytes))
    try:
        reserve(&lines, page.texts.size + page.shown_texts.size)
        for at in range(page.count):
            row = &page.row_of()[at]
            if chosen != NULL and not chosen[at]:
                continue
            if shown and row.hides:
                append(&lines, page.shown_texts.start + row.shown_begin, row.shown_size)
            else:
                append(&lines, page.texts.start + row.begin, row.size)
            if not shown or (row.shown_size if row.hides else row.size):
                append(&lines, b"\n", 1)
        return decode(lines.start, lines.size - 1) if lines.size else ""
    finally:
        free(lines.start)
