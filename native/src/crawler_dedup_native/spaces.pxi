# White space, and how much a text says.

cdef struct Extent:
    Py_ssize_t letters
    Py_ssize_t size  # in bytes


cdef Extent collapse(const unsigned char* at, const unsigned char* end, unsigned char* into) except *:
    """Join words with a single space, as ``" ".join(text.split())``, and tell how much they say.

    Args:
        into: where the result is written, which has room for the whole text; ``NULL``: nowhere.
    """
    cdef Extent extent
    cdef const unsigned char* begin
    cdef uint32_t code
    cdef int traits
    cdef bint is_separated = False
    extent.letters = extent.size = 0
    while at < end:
        if at[0] < 0x80:
            if is_ascii_space(at[0]):
                is_separated = True
                at += 1
                continue
            begin = at
            while at < end and at[0] < 0x80 and not is_ascii_space(at[0]):
                at += 1
            code = at - begin
        else:
            begin = at
            traits = traits_of(read_code(&at, end))
            if traits & SPACE:
                is_separated = True
                continue
            code = 3 if traits & WIDE else 1
        if is_separated and extent.size:
            if into != NULL:
                into[extent.size] = c" "
            extent.size += 1
            extent.letters += 1
        is_separated = False
        if into != NULL:
            memcpy(into + extent.size, begin, at - begin)
        extent.size += at - begin
        extent.letters += code
    return extent


cdef bint is_space(const unsigned char* at, const unsigned char* end) except -1:
    while at < end:
        if at[0] < 0x80:
            if not is_ascii_space(at[0]):
                return False
            at += 1
        elif not traits_of(read_code(&at, end)) & SPACE:
            return False
    return True
