# One pass over a tree.

cdef class _Reader:
    cdef ReadOutline terms
    cdef Map known_names         # number of a tag, by the address of its name
    cdef Words other_tags        # tags that are not in terms
    cdef set swallowed           # addresses of elements
    cdef Outline outline
    cdef list skipped            # elements that may have swallowed the page
    cdef Around* around          # by number of the element
    cdef int around_room, elements
    cdef Map places
    cdef Open* opened
    cdef int depth, opened_room
    cdef Bytes parts             # texts that were read since the last block
    cdef Bytes shown_parts       # the parts that are not hidden
    cdef Numbers hidden          # where hidden text in the parts begins and ends, without hidden text that has not ended
    cdef Py_ssize_t link_begins, hidden_begins, linked
    cdef bint leads_away
    cdef int state
    cdef etree._Document document

    def __cinit__(self, ReadOutline terms, set swallowed):
        self.terms, self.swallowed = terms, swallowed
        self.skipped = []
        self.outline = Outline()
        self.outline.block = terms.block
        self.link_begins = -1
        self.state = SHOWN
        self.add_element(0, 0, 0, 0, 0)

    def __dealloc__(self):
        free(self.known_names.entries)
        free_words(&self.other_tags)
        free(self.around)
        free(self.places.entries)
        free(self.opened)
        free(self.parts.start)
        free(self.shown_parts.start)
        free(self.hidden.start)

    cdef int add_element(self, int parent, int group, int around, int level, int place) except -1:
        cdef int number = self.elements
        cdef void* moved
        if number == self.around_room:
            moved = realloc(self.around, (2 * number + 64) * sizeof(Around))
            if moved == NULL:
                raise MemoryError
            self.around, self.around_room = <Around*> moved, 2 * number + 64
        self.around[number].group, self.around[number].list = group, around
        self.around[number].level, self.around[number].place = level, place
        append_number(&self.outline.numbers, parent)
        self.elements += 1
        return number

    cdef int tag_of(self, const tree.xmlNode* node) except -1:
        """Return the number of the name of an element."""
        cdef Entry* entry
        if not is_plain_name(node.ns):
            raise Unsupported("namespaces")
        entry = find(&self.known_names, <uint64_t> <size_t> node.name)
        if not entry.number:
            entry.number = self.number_of(<const unsigned char*> node.name, strlen(<const char*> node.name))
        return entry.number

    cdef int number_of(self, const unsigned char* name, size_t size) except -1:
        cdef const Words* known = &self.terms.tags
        cdef uint64_t hash_ = XXH3_64bits(name, size)
        cdef int number = known.slots[find_slot(known, hash_, name, size)]
        if number:
            return number
        count_bytes(&self.other_tags, name, name + size)
        return known.size + self.other_tags.slots[find_slot(&self.other_tags, hash_, name, size)]

    cdef int kind_of(self, const tree.xmlNode* node) except -1:
        return self.terms.kind_of(self.tag_of(node))

    cdef int read_root(self, etree._Element root, int around, int levels) except -1:
        cdef tree.xmlNode* node = node_of(root)
        self.document = root._doc
        self.turn(concealment(node, around, self.terms.conceals))
        self.open(node, 0, levels, NOTHING)
        while self.depth:
            self.read_next()
        self.end_block(0)
        self.turn(SHOWN)
        return 0

    cdef int open(self, tree.xmlNode* node, int number, int levels, Ending ending) except -1:
        """Begin to read the content of an element."""
        cdef void* moved
        cdef Open* top
        if levels < 1:
            raise self.terms.too_deep("nested too deep")
        if self.depth == self.opened_room:
            moved = realloc(self.opened, (2 * self.depth + 64) * sizeof(Open))
            if moved == NULL:
                raise MemoryError
            self.opened, self.opened_room = <Open*> moved, 2 * self.depth + 64
        top = &self.opened[self.depth]
        self.depth += 1
        top.element, top.child = node, this_or_next_element(node.children)
        top.number, top.levels, top.state, top.ending = number, levels, self.state, ending
        return self.take_text(node.children)

    cdef int take_text(self, tree.xmlNode* node) except -1:
        """Read the texts from *node* on, unless they are white space before a block."""
        cdef size_t before = self.parts.size
        append_texts(&self.parts, node)
        if not before and is_space(self.parts.start, self.parts.start + self.parts.size):
            self.parts.size = 0
        return 0

    cdef int read_next(self) except -1:
        """Begin to read the next child of the innermost open element, or end this element."""
        cdef Open* top = &self.opened[self.depth - 1]
        cdef tree.xmlNode* child = top.child
        if child != NULL:
            top.child = this_or_next_element(child.next)
            if child.type == tree.XML_ELEMENT_NODE and self.read_element(child, top.number, top.levels):
                return 0  # its own children come first
            return self.leave(child)
        self.depth -= 1
        if top.ending == BLOCK_ENDS:
            if self.parts.size:
                self.end_block(top.number)
        elif top.ending == LINK_ENDS:
            self.end_link()
            self.link_begins = -1
        if not self.depth:
            return 0
        return self.leave(top.element)

    cdef int leave(self, const tree.xmlNode* child) except -1:
        """Continue behind *child*, in the innermost open element."""
        if self.state != self.opened[self.depth - 1].state:
            self.turn(self.opened[self.depth - 1].state)
        return self.take_text(child.next)

    cdef bint read_element(self, tree.xmlNode* child, int number, int levels) except -1:
        """Read *child*, or return that it was opened."""
        cdef int tag = self.tag_of(child)
        cdef int kind = self.terms.kind_of(tag)
        if kind & INLINE:
            return self.read_inline(child, kind, number, levels)
        if kind & DRAWING:
            self.read_drawing(child, kind, tag, number)
        elif kind & SKIPPED and not (self.swallowed and <size_t> child in self.swallowed):
            append(&self.parts, b" ", 1)
            if kind & SWALLOWING and self.holds_page(child):
                self.skipped.append(etree.elementFactory(self.document, child))
        else:
            return self.read_block(child, kind, tag, number, levels)
        return False

    cdef bint read_block(self, tree.xmlNode* element, int kind, int tag, int parent, int levels) except -1:
        cdef int number
        if self.parts.size:
            self.end_block(parent)
        self.turn(concealment(element, self.state, self.terms.conceals))
        number = self.enter(element, kind, tag, parent)
        if levels < 2 or this_or_next_element(element.children) != NULL:
            self.open(element, number, levels - 1, BLOCK_ENDS)
            return True
        self.take_text(element.children)
        if self.parts.size:
            self.end_block(number)
        return False

    cdef bint read_inline(self, tree.xmlNode* element, int kind, int number, int levels) except -1:
        cdef tree.xmlAttr* target = NULL
        self.turn(concealment(element, self.state, self.terms.conceals))
        if kind & ANCHOR and self.link_begins < 0:
            target = find_attribute(element, b"href")
        if target != NULL:
            self.link_begins = self.parts.size
            self.leads_away = self.leads_away or not begins_with_hash(element, target)
            self.open(element, number, levels - 1, LINK_ENDS)
            return True
        if kind & BREAK:
            append(&self.parts, b" ", 1)
        elif this_or_next_element(element.children) != NULL:
            self.open(element, number, levels - 1, NOTHING)
            return True
        else:
            append_texts(&self.parts, element.children)
        return False

    cdef int read_drawing(self, tree.xmlNode* drawing, int kind, int tag, int parent) except -1:
        """Read all text of a drawing as one block."""
        cdef Bytes* words = &self.shown_parts
        cdef tree.xmlNode* node = drawing
        words.size = 0
        while node != NULL:
            if node.type == tree.XML_ELEMENT_NODE and self.kind_of(node) & WRITTEN:
                append_word(words, node.children)
                append_word(words, node.next)
            node = next_within(node, drawing)
        if is_space(words.start, words.start + words.size):
            append(&self.parts, b" ", 1)
            return 0
        written = <bytes> words.start[: words.size]  # what ends a block overwrites it
        if self.parts.size:
            self.end_block(parent)
        self.turn(concealment(drawing, self.state, self.terms.conceals))
        append(&self.parts, <const char*> written, len(written))
        return self.end_block(self.enter(drawing, kind, tag, parent))

    cdef int enter(self, const tree.xmlNode* element, int kind, int tag, int parent) except -1:
        cdef int number = self.elements
        cdef int list_around = self.around[parent].list
        cdef int level = kind // LEVEL if kind >= LEVEL else self.around[parent].level
        cdef Entry* place = find(&self.places, <uint64_t> (self.around[parent].place + 1) << 32 | <uint64_t> tag)
        if not place.number:
            place.number = self.places.size
        if kind & LIST:
            list_around = number
        elif list_around and kind & ITEM and self.is_text_of_its_own(element):
            list_around = 0
        return self.add_element(
            parent, list_around or (parent if kind & PARAGRAPH else number), list_around, level, place.number
        )

    cdef bint is_text_of_its_own(self, const tree.xmlNode* item) except -1:
        """Return whether a part of a list holds several blocks."""
        cdef tree.xmlNode* child = item.children
        cdef const tree.xmlNode* inside = NULL
        cdef int kind
        while child != NULL:
            if child.type == tree.XML_ELEMENT_NODE and not self.kind_of(child) & (INLINE | SKIPPED | DRAWING):
                if inside != NULL:
                    return True
                inside = child
            child = child.next
        if inside == NULL or self.kind_of(inside) & PARAGRAPH:
            return False
        child = this_or_next_element(inside.children)
        return child != NULL and this_or_next_element(child.next) != NULL

    cdef bint holds_page(self, tree.xmlNode* element) except -1:
        """Return whether *element* has the parts of a whole page."""
        cdef tree.xmlNode* node = element
        cdef int parts = 0
        while node != NULL:
            if node.type == tree.XML_ELEMENT_NODE:
                parts |= self.kind_of(node) & (FIRST_HEADING | CONTENT)
                if parts == FIRST_HEADING | CONTENT:
                    return True
            node = next_within(node, element)
        return False

    cdef int turn(self, int state) except -1:
        """Set how the text that is read from here on is concealed."""
        if state == self.state:
            return 0
        if self.state == SHOWN:
            self.hidden_begins = self.parts.size
        elif state == SHOWN:
            self.end_hidden()
        self.state = state
        return 0

    cdef int end_hidden(self) except -1:
        append_number(&self.hidden, self.hidden_begins)
        return append_number(&self.hidden, self.parts.size)

    cdef int end_link(self) except -1:
        self.linked += collapse(
            self.parts.start + self.link_begins, self.parts.start + self.parts.size, NULL
        ).letters
        return 0

    cdef int end_block(self, int number) except -1:
        """Make a block from the texts that were read since the last block, in the element *number*."""
        cdef Extent extent
        cdef Outline outline = self.outline
        cdef Row row
        if self.link_begins >= 0:  # the link continues in the next block
            self.end_link()
            self.link_begins = 0
        reserve(&outline.texts, self.parts.size + 1)
        row.begin = outline.texts.size
        extent = collapse(self.parts.start, self.parts.start + self.parts.size, outline.texts.start + row.begin)
        row.size, row.letters, row.linked = extent.size, extent.letters, min(self.linked, extent.letters)
        row.group, row.level, row.place = self.around[number].group, self.around[number].level, self.around[number].place
        row.hides = (self.hidden.size or self.state != SHOWN) and self.read_shown(&row)
        self.parts.size = 0
        if self.linked and not self.leads_away:
            row.place = 0
        self.linked = 0
        if self.link_begins < 0:
            self.leads_away = False
        return outline.add(&row) if extent.size else 0

    cdef bint read_shown(self, Row* row) except -1:
        """Set the text of the block that is not hidden; return whether it differs from the text of the block."""
        cdef Extent extent
        cdef Bytes* shown = &self.shown_parts
        cdef Bytes* shown_texts = &self.outline.shown_texts
        cdef const unsigned char* text = self.outline.texts.start + row.begin
        cdef Py_ssize_t begin = 0
        cdef int at
        if self.state != SHOWN:
            self.end_hidden()
            self.hidden_begins = 0  # it continues in the next block
        shown.size = 0
        for at in range(0, self.hidden.size, 2):
            append(shown, self.parts.start + begin, self.hidden.start[at] - begin)
            begin = self.hidden.start[at + 1]
        append(shown, self.parts.start + begin, self.parts.size - begin)
        self.hidden.size = 0
        reserve(shown_texts, shown.size + 1)
        extent = collapse(shown.start, shown.start + shown.size, shown_texts.start + shown_texts.size)
        if <size_t> extent.size == row.size and memcmp(shown_texts.start + shown_texts.size, text, row.size) == 0:
            return False
        row.shown_begin, row.shown_size = shown_texts.size, extent.size
        shown_texts.size += extent.size
        return True


cdef int append_word(Bytes* words, tree.xmlNode* node) except -1:
    """Append a space and the texts that begin with *node*, if there are any."""
    cdef size_t before = words.size
    if before:
        append(words, b" ", 1)
    append_texts(words, node)
    if before and words.size == before + 1:
        words.size = before
    return 0


cdef bint begins_with_hash(tree.xmlNode* element, tree.xmlAttr* attribute) except -1:
    cdef const char* value = plain_value(attribute)
    return value[0] == c"#" if value != NULL else etree.attributeValue(element, attribute)[:1] == "#"
