# Lines of normalised text as hashes: the same as crawler_dedup.signing.blocks, which explains it.

cdef enum:
    LEFT_OUT = 1    # is not hashed
    HAS_DIGIT = 2
    HAS_LETTER = 4  # or a digit


cdef int describe_ascii(unsigned char* described, bytes punctuation) except -1:
    """Describe the characters of ASCII; those in *punctuation* are left out of hashes."""
    cdef int code
    memset(described, 0, 128)
    for code in punctuation:
        described[code] = LEFT_OUT
    for code in range(128):
        if is_digit_code(code):
            described[code] |= HAS_DIGIT | HAS_LETTER
        elif c"a" <= code | 0x20 <= c"z":
            described[code] |= HAS_LETTER
    return 0


cdef class _Lines:
    """Hashes lines without white space and punctuation."""

    cdef const unsigned char* described  # each character of ASCII
    cdef Bytes letters, numbers

    def __dealloc__(self):
        free(self.letters.start)
        free(self.numbers.start)

    cdef int take_letters(self, const Text* text, Py_ssize_t begin, Py_ssize_t end, bint with_lines) except -1:
        """Append the characters of a text that are hashed, without its numbers; line feeds only with *with_lines*.

        Returns:
            whether the text has digits and letters.
        """
        cdef unsigned char* at
        cdef Py_ssize_t place
        cdef uint32_t code
        cdef int traits = 0, holds = 0
        self.letters.size = self.numbers.size = 0
        reserve(&self.letters, 4 * <size_t> (end - begin) + 4)
        at = self.letters.start
        for place in range(begin, end):
            code = read_at(text, place)
            if code < 0x80:
                holds |= self.described[code]
                if not self.described[code] & LEFT_OUT and (with_lines or code != c"\n"):
                    at[0] = code
                    at += 1
            elif not is_typographic(code):
                at = write_code(at, code)
                traits |= traits_of(code)
        self.letters.size = at - self.letters.start
        return holds | (HAS_LETTER if traits & WORD else 0) | (HAS_DIGIT if traits & DIGIT else 0)

    cdef int take_numbers(self, const Text* text, Py_ssize_t begin, Py_ssize_t end) except -1:
        """Append the numbers of a text, a space before each."""
        cdef Py_ssize_t at = begin, first
        self.numbers.size = 0
        while at < end:
            first = at
            if not is_digit(text, at):
                at += 1
                # A minus does not end a word.
                if not is_minus(read_at(text, first)) or at >= end or not is_digit(text, at):
                    continue
                if first > begin and traits_of(read_at(text, first - 1)) & WORD:
                    continue
            at = self.end_of_digits(text, at, end)
            append(&self.numbers, b" ", 1)
            append_number_text(&self.numbers, text, first, at)
        return 0

    cdef Py_ssize_t end_of_digits(self, const Text* text, Py_ssize_t at, Py_ssize_t end) except -1:
        """Return the end of the digits that begin at *at*; separators between digits are included."""
        while True:
            at += 1
            while at < end and is_digit(text, at):
                at += 1
            if at + 1 >= end or not is_separator(read_at(text, at)) or not is_digit(text, at + 1):
                return at
            at += 1

    cdef uint32_t hash_taken(self) except? 0:
        """Hash the characters that were appended last."""
        append(&self.letters, self.numbers.start, self.numbers.size)
        return XXH3_64bits(self.letters.start, self.letters.size) >> 32

    cdef uint32_t hash_text(self, str text) except? 0:
        """Hash a text of one or more lines."""
        cdef Text content = read(text)
        return self.hash_range(&content, 0, content.size)

    cdef uint32_t hash_range(self, const Text* text, Py_ssize_t begin, Py_ssize_t end) except? 0:
        if self.take_letters(text, begin, end, False) & HAS_DIGIT:
            self.take_numbers(text, begin, end)
        return self.hash_taken()


cdef inline bint is_typographic(uint32_t code) noexcept nogil:
    """Return whether it is a dash or quotation mark; surrogates, which UTF-8 cannot encode, are left out like these."""
    return 0x2010 <= code <= 0x2015 or 0x2018 <= code <= 0x201F or 0xD800 <= code < 0xE000


cdef inline bint is_minus(uint32_t code) noexcept nogil:
    return code == c"-" or code == EN_DASH


cdef inline bint is_separator(uint32_t code) noexcept nogil:
    """Return whether the character may be between the digits of a number."""
    return c"-" <= code <= c"/" or code == c"," or code == c":" or code == EN_DASH


cdef Py_ssize_t end_of_unit(const Text* text, Py_ssize_t at, Py_ssize_t end) except -1:
    """Return the end of the unit that begins at *at*; *at* itself if no unit begins there."""
    cdef int traits = traits_of(read_at(text, at))
    if traits & (HAN | UNSPACED):
        return at + 1
    if not traits & LETTER:
        return at
    at += 1
    while at < end and traits_of(read_at(text, at)) & (LETTER | MARK):
        at += 1
    return at


cdef int count_units(Words* units, str plain) except -1:
    """Count the units of a normalised text."""
    cdef Text text = read(plain)
    cdef Py_ssize_t at = 0, end
    while at < text.size:
        end = end_of_unit(&text, at, text.size)
        if end > at:
            count_word(units, &text, at, end)
        at = max(end, at + 1)
    return 0


cdef bint repeats(Words* units, const Text* text, Py_ssize_t begin, Py_ssize_t end) except -1:
    """Return whether a text has units, and all of them are among *units*."""
    cdef Py_ssize_t at = begin, end_of
    cdef bint has_units = False
    while at < end:
        end_of = end_of_unit(text, at, end)
        if end_of > at:
            has_units = True
            if not is_among(units, text, at, end_of):
                return False
        at = max(end_of, at + 1)
    return has_units


cdef bint is_among(Words* words, const Text* text, Py_ssize_t begin, Py_ssize_t end) except -1:
    cdef size_t before = words.content.size
    cdef const unsigned char* content
    cdef size_t size
    if not words.size:
        return False
    append_characters(&words.content, text, begin, end)
    size, content = words.content.size - before, words.content.start + before
    words.content.size = before
    return words.slots[find_slot(words, XXH3_64bits(content, size), content, size)] != 0
