# White space, and the size of a text in letters.

cdef uint64_t HIGH = 0x8080808080808080ULL      # the highest bit of each of eight bytes
cdef uint64_t SPACES = 0x2020202020202020ULL


cdef struct Extent:
    Py_ssize_t letters
    Py_ssize_t size  # in bytes


cdef Extent collapse(const unsigned char* at, const unsigned char* end, unsigned char* into) except *:
    """Join words with a single space, as ``" ".join(text.split())``, and count their letters.

    Args:
        into: where the result is written, with room for the whole text; ``NULL``: the result is not written.
    """
    cdef Extent extent
    cdef const unsigned char* begin
    cdef bint is_separated = False
    cdef Py_ssize_t letters
    extent.letters = extent.size = 0
    while at < end:
        begin, letters = at, 0
        if extent.size and not is_separated:  # behind a word
            at = end_of_words(at, end)
        if at == begin:
            at = end_of_ascii_word(at, end)
        if at > begin:
            letters = at - begin
        else:
            at = end_of_wide_word(at, end, &letters)
        if at == begin:
            is_separated = True
            at = behind_space(at, end)
            continue
        if is_separated and extent.size:
            if into != NULL:
                into[extent.size] = c" "
            extent.size += 1
            extent.letters += 1
        is_separated = False
        if into != NULL:
            memcpy(into + extent.size, begin, at - begin)
        extent.size += at - begin
        extent.letters += letters
    return extent


cdef inline const unsigned char* end_of_words(const unsigned char* at, const unsigned char* end) noexcept nogil:
    """Return how far words of ASCII with single spaces continue, or a place before; eight bytes are read at a time."""
    cdef uint64_t eight, spaces
    while end - at >= 8:
        memcpy(&eight, at, 8)
        if eight & HIGH or (eight - SPACES) & ~eight & HIGH:  # not ASCII, or below a space
            break
        spaces = (((eight ^ SPACES) + 0x7F7F7F7F7F7F7F7FULL) & HIGH) ^ HIGH
        if spaces & spaces << 8:
            break
        at += 7 if at[7] == c" " else 8
    return at


cdef inline const unsigned char* end_of_ascii_word(const unsigned char* at, const unsigned char* end) noexcept nogil:
    while at < end and at[0] < 0x80 and not is_ascii_space(at[0]):
        at += 1
    return at


cdef inline const unsigned char* end_of_wide_word(
    const unsigned char* at, const unsigned char* end, Py_ssize_t* letters
) except? NULL:
    """Return the end of characters that are neither ASCII nor white space; add their size in letters to *letters*."""
    cdef const unsigned char* this
    cdef unsigned char* kind
    cdef uint32_t code
    cdef int traits
    while at < end and at[0] >= 0x80:
        kind = alike(at, end)
        if kind != NULL and kind[0] & ALL_WIDE:
            letters[0] += 3
            at += 3
            continue
        this = at
        code = read_code(&at, end)
        traits = traits_of(code)
        if traits & SPACE:
            return this
        letters[0] += 3 if traits & WIDE else 1
        if kind != NULL and not kind[0] & NOTED:
            note_wide(code)
    return at


cdef inline const unsigned char* behind_space(const unsigned char* at, const unsigned char* end) noexcept nogil:
    """Return the place behind a character of white space, and behind ASCII white space that follows."""
    read_code(&at, end)
    while at < end and is_ascii_space(at[0]):
        at += 1
    return at


cdef bint is_space(const unsigned char* at, const unsigned char* end) except -1:
    while at < end:
        if at[0] < 0x80:
            if not is_ascii_space(at[0]):
                return False
            at += 1
        elif not traits_of(read_code(&at, end)) & SPACE:
            return False
    return True
