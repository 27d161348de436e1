# Blocks that form series: the same as crawler_dedup.signing.maintext, which explains them.

cdef enum Member:
    NO_SERIES
    DETAIL
    TITLE


cdef struct Chain:
    # Consecutive blocks, by their numbers plus 1.
    int first
    int last
    int count


cdef struct Place:
    # The blocks in one place that are not mainly links, and the blocks that are.
    Chain texts
    Chain links


cdef class _Series:
    """The series of a page.

    Attributes:
        members: whether a block is part of a series, by its number.
        in_order: numbers of the members. Members of a series are together, and the series are in the order of their places.
            The first series has blocks whose links lead to other places of the page.
    """

    cdef Outline page
    cdef const Limits* limits
    cdef unsigned char* members
    cdef Numbers in_order
    cdef Bytes places         # items of type Place, in the order of the page; the first is place 0
    cdef Map known            # numbers of places plus 1, by place plus 1
    cdef int* following       # 0, or the number of the next block in a chain plus 1
    cdef _Texts texts

    def __cinit__(self, Outline page):
        self.page = page
        self.members = <unsigned char*> calloc(page.count + 1, 1)
        self.following = <int*> calloc(page.count + 1, sizeof(int))
        if self.members == NULL or self.following == NULL:
            raise MemoryError
        self.texts = _Texts(page)

    def __dealloc__(self):
        free(self.members)
        free(self.in_order.start)
        free(self.places.start)
        free(self.known.entries)
        free(self.following)

    cdef int find(self, const unsigned char* is_text, const Limits* limits) except -1:
        """Find the series among blocks outside of texts; *is_text* says by the number of an element whether it is a text."""
        cdef const Row* row
        cdef Place* place
        cdef int at
        self.place_of(0)
        for at in range(self.page.count):
            row = &self.page.row_of()[at]
            if not is_text[row.group]:
                place = self.place_of(row.place)
                self.append_to(&place.links if 2 * row.linked > row.letters else &place.texts, at)
        place = <Place*> self.places.start
        for at in range(self.places.size // sizeof(Place)):
            self.read(&place[at].texts, DETAIL, limits.detail, limits)
            if at:
                self.read(&place[at].links, TITLE, limits.title, limits)
        return 0

    cdef Place* place_of(self, int number) except NULL:
        cdef Entry* entry = find(&self.known, <uint64_t> <uint32_t> number + 1)
        cdef Place place
        if not entry.number:
            memset(&place, 0, sizeof(Place))
            append(&self.places, &place, sizeof(Place))
            entry.number = self.known.size
        return <Place*> self.places.start + entry.number - 1

    cdef void append_to(self, Chain* chain, int at) noexcept:
        if chain.count:
            self.following[chain.last - 1] = at + 1
        else:
            chain.first = at + 1
        chain.last = at + 1
        chain.count += 1

    cdef int read(self, const Chain* chain, Member kind, Py_ssize_t least, const Limits* limits) except -1:
        """Add the blocks of *chain* if they form a series; each must have *least* letters."""
        cdef Py_ssize_t letters = 0
        cdef int next_ = chain.first, different = 0
        cdef int* known
        if chain.count < limits.series:
            return 0
        self.texts.forget(chain.count)
        while next_:
            known = self.texts.find(next_ - 1)
            letters += self.page.row_of()[next_ - 1].letters
            if known[0]:
                letters -= self.page.row_of()[known[0] - 1].letters
            else:
                different += 1
            known[0] = next_
            next_ = self.following[next_ - 1]
        if letters < least * different or different < max(<double> limits.series, limits.different * chain.count):
            return 0
        next_ = chain.first
        while next_:
            self.members[next_ - 1] = kind
            append_number(&self.in_order, next_ - 1)
            next_ = self.following[next_ - 1]
        return 0


cdef class _Texts:
    """The distinct texts of some blocks of a page."""

    cdef Outline page
    cdef int* slots           # 0, or the number of a block plus 1
    cdef size_t slot_count, room

    def __cinit__(self, Outline page):
        self.page = page

    def __dealloc__(self):
        free(self.slots)

    cdef int forget(self, size_t most) except -1:
        """Remove all texts, and make room for up to *most* texts."""
        self.slot_count = 64
        while self.slot_count < 2 * most:
            self.slot_count *= 2
        if self.slot_count > self.room:
            free(self.slots)
            self.slots, self.room = <int*> malloc(self.slot_count * sizeof(int)), 0
            if self.slots == NULL:
                raise MemoryError
            self.room = self.slot_count
        memset(self.slots, 0, self.slot_count * sizeof(int))
        return 0

    cdef int* find(self, int number) noexcept:
        """Find the slot of the text of a block. If the text was seen before, the slot has the block that was put into it."""
        cdef const Row* row = &self.page.row_of()[number]
        cdef const unsigned char* text = self.page.texts.start + row.begin
        cdef const Row* other
        cdef size_t slot = scatter(XXH3_64bits(text, row.size)) & (self.slot_count - 1)
        while self.slots[slot]:
            other = &self.page.row_of()[self.slots[slot] - 1]
            if other.size == row.size and memcmp(self.page.texts.start + other.begin, text, row.size) == 0:
                break
            slot = (slot + 1) & (self.slot_count - 1)
        return &self.slots[slot]
