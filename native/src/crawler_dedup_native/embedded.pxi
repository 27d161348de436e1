# Tree → embedded content of a page: the same as crawler_dedup.signing.embedded, which explains it.

cdef enum:
    WITH_TEXT = 1
    UNREAD = 2
    SCRIPT = 4
    ADDRESSED = 8  # the lowest bit of a number: place of the names of attributes, plus 1


cdef class FindEmbeddedContent:
    """Finds embedded content.

    Args:
        addresses: names of the attributes that may contain the address of an element, by its tag.
        with_text: tags of elements that are read with their text.
        unread: tags of elements whose text is not read, unless they hold data.
        conceals: returns how an element with a style conceals its content.
    """

    cdef dict kinds
    cdef list addresses  # names of attributes
    cdef object conceals

    def __init__(self, *, addresses, with_text, unread, conceals):
        self.conceals = conceals
        self.kinds, self.addresses = {b"script": SCRIPT}, []
        for tag in with_text:
            self.kinds[tag.encode()] = WITH_TEXT
        for tag in unread:
            self.kinds[tag.encode()] = self.kinds.get(tag.encode(), 0) | UNREAD
        for tag, names in addresses.items():
            self.addresses.append([name.encode() for name in names])
            self.kinds[tag.encode()] = self.kinds.get(tag.encode(), 0) | ADDRESSED * len(self.addresses)

    def __call__(self, etree._Element root):
        cdef _Embedded reader = _Embedded(self)
        first_of_document(root)
        reader.read(root._c_node)
        return reader.pieces


cdef class _Embedded:
    cdef FindEmbeddedContent terms
    cdef dict pieces
    cdef Map kinds               # by the address of the name, plus 1
    cdef Numbers states          # how each open element conceals its content
    cdef const tree.xmlNode* top  # of which all is read

    def __cinit__(self, FindEmbeddedContent terms):
        self.terms, self.pieces = terms, {}

    def __dealloc__(self):
        free(self.kinds.entries)
        free(self.states.start)

    cdef int read(self, tree.xmlNode* root) except -1:
        cdef tree.xmlNode* node = root
        cdef tree.xmlNode* following
        append_number(&self.states, SHOWN)
        while True:
            self.enter(node)
            following = this_or_next_element(first_child(node))
            while following == NULL:
                self.leave(node)
                if node == root:
                    return 0
                following = this_or_next_element(node.next)
                if following == NULL:
                    node = node.parent
            node = following

    cdef int enter(self, tree.xmlNode* node) except -1:
        cdef int state = self.states.start[self.states.size - 1]
        cdef int kind
        if node.type != tree.XML_ELEMENT_NODE:
            return append_number(&self.states, state)
        state = concealment(node, state, self.terms.conceals)
        append_number(&self.states, state)
        kind = self.kind_of(node)
        if self.top == NULL and kind & WITH_TEXT:
            self.top = node
        if kind >= ADDRESSED:
            self.add_address(node, self.terms.addresses[kind // ADDRESSED - 1], state)
        if kind & SCRIPT and is_data(node) or self.top != NULL and not kind & UNREAD:
            self.add_text(node.children, state)
        return 0

    cdef int leave(self, const tree.xmlNode* node) except -1:
        self.states.size -= 1
        if node == self.top:
            self.top = NULL
        elif self.top != NULL:
            self.add_text(node.next, self.states.start[self.states.size - 1])
        return 0

    cdef int kind_of(self, const tree.xmlNode* node) except -1:
        cdef Entry* entry
        if not is_plain_name(node.ns):
            raise Unsupported("namespaces")
        entry = find(&self.kinds, <uint64_t> <size_t> node.name)
        if not entry.number:
            entry.number = 1 + <int> self.terms.kinds.get(<bytes> <const char*> node.name, 0)
        return entry.number - 1

    cdef int add_address(self, tree.xmlNode* node, list names, int state) except -1:
        cdef tree.xmlAttr* attribute
        cdef bytes name
        for name in names:
            attribute = find_attribute(node, name)
            if attribute != NULL:
                return self.add(etree.attributeValue(node, attribute), state)
        return 0

    cdef int add_text(self, tree.xmlNode* first, int state) except -1:
        """Add the texts from *first* on, up to the next element."""
        cdef Bytes text
        if text_or_none(first) == NULL:
            return 0
        memset(&text, 0, sizeof(Bytes))
        try:
            append_texts(&text, first)
            return self.add(PyUnicode_DecodeUTF8(<const char*> text.start, text.size, NULL), state) if text.size else 0
        finally:
            free(text.start)

    cdef int add(self, str piece, int state) except -1:
        self.pieces[piece] = state == SHOWN or self.pieces.get(piece, False)
        return 0


cdef bint is_data(tree.xmlNode* script) except -1:
    """Return whether a script holds JSON: data that another script shows."""
    cdef tree.xmlAttr* kind = find_attribute(script, b"type")
    return kind != NULL and etree.attributeValue(script, kind) == "application/json"


find_embedded_content = FindEmbeddedContent
