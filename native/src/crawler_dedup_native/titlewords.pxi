# The words of a title, and which of them are in headings and texts.

cdef enum:
    BEGINNINGS = 1 << 12
    MOST_WORDS = (1 << 16) - 1


cdef class _TitleWords:
    """The distinct words of a title.

    Args:
        casefold: returns what each of 256 characters becomes.
    """

    cdef object casefold
    cdef Words words
    cdef Words own                      # words of a heading
    cdef Bytes folded
    cdef uint16_t firsts[BEGINNINGS]    # by the first two bytes: 0, or the number of a word plus 1
    cdef uint16_t* following            # by number: 0, or the next word with this beginning, plus 1
    cdef unsigned char* is_seen         # by number: whether a text that was read has the word

    def __cinit__(self, str title, casefold):
        cdef uint32_t number
        cdef uint16_t* first
        cdef bytes folded = title.casefold().encode("utf-8", "surrogatepass")
        self.casefold = casefold
        count_words_of(&self.words, folded, <const unsigned char*> folded + len(folded))
        if self.words.size > MOST_WORDS:
            raise Unsupported("a title of so many words")
        self.following = <uint16_t*> calloc(self.words.size + 1, sizeof(uint16_t))
        self.is_seen = <unsigned char*> calloc(self.words.size + 1, 1)
        if self.following == NULL or self.is_seen == NULL:
            raise MemoryError
        for number in range(self.words.size):
            first = &self.firsts[beginning_of(self.words.content.start + self.words.start[number].begin)]
            self.following[number], first[0] = first[0], number + 1

    def __dealloc__(self):
        free_words(&self.words)
        free_words(&self.own)
        free(self.folded.start)
        free(self.following)
        free(self.is_seen)

    cdef int fold(self, const unsigned char* text, size_t size) except -1:
        self.folded.size = 0
        return append_casefolded(&self.folded, text, text + size, self.casefold)

    cdef int read_heading(self, const unsigned char* text, size_t size, uint32_t* common, uint32_t* count) except -1:
        """Count the distinct words of a heading, and how many of them are words of the title."""
        cdef uint32_t number
        self.fold(text, size)
        clear_words(&self.own)
        count_words_of(&self.own, self.folded.start, self.folded.start + self.folded.size)
        count[0], common[0] = self.own.size, 0
        for number in range(self.own.size):
            common[0] += is_known(&self.words, &self.own, &self.own.start[number])
        return 0

    cdef void forget_texts(self) noexcept:
        memset(self.is_seen, 0, self.words.size)

    cdef uint32_t count_new(self, const unsigned char* text, size_t size) except? 0:
        """Return how many words of the title a text has that no previous text has."""
        cdef const unsigned char* at
        cdef const unsigned char* end
        cdef const Word* word
        cdef uint32_t number, count = 0
        self.fold(text, size)
        at, end = self.folded.start, self.folded.start + self.folded.size
        while end - at >= 2:
            number = self.firsts[beginning_of(at)]
            while number:
                word = &self.words.start[number - 1]
                if (
                    not self.is_seen[number - 1]
                    and word.size <= end - at
                    and memcmp(at, self.words.content.start + word.begin, word.size) == 0
                ):
                    self.is_seen[number - 1] = True
                    count += 1
                number = self.following[number - 1]
            at += 1
        return count


cdef inline size_t beginning_of(const unsigned char* text) noexcept nogil:
    return <size_t> text[0] << 4 ^ text[1]


cdef int count_words_of(Words* words, const unsigned char* at, const unsigned char* end) except -1:
    """Count the words of a folded text that have two letters or more; each pair of letters if a word is not ASCII."""
    cdef const unsigned char* begin
    cdef const unsigned char* after
    cdef uint32_t code
    cdef bint is_ascii
    cdef Py_ssize_t letters
    while at < end:
        begin, is_ascii, letters = at, True, 0
        while at < end:
            after = at
            code = read_code(&after, end)
            if not traits_of(code) & WORD:
                break
            is_ascii = is_ascii and code < 0x80
            letters += 1
            at = after
        if letters > 1 and is_ascii:
            count_bytes(words, begin, at)
        elif letters > 1:
            count_pairs(words, begin, at)
        at = after
    return 0


cdef int count_pairs(Words* words, const unsigned char* begin, const unsigned char* end) except -1:
    """Count each pair of consecutive characters."""
    cdef const unsigned char* second = begin
    cdef const unsigned char* third
    read_code(&second, end)
    while second < end:
        third = second
        read_code(&third, end)
        count_bytes(words, begin, third)
        begin, second = second, third
    return 0
