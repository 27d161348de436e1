# Characters of a Python text.

cdef struct Text:
    int kind
    const void* characters
    Py_ssize_t size


cdef inline Text read(str text) noexcept:
    cdef Text content
    content.kind = PyUnicode_KIND(text)
    content.characters = PyUnicode_DATA(text)
    content.size = len(text)
    return content


cdef inline uint32_t read_at(const Text* text, Py_ssize_t at) noexcept nogil:
    if text.kind == 1:
        return (<const uint8_t*> text.characters)[at]
    if text.kind == 2:
        return (<const uint16_t*> text.characters)[at]
    return (<const uint32_t*> text.characters)[at]


cdef inline unsigned char* write_code(unsigned char* at, uint32_t code) noexcept nogil:
    """Write a character as ``encode("utf-8", "replace")`` does, in up to four bytes; return the place behind it."""
    if code < 0x80:
        at[0] = code
        return at + 1
    if code < 0x800:
        at[0] = 0xC0 | code >> 6
        at[1] = 0x80 | (code & 0x3F)
        return at + 2
    if 0xD800 <= code < 0xE000:
        at[0] = c"?"
        return at + 1
    if code < 0x10000:
        at[0] = 0xE0 | code >> 12
        at[1] = 0x80 | (code >> 6 & 0x3F)
        at[2] = 0x80 | (code & 0x3F)
        return at + 3
    at[0] = 0xF0 | code >> 18
    at[1] = 0x80 | (code >> 12 & 0x3F)
    at[2] = 0x80 | (code >> 6 & 0x3F)
    at[3] = 0x80 | (code & 0x3F)
    return at + 4
