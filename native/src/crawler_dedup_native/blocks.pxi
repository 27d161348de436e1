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
        advertising: letters of lines that only announce an advertisement.
        normalise: normalises a text.
        parts: returns the parts of a title in order, and whether a text that contains a part names the part.
        letters: returns the letters of a normalised text.
        select: chooses and packs blocks if there are too many, given as a dictionary of traits and sizes.
        page_blocks: makes the result.
    """

    cdef object normalise, parts, letters, select, page_blocks
    cdef int most_blocks, most_parts, near, size_unit, most_units
    cdef Words advertising
    cdef size_t longest_advertising
    cdef unsigned char described[128]

    def __init__(
        self, *, punctuation, advertising, normalise, parts, letters, select, page_blocks, most_blocks, most_parts, near,
        size_unit, most_units,
    ):
        describe_ascii(self.described, punctuation)
        self.normalise, self.parts, self.letters = normalise, parts, letters
        self.select, self.page_blocks = select, page_blocks
        self.most_blocks, self.most_parts, self.near = most_blocks, most_parts, near
        self.size_unit, self.most_units = size_unit, most_units
        self.longest_advertising = max(map(len, advertising))
        count_in_list(&self.advertising, [letters.decode() for letters in advertising])

    def __dealloc__(self):
        free_words(&self.advertising)

    def __call__(self, page, main, str title, embedded=None, *, Py_ssize_t max_chars, bint fold_han=True):
        cdef str plain_title = self.normalise(title)
        cdef MainBlocks chosen = chosen_of(page, main)
        cdef _Page packed = _Page(self, chosen, len(title), plain_title)
        cdef const Row* row = chosen.page.row_of()
        cdef int count = count_within(chosen.page, max_chars)
        if count:
            texts = decode(chosen.page.texts.start, row[count - 1].begin + row[count - 1].size)
            packed.read_lines(self.normalise(texts, fold_han=fold_han), count)
        if embedded:
            for source, is_shown in embedded.items():
                packed.add_embedded(source, is_shown)
        heading, named = packed.describe(self.parts(title), plain_title)
        return self.page_blocks(packed.pack(), heading, named)


cdef MainBlocks chosen_of(page, main):
    """Convert a main text that was chosen in Python to an object of the core."""
    cdef MainBlocks chosen
    cdef set blocks
    cdef int at
    if type(main) is MainBlocks and (<MainBlocks> main).page is page:
        return main
    chosen = MainBlocks(outline_of(page))
    blocks = {<size_t> <PyObject*> block for block in main.blocks}
    for at, block in zip(range(chosen.page.count), chosen.page.blocks):
        chosen.chosen[at] = <size_t> <PyObject*> block in blocks
    return chosen


cdef int count_within(Outline page, Py_ssize_t max_chars) noexcept:
    """Return how many blocks at the beginning have up to *max_chars* characters together."""
    cdef const Row* row = page.row_of()
    cdef Py_ssize_t size = 0
    cdef int count
    cdef size_t at
    if <Py_ssize_t> page.texts.size <= max_chars:
        return page.count
    for count in range(page.count):
        for at in range(row[count].begin, row[count].begin + row[count].size):
            size += page.texts.start[at] & 0xC0 != 0x80
        if size > max_chars:
            return count
    return page.count


cdef class _Page:
    cdef PackBlocks terms
    cdef _Lines lines         # each page has its own, because threads pack at the same time
    cdef Py_ssize_t longest_name
    cdef Words title_units
    cdef _Headings headings
    cdef const Row* rows
    cdef MainBlocks main
    cdef Text text            # normalised
    cdef str plain            # the same text
    cdef Numbers main_lines   # where in the text lines of the main text begin and end
    cdef Bytes packed         # items of type Packed
    cdef Map numbers          # places in packed, plus 1, by hash plus 1
    cdef Map times

    def __cinit__(self, PackBlocks terms, MainBlocks main, Py_ssize_t title_size, str plain_title):
        self.terms, self.main, self.rows = terms, main, main.page.row_of()
        self.lines = _Lines()
        self.lines.described = terms.described
        self.headings = _Headings()
        self.longest_name = 2 * title_size + 2  # a name may have the words of the title twice
        count_units(&self.title_units, plain_title)

    def __dealloc__(self):
        free_words(&self.title_units)
        free(self.main_lines.start)
        free(self.packed.start)
        free(self.numbers.entries)
        free(self.times.entries)

    cdef int read_lines(self, str plain, int count) except -1:
        """Read the lines of a normalised text; each line is the text of a block."""
        cdef Py_ssize_t begin = 0, end
        cdef int place
        self.plain, self.text = plain, read(plain)
        for place in range(count):
            end = begin
            while end < self.text.size and read_at(&self.text, end) != c"\n":
                end += 1
            self.read_line(&self.rows[place], place, begin, end)
            begin = end + 1
        if begin != self.text.size + 1:
            raise ValueError("There is a line for each block.")
        return 0

    cdef int read_line(self, const Row* row, int place, Py_ssize_t begin, Py_ssize_t end) except -1:
        cdef _Lines lines = self.lines
        cdef int traits = ENTRY if 2 * row.linked >= row.letters else 0
        cdef int units, holds
        cdef uint32_t number
        cdef bint is_main = self.main.chosen[place]
        holds = lines.take_letters(&self.text, begin, end, True)
        if self.is_advertising(lines):
            return 0
        if row.level:
            letters = letters_of_line(self.plain, &self.text, begin, end, self.terms.letters)
            self.headings.add(row.level, letters, traits != 0, is_main, place)
            traits |= HEADING
        if is_main:
            if traits != ENTRY | HEADING:
                append_number(&self.main_lines, begin)
                append_number(&self.main_lines, end)
            traits |= MAIN
        if holds & HAS_DIGIT:
            lines.take_numbers(&self.text, begin, end)
        if lines.numbers.size:
            traits |= NUMBER
        if end - begin <= self.longest_name and repeats(&self.title_units, &self.text, begin, end):
            traits |= NAME
        if row.hides:
            traits |= HIDDEN
        number = lines.hash_taken()
        if not traits & (ENTRY | HIDDEN | NAME):
            number = self.count_number(number)
        units = <int> min((row.letters + self.terms.size_unit - 1) // self.terms.size_unit, self.terms.most_units)
        return self.add(number, traits, units if holds & HAS_LETTER else 0)

    cdef bint is_advertising(self, _Lines lines) noexcept:
        cdef const Words* known = &self.terms.advertising
        cdef uint64_t hash_
        if lines.letters.size > self.terms.longest_advertising:
            return False
        hash_ = XXH3_64bits(lines.letters.start, lines.letters.size)
        return known.slots[find_slot(known, hash_, lines.letters.start, lines.letters.size)] != 0

    cdef uint32_t count_number(self, uint32_t number) except? 0:
        """Return another number for a line that is repeated on the page."""
        cdef Entry* entry = find(&self.times, <uint64_t> number + 1)
        cdef unsigned char times[4]
        entry.number += 1
        if entry.number == 1:
            return number
        times[0], times[1] = entry.number & 0xFF, entry.number >> 8 & 0xFF
        times[2], times[3] = entry.number >> 16 & 0xFF, entry.number >> 24 & 0xFF
        return XXH3_64bits_withSeed(times, 4, number) >> 32

    cdef int add(self, uint32_t number, int traits, int units) except -1:
        """Add a block, or replace the block with the same number."""
        cdef Entry* entry = find(&self.numbers, <uint64_t> number + 1)
        cdef Packed packed
        cdef Packed* before
        packed.hash, packed.traits, packed.units = number, traits, units
        if not entry.number:
            append(&self.packed, &packed, sizeof(Packed))
            entry.number = self.numbers.size
            return 0
        before = <Packed*> self.packed.start + entry.number - 1
        # The block is a link, or hidden, only if both are.
        before.traits = ((before.traits | traits) & ~(ENTRY | HIDDEN)) | (before.traits & traits & (ENTRY | HIDDEN))
        before.units = units
        return 0

    cdef int add_embedded(self, str source, bint is_shown) except -1:
        cdef Text text = read(source)
        cdef uint32_t whole = self.lines.hash_range(&text, 0, text.size)
        cdef uint32_t number = whole & ~<uint32_t> 1
        cdef Py_ssize_t begin = 0, end = 0
        if self.is_known(whole):
            return 0
        if find_file(&text, &begin, &end):
            number = (self.lines.hash_range(&text, begin, end) & 0xFFFF0000) | (whole & 0xFFFE) | 1
        return 0 if self.is_known(number) else self.add(number, EMBEDDED if is_shown else EMBEDDED | HIDDEN, 0)

    cdef bint is_known(self, uint32_t number) except -1:
        return has(&self.numbers, <uint64_t> number + 1)

    cdef int find_first(self) noexcept:
        """Return the place of the first block of the main text; the number of blocks if there is none."""
        cdef int place = 0
        while place < self.main.page.count and not self.main.chosen[place]:
            place += 1
        return place

    cdef tuple describe(self, list parts, str plain_title):
        """Return the heading of the page, and which parts of its title the page names."""
        cdef Text title = read(plain_title)
        cdef bytes heading = self.headings.find_main(parts, self.find_first(), self.terms.most_parts, self.terms.near)
        letters = letters_of_line(plain_title, &title, 0, title.size, self.terms.letters)
        named = self.headings.find_named(parts, letters, self)
        return 0 if heading is None else self.lines.hash_text(heading.decode("utf-8", "surrogatepass")), named

    cdef bytes main_letters(self):
        """Return the lines of the main text in UTF-8, without spaces."""
        cdef Bytes made
        cdef Py_ssize_t at
        cdef uint32_t code
        cdef unsigned char* into
        cdef int line
        memset(&made, 0, sizeof(Bytes))
        try:
            for line in range(0, self.main_lines.size, 2):
                reserve(&made, 4 * <size_t> (self.main_lines.start[line + 1] - self.main_lines.start[line]) + 4)
                into = made.start + made.size
                for at in range(self.main_lines.start[line], self.main_lines.start[line + 1]):
                    code = read_at(&self.text, at)
                    if code != c" ":
                        into = write_code(into, code)
                into[0] = c"\n"
                made.size = into + 1 - made.start
            return <bytes> made.start[: made.size] if made.size else b""
        finally:
            free(made.start)

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


cdef bint find_file(const Text* text, Py_ssize_t* file_begin, Py_ssize_t* file_end) except -1:
    """Find the name of a file and its parameters, if a text is an address.

    Slashes, which are not hashed, may stand between the name and the parameters.
    """
    cdef Py_ssize_t begin = 0, end = text.size, at, path_end, file
    cdef bint is_address = False
    cdef uint32_t code
    while begin < end and traits_of(read_at(text, begin)) & SPACE:
        begin += 1
    while begin < end and traits_of(read_at(text, end - 1)) & SPACE:
        end -= 1
    for at in range(begin, end):
        if traits_of(read_at(text, at)) & SPACE:
            return False
    at = begin
    while at < end and read_at(text, at) != c"#":
        at += 1
    end, path_end = at, begin
    while path_end < end:
        code = read_at(text, path_end)
        if code == c"?":
            break
        is_address = is_address or code == c"/" or code == c"."
        path_end += 1
    if not is_address:
        return False
    code = read_at(text, begin)
    if code == c"{" or code == c"[" or code == c'"':
        return False
    at = path_end
    while at > begin and read_at(text, at - 1) == c"/":
        at -= 1
    file = at
    while file > begin and read_at(text, file - 1) != c"/":
        file -= 1
    file_begin[0], file_end[0] = file, end if path_end < end else at
    return file < file_end[0]


pack_blocks = PackBlocks
