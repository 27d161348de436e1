# Hashes → sketch, as crawler_dedup.signing.sketch makes it.

cdef enum:
    BINS = 64
    WHOLE = 64    # sets of up to 64 features are kept whole
    CODES = 255


cdef inline uint32_t shorten(uint64_t hash_) noexcept nogil:
    """Return the 24 bits of a hash that a sketch uses."""
    return <uint32_t> (hash_ >> 48) << 8 | <uint32_t> (hash_ & 0xFF)


cdef bytes sketch_of(const uint64_t* hashes, size_t size):
    cdef uint32_t smallest[BINS]
    cdef unsigned char codes[BINS]
    cdef uint32_t short_
    cdef size_t at
    if size <= WHOLE:
        return sketch_whole(hashes, size)
    memset(smallest, 0xFF, sizeof(smallest))
    for at in range(size):
        short_ = shorten(hashes[at])
        if short_ < smallest[short_ >> 18]:
            smallest[short_ >> 18] = short_
    for at in range(BINS):
        codes[at] = 0 if smallest[at] == 0xFFFFFFFF else (smallest[at] & 0xFF) % CODES + 1
    return (<char*> codes)[:BINS]


cdef bytes sketch_whole(const uint64_t* hashes, size_t size):
    """Sketch up to :data:`WHOLE` hashes: three bytes each."""
    cdef uint32_t shorts[WHOLE]
    cdef unsigned char members[3 * WHOLE]
    cdef uint32_t moved
    cdef size_t at, count, end = 0
    for count in range(size):
        moved = shorten(hashes[count])
        at = count
        while at > 0 and shorts[at - 1] > moved:
            shorts[at] = shorts[at - 1]
            at -= 1
        shorts[at] = moved
    for at in range(size):
        if at and shorts[at] == shorts[at - 1]:
            continue
        members[end] = shorts[at] & 0xFF
        members[end + 1] = shorts[at] >> 8 & 0xFF
        members[end + 2] = shorts[at] >> 16
        end += 3
    return (<char*> members)[:end]


def sketch():
    """Return a function that sketches sets like ``crawler_dedup.signing.sketch.sketch``."""
    return compute_sketch


def compute_sketch(hashes):
    cdef const uint64_t[::1] numbers = hashes
    return sketch_of(&numbers[0], numbers.shape[0]) if numbers.shape[0] else b""


cdef inline bint is_digit(const Text* text, Py_ssize_t at) except -1:
    cdef uint32_t code = read_at(text, at)
    return is_digit_code(code) if code < 0x80 else traits_of(code) & DIGIT != 0


cdef inline bint is_digit_code(uint32_t code) noexcept nogil:
    return c"0" <= code <= c"9"


cdef int append_number_text(Bytes* content, const Text* text, Py_ssize_t begin, Py_ssize_t end) except -1:
    """Append characters in UTF-8, with a hyphen for each dash between years."""
    cdef unsigned char* at
    cdef uint32_t code
    reserve(content, 4 * <size_t> (end - begin))
    at = content.start + content.size
    for place in range(begin, end):
        code = read_at(text, place)
        at = write_code(at, c"-" if code == EN_DASH else code)
    content.size = at - content.start
    return 0


cdef enum:
    EN_DASH = 0x2013
