# What is known of each character, 256 of them at a time, as the regular expressions of crawler-dedup see them.

cdef enum:
    SPACE = 1        # separates words, as str.split() takes it
    WIDE = 2         # says more than a letter of the Latin alphabet
    LETTER = 4       # of a script with spaces between words, or a digit
    MARK = 8         # goes on with a word
    HAN = 16
    UNSPACED = 32    # of another script without spaces
    DIGIT = 64
    WORD = 128       # a letter or digit of any script

cdef enum:
    PAGES = 0x110000 >> 8

cdef uint16_t* TRAITS[PAGES]
cdef object describe_page = None


def read_characters_with(describe):
    """Let *describe* say what the characters of a page of 256 are: two bytes each, least significant first."""
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
        if TRAITS[page] != NULL:  # loaded meanwhile
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
    """Read the character of UTF-8 that begins at *at*, which is moved behind it. A wrong byte is a character of its own."""
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


# Of each 64 characters in a row whose form in UTF-8 has three bytes, which differ in the last one only:
cdef enum:
    ALL_WIDE = 1        # each is wide, and none is white space
    ALL_CASELESS = 2    # each stays what it is when case is folded
    NOTED = 4           # whether they are wide is known

cdef unsigned char ALIKE[1024]


cdef inline unsigned char* alike(const unsigned char* at, const unsigned char* end) noexcept nogil:
    """Return where in :data:`ALIKE` a character of three bytes stands; ``NULL`` for any other."""
    if at[0] & 0xF0 != 0xE0 or end - at < 3:
        return NULL
    return &ALIKE[(at[0] & 0x0F) << 6 | (at[1] & 0x3F)]


cdef int note_wide(uint32_t code) except -1:
    """Note whether 64 characters are wide, of which *code* is one."""
    cdef uint32_t first = code & ~<uint32_t> 0x3F
    ALIKE[first >> 6] |= NOTED
    for code in range(first, first + 64):
        if traits_of(code) & (WIDE | SPACE) != WIDE:
            return 0
    ALIKE[first >> 6] |= ALL_WIDE
    return 0


cdef inline bint is_ascii_space(unsigned char byte) noexcept nogil:
    return byte == c" " or 9 <= byte <= 13 or 28 <= byte <= 31
