# Texts with case folded, each character by itself, as in str.casefold().

cdef uint32_t UNCHANGED[1]       # stands for 256 characters that do not change
cdef uint32_t* CASEFOLDED[PAGES]


cdef uint32_t* load_casefolded(uint32_t page, describe) except NULL:
    """Load what *describe* says that each of the 256 characters of a page becomes."""
    cdef uint32_t* folded
    cdef uint32_t place = 0
    cdef list described = describe(page)
    if len(described) != 256:
        raise ValueError("A page has 256 characters.")
    if CASEFOLDED[page] != NULL:  # another thread has loaded it
        return CASEFOLDED[page]
    if all([becomes == chr(page * 256 + code) for code, becomes in enumerate(described)]):
        CASEFOLDED[page] = UNCHANGED
        return UNCHANGED
    folded = <uint32_t*> calloc(256, sizeof(uint32_t))
    if folded == NULL:
        raise MemoryError
    for becomes in described:
        folded[place] = code_of(becomes)
        place += 1
    CASEFOLDED[page] = folded
    return folded


cdef int append_casefolded(Bytes* into, const unsigned char* at, const unsigned char* end, describe) except -1:
    """Append a text of UTF-8 with its case folded."""
    cdef const unsigned char* begin = at
    cdef const unsigned char* this
    cdef const uint32_t* folded
    cdef unsigned char* kind
    cdef uint32_t code
    while at < end:
        this = at
        if at[0] < 0x80:
            append(into, begin, this - begin)
            begin = at = end_of_ascii(at, end)
            append_lower(into, this, at)
            continue
        kind = alike(at, end)
        if kind != NULL and kind[0] & ALL_CASELESS:
            at += 3
            continue
        code = read_code(&at, end)
        folded = CASEFOLDED[code >> 8]
        if folded == NULL:
            folded = load_casefolded(code >> 8, describe)
        if folded == UNCHANGED:
            if kind != NULL:
                kind[0] |= ALL_CASELESS
        elif folded[code & 0xFF] != code:
            append(into, begin, this - begin)
            begin = at
            append_code(into, folded[code & 0xFF])
    return append(into, begin, at - begin)


cdef inline const unsigned char* end_of_ascii(const unsigned char* at, const unsigned char* end) noexcept nogil:
    cdef uint64_t eight
    while end - at >= 8:
        memcpy(&eight, at, 8)
        if eight & 0x8080808080808080ULL:
            break
        at += 8
    while at < end and at[0] < 0x80:
        at += 1
    return at


cdef int append_lower(Bytes* into, const unsigned char* begin, const unsigned char* end) except -1:
    """Append a text of ASCII in lower case."""
    cdef Py_ssize_t at, size = end - begin
    cdef unsigned char* out
    reserve(into, size)
    out = into.start + into.size
    for at in range(size):
        out[at] = begin[at] + 32 * (<unsigned char> (begin[at] - c"A") < 26)
    into.size += size
    return 0


cdef int append_code(Bytes* into, uint32_t becomes) except -1:
    """Append what a character becomes: another character, or several characters in :data:`EXPANSIONS`."""
    cdef uint32_t place, count
    cdef unsigned char* at
    if becomes >= PUNCTUATION:
        raise Unsupported("a character of which no more is known")
    place = becomes ^ SEVERAL
    count = 1 if becomes < SEVERAL else EXPANSIONS[place]
    reserve(into, 4 * <size_t> count)
    at = into.start + into.size
    if becomes < SEVERAL:
        at = write_code(at, becomes)
    else:
        for place in range(place + 1, place + 1 + count):
            at = write_code(at, EXPANSIONS[place])
    into.size = at - into.start
    return 0
