# Whether elements hide their content: the same as crawler_dedup.signing.hidden, which explains it.

cdef enum:
    SHOWN = 0
    NOT_DISPLAYED = 2


cdef int concealment(tree.xmlNode* element, int around, conceals) except -1:
    """Return how *element* conceals its content, given how the element *around* it does.

    Args:
        conceals: returns this for an element with a style.
    """
    cdef tree.xmlAttr* style
    cdef const char* value
    if element.properties == NULL or around == NOT_DISPLAYED:
        return around
    if find_attribute(element, b"hidden") != NULL:
        return NOT_DISPLAYED
    style = find_attribute(element, b"style")
    if style == NULL:
        return around
    value = plain_value(style)
    if value != NULL and not may_conceal(value):
        return around
    return conceals(etree.attributeValue(element, style), around)


cdef bint may_conceal(const char* style) noexcept nogil:
    """Return whether *style* has the name of a property that conceals, in any case, or any character outside of ASCII."""
    cdef const unsigned char* at = <const unsigned char*> style
    while at[0]:
        if at[0] >= 0x80:
            return True
        if at[0] | 0x20 == c"d" and begins_with(at, b"display"):
            return True
        if at[0] | 0x20 == c"v" and begins_with(at, b"visibility"):
            return True
        at += 1
    return False


cdef inline bint begins_with(const unsigned char* text, const char* letters) noexcept nogil:
    """Return whether *text* begins with small ASCII *letters*, in any case. No locale is used: Turkish has another i."""
    while letters[0] and text[0] | 0x20 == letters[0]:
        text, letters = text + 1, letters + 1
    return not letters[0]
