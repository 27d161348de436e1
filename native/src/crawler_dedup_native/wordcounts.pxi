# Distinct words with their hashes, and how often each occurs.

cdef struct Word:
    uint64_t hash
    size_t begin      # in the content
    uint32_t size
    uint32_t count


cdef struct Words:
    Bytes content     # of all words, in UTF-8
    Word* start
    uint32_t size
    uint32_t room
    uint32_t* slots   # 0, or the number of a word plus 1
    size_t slot_count


cdef void free_words(Words* words) noexcept:
    free(words.content.start)
    free(words.start)
    free(words.slots)


cdef inline size_t slot_of(const Words* words, uint64_t hash_) noexcept nogil:
    return scatter(hash_) & (words.slot_count - 1)


cdef int grow_words(Words* words) except -1:
    cdef uint32_t room = (4 if words.room < 1024 else 2) * words.room if words.room else 64
    cdef size_t slot_count = 4 * <size_t> room
    cdef uint32_t* slots
    cdef void* moved = realloc(words.start, room * sizeof(Word))
    cdef uint32_t number
    cdef size_t slot
    if moved == NULL:
        raise MemoryError
    words.start = <Word*> moved
    slots = <uint32_t*> calloc(slot_count, sizeof(uint32_t))
    if slots == NULL:
        raise MemoryError
    free(words.slots)
    words.slots, words.slot_count, words.room = slots, slot_count, room
    for number in range(words.size):
        slot = slot_of(words, words.start[number].hash)
        while slots[slot]:
            slot = (slot + 1) & (slot_count - 1)
        slots[slot] = number + 1
    return 0


cdef size_t find_slot(const Words* words, uint64_t hash_, const unsigned char* content, size_t size) noexcept nogil:
    """Find the slot of a word; an empty one if it is unknown."""
    cdef size_t slot = slot_of(words, hash_)
    cdef const Word* word
    while words.slots[slot]:
        word = &words.start[words.slots[slot] - 1]
        if word.hash == hash_ and word.size == size:
            if not size or memcmp(words.content.start + word.begin, content, size) == 0:
                break
        slot = (slot + 1) & (words.slot_count - 1)
    return slot


cdef bint is_known(const Words* words, const Words* others, const Word* word) noexcept nogil:
    """Return whether a word of *others* is one of *words*."""
    return words.size and words.slots[find_slot(words, word.hash, others.content.start + word.begin, word.size)]


cdef int count_last(Words* words, size_t begin) except -1:
    """Count the word at the end of the content, from *begin* on. If it is known, it is removed from the content."""
    cdef size_t size = words.content.size - begin
    cdef uint64_t hash_ = XXH3_64bits(words.content.start + begin, size)
    cdef Word* word
    cdef size_t slot
    if words.size == words.room:
        grow_words(words)
    slot = find_slot(words, hash_, words.content.start + begin, size)
    if words.slots[slot]:
        words.content.size = begin
        words.start[words.slots[slot] - 1].count += 1
        return 0
    word = &words.start[words.size]
    words.size += 1
    words.slots[slot] = words.size
    word.hash, word.begin, word.size, word.count = hash_, begin, <uint32_t> size, 1
    return 0


cdef int count_bytes(Words* words, const unsigned char* begin, const unsigned char* end) except -1:
    cdef size_t before = words.content.size
    append(&words.content, begin, end - begin)
    return count_last(words, before)


cdef void clear_words(Words* words) noexcept:
    """Forget all words."""
    cdef uint32_t number
    cdef size_t slot
    for number in range(words.size):
        slot = slot_of(words, words.start[number].hash)
        while words.slots[slot] != number + 1:
            slot = (slot + 1) & (words.slot_count - 1)
        words.slots[slot] = 0
    words.size, words.content.size = 0, 0


cdef int append_characters(Bytes* content, const Text* text, Py_ssize_t begin, Py_ssize_t end) except -1:
    """Append characters of *text* in UTF-8."""
    cdef unsigned char* at
    cdef Py_ssize_t place
    reserve(content, 4 * <size_t> (end - begin))
    at = content.start + content.size
    for place in range(begin, end):
        at = write_code(at, read_at(text, place))
    content.size = at - content.start
    return 0


cdef int count_word(Words* words, const Text* text, Py_ssize_t begin, Py_ssize_t end) except -1:
    cdef size_t before = words.content.size
    append_characters(&words.content, text, begin, end)
    return count_last(words, before)


cdef bint count_in_text(Words* words, const Text* text) except -1:
    """Count words, and pairs of characters of scripts without spaces except Chinese; return whether there is Chinese."""
    cdef Py_ssize_t at = 0, begin
    cdef int traits
    cdef bint has_chinese = False
    while at < text.size:
        traits = traits_of(read_at(text, at))
        begin = at
        at += 1
        if traits & LETTER:
            while at < text.size and traits_of(read_at(text, at)) & (LETTER | MARK):
                at += 1
            count_word(words, text, begin, at)
        elif traits & UNSPACED:
            while at < text.size and traits_of(read_at(text, at)) & UNSPACED:
                at += 1
                count_word(words, text, at - 2, at)
            if at == begin + 1:
                count_word(words, text, begin, at)
        elif traits & HAN:
            has_chinese = True
    return has_chinese


cdef int count_in_list(Words* words, tokens) except -1:
    cdef Text text
    for token in tokens:
        text = read(token)
        count_word(words, &text, 0, text.size)
    return 0
