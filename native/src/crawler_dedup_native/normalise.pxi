# Text → normalised text: the same as crawler_dedup.signing.features.normalise, which explains it.

cdef enum:
    COMPOSES = 0xFFFFFFFF       # what it becomes may depend on its neighbours
    PUNCTUATION = 0xFFFFFFFE    # becomes one space together with punctuation that follows
    SEVERAL = 0x80000000        # becomes several characters; the other bits are their place in EXPANSIONS

cdef enum:
    MOST_SURPLUS = 100

cdef uint32_t* FOLDED[2][PAGES]
cdef uint32_t EXPANSIONS[1 << 16]  # a length, followed by as many characters
cdef uint32_t expansions_end = 0


cdef const uint32_t* load_folded(uint32_t page, bint fold_han, describe) except NULL:
    """Load what each character of a page becomes. *describe* says ``None`` if it composes, "" for punctuation."""
    cdef uint32_t* folded
    cdef uint32_t place = 0
    described = describe(page, fold_han=bool(fold_han))
    if len(described) != 256:
        raise ValueError("A page has 256 characters.")
    if FOLDED[fold_han][page] != NULL:  # another thread has loaded it
        return FOLDED[fold_han][page]
    folded = <uint32_t*> calloc(256, sizeof(uint32_t))
    if folded == NULL:
        raise MemoryError
    for becomes in described:
        folded[place] = COMPOSES if becomes is None else code_of(becomes)
        place += 1
    FOLDED[fold_han][page] = folded
    return folded


cdef uint32_t code_of(str becomes) except? 0:
    """Return the character of *becomes*, or the place of several in :data:`EXPANSIONS`; an empty text is punctuation."""
    global expansions_end
    cdef Py_UCS4 character
    cdef uint32_t begin = expansions_end
    if len(becomes) == 1:
        return ord(becomes)
    if not becomes:
        return PUNCTUATION
    if begin + 1 + len(becomes) > 1 << 16:
        return COMPOSES
    EXPANSIONS[expansions_end] = len(becomes)
    expansions_end += 1
    for character in becomes:
        EXPANSIONS[expansions_end] = character
        expansions_end += 1
    return SEVERAL | begin


cdef class Normalise:
    """Normalises texts, as ``crawler_dedup.signing.features.normalise`` does.

    Args:
        describe: returns what each of 256 characters becomes.
        compose: normalises lines whose characters compose; also returns by how many characters they have become longer.
        longest_line: characters of the longest line that *compose* takes.
    """

    cdef object describe, compose
    cdef Py_ssize_t longest_line

    def __init__(self, *, describe, compose, longest_line):
        self.describe, self.compose, self.longest_line = describe, compose, longest_line

    def __call__(self, str text, *, bint fold_han=True):
        cdef Text content = read(text)
        cdef Bytes made
        cdef Numbers composing
        if text.isascii():
            return text.lower()
        memset(&made, 0, sizeof(Bytes))
        memset(&composing, 0, sizeof(Numbers))
        try:
            surplus = self.fold(&content, fold_han, &made, &composing)
            folded = PyUnicode_FromKindAndData(4, made.start, made.size // 4)
            return self.with_composed(text, folded, &composing, surplus, fold_han) if composing.size else folded
        finally:
            free(made.start)
            free(composing.start)

    cdef Py_ssize_t fold(self, const Text* text, bint fold_han, Bytes* made, Numbers* composing) except -1:
        """Fold each character. Lines in which characters compose are empty in *made*, and their bounds are in *composing*.

        Returns:
            by how many characters the other lines have become longer.
        """
        cdef Py_ssize_t at = 0, line = 0, surplus = 0, surplus_before = 0
        cdef size_t line_made = 0
        cdef uint32_t code, becomes, count
        cdef uint32_t* out
        cdef const uint32_t* folded
        cdef bint after_punctuation = False
        reserve(made, 4 * <size_t> text.size + 4)
        while at < text.size:
            code = read_at(text, at)
            at += 1
            folded = FOLDED[fold_han][code >> 8]
            if folded == NULL:
                folded = load_folded(code >> 8, fold_han, self.describe)
            becomes = folded[code & 0xFF]
            if becomes == PUNCTUATION:
                if after_punctuation:
                    continue
                becomes, after_punctuation = c" ", True
            else:
                after_punctuation = False
            if becomes < SEVERAL:
                (<uint32_t*> (made.start + made.size))[0] = becomes
                made.size += 4
                if code == c"\n":
                    line, line_made, surplus_before = at, made.size, surplus
            elif becomes == COMPOSES:
                while at < text.size and read_at(text, at) != c"\n":
                    at += 1
                if at - line >= self.longest_line:
                    raise Unsupported("a line that is cut where characters may compose")
                append_number(composing, line)
                append_number(composing, at)
                made.size, surplus = line_made, surplus_before
            else:
                count = EXPANSIONS[becomes ^ SEVERAL]
                append(made, &EXPANSIONS[(becomes ^ SEVERAL) + 1], 4 * count)
                reserve(made, 4 * <size_t> (text.size - at) + 4)
                surplus += <Py_ssize_t> count - 1
                if surplus > MOST_SURPLUS:
                    raise Unsupported("a text that becomes much longer")
        return surplus

    cdef str with_composed(self, str text, str folded, Numbers* composing, Py_ssize_t surplus, bint fold_han):
        """Insert the lines whose characters compose into *folded*, in which they are empty."""
        cdef Py_ssize_t place
        cdef list lines = [
            text[composing.start[place] : composing.start[place + 1]] for place in range(0, composing.size, 2)
        ]
        composed, longer = self.compose("\n".join(lines), fold_han=bool(fold_han))
        if surplus + longer > MOST_SURPLUS:
            raise Unsupported("a text that becomes much longer")
        made = folded.split("\n")
        numbers = line_numbers(text, composing)
        for number, line in zip(numbers, composed.split("\n"), strict=True):
            made[number] = line
        return "\n".join(made)


cdef list line_numbers(str text, Numbers* bounds):
    """Return the numbers of the lines that begin at every second item of *bounds*, which are ascending."""
    cdef Py_ssize_t place, before = 0, number = 0
    cdef list numbers = []
    for place in range(0, bounds.size, 2):
        number += text.count("\n", before, bounds.start[place])
        before = bounds.start[place]
        numbers.append(number)
    return numbers


normalise = Normalise
