# Headings compared with the title: the same as crawler_dedup.signing.headings, which explains it.

cdef struct Heading:
    int level
    bint is_link
    bint is_main
    Py_ssize_t place


cdef class _Headings:
    """The headings of a page."""

    cdef Bytes rows      # items of type Heading
    cdef list letters    # of each heading, in UTF-8

    def __cinit__(self):
        self.letters = []

    def __dealloc__(self):
        free(self.rows.start)

    cdef int add(self, int level, bytes letters, bint is_link, bint is_main, Py_ssize_t place) except -1:
        cdef Heading row
        row.level, row.is_link, row.is_main, row.place = level, is_link, is_main, place
        self.letters.append(letters)
        return append(&self.rows, &row, sizeof(Heading))

    cdef bytes find_main(self, list parts, Py_ssize_t first_main, int most, Py_ssize_t near):
        """Return the letters of the heading of the main text, if they have nothing in common with *parts* of the title."""
        cdef const Heading* rows = <const Heading*> self.rows.start
        cdef const Heading* row
        cdef Py_ssize_t at
        cdef bytes letters, part, above = None, inside = None
        for at in range(len(self.letters)):
            row, letters = &rows[at], self.letters[at]
            if row.level != 1 or not letters:
                continue
            if not most:
                break
            most -= 1
            for part, _ in parts:
                if part in letters or letters in part:
                    return None
            if row.is_link:
                continue
            if 0 <= first_main - row.place <= near:
                above = letters
            if row.is_main and inside is None:
                inside = letters
        return inside if above is None else above

    cdef uint64_t find_named(self, list parts, bytes title, _Page page) except? 0:
        """Return which *parts* of a *title* (its letters) are in headings or in the main text, as bits."""
        cdef uint64_t telling = 0, bit = 1, named
        cdef list repeating
        cdef Py_ssize_t at
        for _, is_telling in parts:
            telling |= bit if is_telling else 0
            bit <<= 1  # it is 0 for parts that are not looked at
        if not telling:
            return 0
        repeating = [at for at in range(len(self.letters)) if self.letters[at] and self.letters[at] in title]
        texts = [self.letters[at] for at in repeating if not (<const Heading*> self.rows.start)[at].is_link]
        named = find_parts(parts, telling, texts)
        if telling & ~named:
            named |= find_parts(parts, telling & ~named, [page.main_letters()])
        if not named and len({self.letters[at] for at in repeating}) > 1:
            named = find_parts(parts, telling, [self.letters[repeating[len(repeating) - 1]]])
        return named


cdef uint64_t find_parts(list parts, uint64_t looked_for, list texts) except? 0:
    """Return which of the parts that are *looked_for* are in one of *texts*, as bits."""
    cdef uint64_t bit = 1, held = 0
    cdef bytes part, text
    for part, _ in parts:
        if looked_for & bit:
            for text in texts:
                if part in text:
                    held |= bit
                    break
        bit <<= 1
    return held


cdef bytes letters_of_line(str plain, const Text* text, Py_ssize_t begin, Py_ssize_t end, letters_of):
    """Return letters, digits and operators of a line in UTF-8. *letters_of* is used if the line may have ornaments."""
    cdef Bytes letters
    cdef Py_ssize_t at = begin
    while at < end and traits_of(read_at(text, at)) & SPACE:
        at += 1
    if at < end and is_ornament(read_at(text, at)):
        return (<str> letters_of(plain[begin:end])).encode("utf-8", "surrogatepass")
    memset(&letters, 0, sizeof(Bytes))
    try:
        append_letters(&letters, text, at, end)
        return <bytes> letters.start[: letters.size] if letters.size else b""
    finally:
        free(letters.start)


cdef int append_letters(Bytes* letters, const Text* text, Py_ssize_t begin, Py_ssize_t end) except -1:
    cdef unsigned char* into
    cdef Py_ssize_t at
    cdef uint32_t code, following
    reserve(letters, 4 * <size_t> (end - begin) + 4)
    into = letters.start + letters.size
    for at in range(begin, end):
        code = read_at(text, at)
        if not (traits_of(code) & WORD and code != c"_" or is_ornament(code) or code == c"+" or code == c"#"):
            if code != c"-" and code != c"/" and code != c"!" or at + 1 == end:
                continue
            following = read_at(text, at + 1)
            if following != c"=" and following != c">":
                continue
        into = write_code(into, code)
    letters.size = into - letters.start
    return 0


cdef inline bint is_ornament(uint32_t code) noexcept nogil:
    return code == c"&" or code == c"*" or c"<" <= code <= c">" or code == c"^" or code == c"~" or code == c"%"
