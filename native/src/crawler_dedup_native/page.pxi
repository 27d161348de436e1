# The blocks of a page, and which of them are its main text, as crawler_dedup.signing.outline and .maintext have them.

cdef struct Row:
    # A block. Its texts are given by where they begin, in bytes, and how long they are.
    size_t begin
    size_t size
    size_t shown_begin   # among the shown texts, if it hides anything
    size_t shown_size
    Py_ssize_t letters   # that it says
    Py_ssize_t linked    # of these
    int group
    int level
    int place
    bint hides


cdef enum:
    MOST_ROWS = 1 << 30
    MOST_LETTERS = 1 << 30   # of a block that Python has made, where numbers have no bound


cdef class Outline:
    """The blocks of a page, and how their elements are nested. Python's blocks are made when they are asked for.

    Attributes:
        texts: the text of each block in UTF-8, with a line feed behind it.
        shown_texts: what is shown of blocks that hide a part.
        linked: how much of what the blocks say stands inside links.
        hides: whether any block hides something.
    """

    cdef type block
    cdef Bytes texts, shown_texts, rows
    cdef int count            # of blocks
    cdef Numbers numbers      # of the element around each element
    cdef readonly Py_ssize_t linked
    cdef readonly bint hides
    cdef list made

    def __dealloc__(self):
        free(self.texts.start)
        free(self.shown_texts.start)
        free(self.rows.start)
        free(self.numbers.start)

    @property
    def blocks(self):
        cdef int at
        if self.made is None:
            self.made = [self.make_block(&self.row_of()[at]) for at in range(self.count)]
        return self.made

    @property
    def parents(self):
        cdef int at
        return [self.numbers.start[at] for at in range(self.numbers.size)]

    cdef Row* row_of(self) noexcept:
        """Return the first row."""
        return <Row*> self.rows.start

    cdef object make_block(self, const Row* row):
        text = decode(self.texts.start + row.begin, row.size)
        shown = decode(self.shown_texts.start + row.shown_begin, row.shown_size) if row.hides else text
        return PyTuple_Type.tp_new(
            self.block, ((text, row.letters, row.linked, row.group, shown, row.level, row.place),), NULL
        )

    cdef int add(self, Row* row) except -1:
        """Add a block whose text was written behind the other texts, with room for a line feed after it."""
        if self.count == MOST_ROWS:
            raise Unsupported("a page of so many blocks")
        append(&self.rows, row, sizeof(Row))
        self.texts.size = row.begin + row.size
        append(&self.texts, b"\n", 1)
        self.count += 1
        self.linked += row.linked
        self.hides = self.hides or row.hides
        return 0


cdef inline str decode(const unsigned char* content, size_t size):
    return PyUnicode_DecodeUTF8(<const char*> content, size, b"surrogatepass")


cdef Outline outline_of(page):
    """Convert an outline that was made in Python to an object of the core."""
    cdef Outline outline
    cdef Py_ssize_t parent, number = 0
    if type(page) is Outline:
        return page
    outline = Outline()
    outline.made = page.blocks
    for parent in page.parents:
        if parent < 0 or parent > number or (parent == number and number):
            raise Unsupported("elements in another order")
        append_number(&outline.numbers, parent)
        number += 1
    for block in outline.made:
        outline.block = type(block)
        add_block(outline, block)
    return outline


cdef int add_block(Outline outline, block) except -1:
    cdef Row row
    cdef bytes content, shown
    cdef str text, shown_text
    memset(&row, 0, sizeof(Row))
    text, row.letters, row.linked, row.group, shown_text, row.level, row.place = block
    if not 0 <= row.linked <= MOST_LETTERS or not 0 <= row.letters <= MOST_LETTERS:
        raise Unsupported("a text of so many letters")
    if not 0 <= row.group < outline.numbers.size:
        raise Unsupported("a block in no element")
    content, shown = text.encode("utf-8", "surrogatepass"), shown_text.encode("utf-8", "surrogatepass")
    row.begin, row.size = outline.texts.size, len(content)
    append(&outline.texts, <const char*> content, row.size)
    if text != shown_text:
        row.hides = True
        row.shown_begin, row.shown_size = outline.shown_texts.size, len(shown)
        append(&outline.shown_texts, <const char*> shown, row.shown_size)
    return outline.add(&row)
