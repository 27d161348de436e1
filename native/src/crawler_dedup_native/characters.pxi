# Traits of characters, as in the regular expressions of crawler-dedup, loaded in pages of 256 characters.

cdef enum:
    SPACE = 1        # separates words, as str.split() takes it
    WIDE = 2         # says more than a letter of the Latin alphabet
    LETTER = 4       # of a script with spaces between words, or a digit
    MARK = 8         # continues a word
    HAN = 16
    UNSPACED = 32    # of another script without spaces
    DIGIT = 64
    WORD = 128       # a letter or digit of any script

cdef enum:
    PAGES = 0x110000 >> 8

cdef uint16_t* TRAITS[PAGES]
cdef object describe_page = None


def read_characters_with(describe):
    """Set the function that describes a page of 256 characters: two bytes each, the least significant byte first."""
    global describe_page
    describe_page = describe


cdef const uint16_t* load_traits(uint32_t page) except NULL:
    cdef bytes described
    cdef uint16_t* traits
    if TRAITS[page] == NULL:
        described = describe_page(page)
        if len(described) != 512:
            raise ValueError("A page of characters has 512 bytes.")
        traits = <uint16_t*> malloc(512)
        if traits == NULL:
            raise MemoryError
        memcpy(traits, <const char*> described, 512)
        if TRAITS[page] != NULL:  # another thread has loaded it
            free(traits)
        else:
            TRAITS[page] = traits
    return TRAITS[page]


cdef inline int traits_of(uint32_t code) except -1:
    cdef const uint16_t* traits = TRAITS[code >> 8]
    if traits == NULL:
        traits = load_traits(code >> 8)
    return traits[code & 0xFF]


cdef inline uint32_t read_code(const unsigned char** at, const unsigned char* end) noexcept nogil:
    """Read the UTF-8 character at *at*, and move *at* behind it. A wrong byte counts as a character."""
    cdef const unsigned char* byte = at[0]
    cdef uint32_t code = byte[0]
    cdef int more, place
    at[0] = byte + 1
    if code < 0xC0:
        return code
    more = 1 if code < 0xE0 else 2 if code < 0xF0 else 3
    if byte + more >= end:
        return code
    for place in range(1, more + 1):
        if byte[place] & 0xC0 != 0x80:
            return code
    at[0] = byte + more + 1
    if more == 1:
        return (code & 0x1F) << 6 | (byte[1] & 0x3F)
    if more == 2:
        return (code & 0x0F) << 12 | (byte[1] & 0x3F) << 6 | (byte[2] & 0x3F)
    code = (code & 0x07) << 18 | (byte[1] & 0x3F) << 12 | (byte[2] & 0x3F) << 6 | (byte[3] & 0x3F)
    return code if code < 0x110000 else 0xFFFD


# Traits of 64 characters that have three bytes in UTF-8, and differ in the last byte only:
cdef enum:
    ALL_WIDE = 1        # each is wide, and none is white space
    ALL_CASELESS = 2    # folding case changes none
    NOTED = 4           # whether they are wide is known

cdef unsigned char ALIKE[1024]


cdef inline unsigned char* alike(const unsigned char* at, const unsigned char* end) noexcept nogil:
    """Return the place of a character of three bytes in :data:`ALIKE`; ``NULL`` for any other character."""
    if at[0] & 0xF0 != 0xE0 or end - at < 3:
        return NULL
    return &ALIKE[(at[0] & 0x0F) << 6 | (at[1] & 0x3F)]


cdef int note_wide(uint32_t code) except -1:
    """Note whether the 64 characters to which *code* belongs are wide."""
    cdef uint32_t first = code & ~<uint32_t> 0x3F
    ALIKE[first >> 6] |= NOTED
    for code in range(first, first + 64):
        if traits_of(code) & (WIDE | SPACE) != WIDE:
            return 0
    ALIKE[first >> 6] |= ALL_WIDE
    return 0


cdef inline bint is_ascii_space(unsigned char byte) noexcept nogil:
    return byte == c" " or 9 <= byte <= 13 or 28 <= byte <= 31
