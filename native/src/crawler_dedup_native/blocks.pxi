# Blocks → packed blocks: the same as crawler_dedup.signing.blocks.pack_blocks, which explains it.

cdef enum BlockTrait:
    ENTRY = 1
    HEADING = 2
    NUMBER = 4
    NAME = 8
    MAIN = 16
    HIDDEN = 32
    EMBEDDED = 64


cdef struct Packed:
    uint32_t hash
    unsigned char traits
    unsigned char units


cdef class PackBlocks:
    """Packs the blocks of pages.

    Args:
        advertising: the letters of lines that only say that an advertisement follows.
        normalise: normalises a text.
        heading: makes what is known of a heading of its level, its text, whether it is a link or belongs to the main text, and
            its place.
        find_file: returns the name of the file of an address, or ``""``.
        describe: returns heading and named parts of a page, given its headings, the normalised texts of its main text, its
            title, that normalised, and the place of its first main block.
        select: packs more blocks than are kept, given as a dictionary of traits and sizes.
        page_blocks: makes the result.
    """

    cdef object normalise, heading, find_file, describe, select, page_blocks
    cdef int most_blocks, size_unit, most_units
    cdef Words advertising
    cdef bytes punctuation

    def __init__(
        self, *, punctuation, advertising, normalise, heading, find_file, describe, select, page_blocks, most_blocks,
        size_unit, most_units,
    ):
        self.punctuation = punctuation
        self.normalise, self.heading, self.find_file, self.describe = normalise, heading, find_file, describe
        self.select, self.page_blocks = select, page_blocks
        self.most_blocks, self.size_unit, self.most_units = most_blocks, size_unit, most_units
        count_in_list(&self.advertising, [letters.decode() for letters in advertising])

    def __dealloc__(self):
        free_words(&self.advertising)

    def __call__(self, outline, main, str title, embedded=None, *, Py_ssize_t max_chars, bint fold_han=True):
        cdef _Page page = _Page(self, title, self.normalise(title))
        cdef list blocks = outline.blocks
        cdef Py_ssize_t count = count_within(blocks, max_chars)
        cdef set of_main = {<size_t> <PyObject*> block for block in main.blocks}
        if count:
            plain = self.normalise("\n".join([PySequence_GetItem(block, 0) for block in blocks[:count]]), fold_han=fold_han)
            page.read_lines(blocks, count, of_main, plain)
        for source, is_shown in (embedded or {}).items():
            page.add_embedded(source, is_shown)
        first_main = find_first(blocks, of_main)
        heading, named = self.describe(page.headings, page.main_texts, title, page.plain_title, first_main)
        return self.page_blocks(page.pack(), heading, named)


cdef Py_ssize_t count_within(list blocks, Py_ssize_t max_chars) except -1:
    """Return how many of the first blocks have up to so many characters together."""
    cdef Py_ssize_t count = 0, size = 0
    for block in blocks:
        size += len(<str?> PySequence_GetItem(block, 0))
        if size > max_chars:
            break
        count += 1
    return count


cdef Py_ssize_t find_first(list blocks, set of_main) except -1:
    """Return the place of the first block of the main text; behind the last if there is none."""
    cdef Py_ssize_t place = 0
    for block in blocks:
        if <size_t> <PyObject*> block in of_main:
            break
        place += 1
    return place


cdef class _Page:
    cdef PackBlocks terms
    cdef _Lines lines         # of this page: threads pack at the same time
    cdef str plain_title
    cdef Py_ssize_t longest_name
    cdef Words title_units
    cdef list headings, main_texts
    cdef Bytes packed         # of type Packed
    cdef Map numbers          # places of those, and 1, by hash and 1
    cdef Map times

    def __cinit__(self, PackBlocks terms, str title, str plain_title):
        self.terms, self.plain_title = terms, plain_title
        self.lines = _Lines(terms.punctuation)
        self.longest_name = 2 * len(title) + 2  # it may have its words twice
        self.headings, self.main_texts = [], []
        count_units(&self.title_units, plain_title)

    def __dealloc__(self):
        free_words(&self.title_units)
        free(self.packed.start)
        free(self.numbers.entries)
        free(self.times.entries)

    cdef int read_lines(self, list blocks, Py_ssize_t count, set main, str plain) except -1:
        cdef Text text = read(plain)
        cdef Py_ssize_t place, begin = 0, end
        for place in range(count):
            end = begin
            while end < text.size and read_at(&text, end) != c"\n":
                end += 1
            self.read_line(blocks[place], place, main, plain, &text, begin, end)
            begin = end + 1
        if begin != text.size + 1:
            raise ValueError("There is a line for each block.")
        return 0

    cdef int read_line(
        self, block, Py_ssize_t place, set main, str plain, const Text* text, Py_ssize_t begin, Py_ssize_t end
    ) except -1:
        cdef _Lines lines = self.lines
        cdef Py_ssize_t size = PySequence_GetItem(block, 1), linked = PySequence_GetItem(block, 2)
        cdef int level = PySequence_GetItem(block, 5)
        cdef int traits = ENTRY if 2 * linked >= size else 0
        cdef int units
        cdef uint32_t number
        cdef bint is_main = <size_t> <PyObject*> block in main
        lines.take_letters(text, begin, end, True)
        if self.is_advertising(lines):
            return 0
        if level:
            self.headings.append(self.terms.heading(level, plain[begin:end], traits != 0, bool(is_main), place))
            traits |= HEADING
        if is_main:
            if traits != ENTRY | HEADING:
                self.main_texts.append(plain[begin:end])
            traits |= MAIN
        lines.take_numbers(text, begin, end)
        if lines.numbers.size:
            traits |= NUMBER
        if end - begin <= self.longest_name and repeats(&self.title_units, text, begin, end):
            traits |= NAME
        if PySequence_GetItem(block, 4) != PySequence_GetItem(block, 0):
            traits |= HIDDEN
        number = lines.hash_taken()
        if not traits & (ENTRY | HIDDEN | NAME):
            number = self.count_number(number)
        units = <int> min((size + self.terms.size_unit - 1) // self.terms.size_unit, self.terms.most_units)
        return self.add(number, traits, units if says_something(text, begin, end) else 0)

    cdef bint is_advertising(self, _Lines lines) noexcept:
        cdef const Words* known = &self.terms.advertising
        cdef uint64_t hash_ = XXH3_64bits(lines.letters.start, lines.letters.size)
        return known.slots[find_slot(known, hash_, lines.letters.start, lines.letters.size)] != 0

    cdef uint32_t count_number(self, uint32_t number) except? 0:
        """Return another number for a line that stands on the page again."""
        cdef Entry* entry = find(&self.times, <uint64_t> number + 1)
        cdef unsigned char times[4]
        entry.number += 1
        if entry.number == 1:
            return number
        times[0], times[1] = entry.number & 0xFF, entry.number >> 8 & 0xFF
        times[2], times[3] = entry.number >> 16 & 0xFF, entry.number >> 24 & 0xFF
        return XXH3_64bits_withSeed(times, 4, number) >> 32

    cdef int add(self, uint32_t number, int traits, int units) except -1:
        """Add a block, or put it into the place of the one with the same number."""
        cdef Entry* entry = find(&self.numbers, <uint64_t> number + 1)
        cdef Packed packed
        cdef Packed* before
        packed.hash, packed.traits, packed.units = number, traits, units
        if not entry.number:
            append(&self.packed, &packed, sizeof(Packed))
            entry.number = self.numbers.size
            return 0
        before = <Packed*> self.packed.start + entry.number - 1
        # A link or hidden only if it is both times.
        before.traits = ((before.traits | traits) & ~(ENTRY | HIDDEN)) | (before.traits & traits & (ENTRY | HIDDEN))
        before.units = units
        return 0

    cdef int add_embedded(self, str source, bint is_shown) except -1:
        cdef uint32_t whole = self.lines.hash_text(source)
        cdef uint32_t number = whole
        cdef str file
        if self.is_known(whole):
            return 0
        file = self.terms.find_file(source)
        if file:
            number = (self.lines.hash_text(file) & 0xFFFF0000) | (whole & 0xFFFE) | 1
        else:
            number = whole & ~<uint32_t> 1
        return 0 if self.is_known(number) else self.add(number, EMBEDDED if is_shown else EMBEDDED | HIDDEN, 0)

    cdef bint is_known(self, uint32_t number) except -1:
        return has(&self.numbers, <uint64_t> number + 1)

    cdef bytes pack(self):
        cdef Packed* blocks = <Packed*> self.packed.start
        cdef size_t size = self.packed.size // sizeof(Packed)
        cdef size_t at
        cdef bytearray rows
        cdef unsigned char* row
        if size > <size_t> self.terms.most_blocks:
            return self.terms.select({blocks[at].hash: (blocks[at].traits, blocks[at].units) for at in range(size)})
        rows = bytearray(6 * size)
        row = rows
        for at in range(size):
            row[0], row[1] = blocks[at].hash & 0xFF, blocks[at].hash >> 8 & 0xFF
            row[2], row[3] = blocks[at].hash >> 16 & 0xFF, blocks[at].hash >> 24
            row[4], row[5] = blocks[at].traits, blocks[at].units
            row += 6
        return bytes(rows)


pack_blocks = PackBlocks
