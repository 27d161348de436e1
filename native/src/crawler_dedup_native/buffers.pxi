# Memory that grows.

cdef struct Bytes:
    unsigned char* start
    size_t size
    size_t room


cdef int reserve(Bytes* buffer, size_t more) except -1:
    """Make room for *more* additional bytes."""
    cdef size_t room
    cdef void* moved
    if buffer.size + more > buffer.room:
        room = 2 * (buffer.size + more) + 64
        moved = realloc(buffer.start, room)
        if moved == NULL:
            raise MemoryError
        buffer.start, buffer.room = <unsigned char*> moved, room
    return 0


cdef int append(Bytes* buffer, const void* content, size_t size) except -1:
    reserve(buffer, size)
    if size:
        memcpy(buffer.start + buffer.size, content, size)
    buffer.size += size
    return 0


cdef struct Numbers:
    Py_ssize_t* start
    int size
    int room


cdef int append_number(Numbers* numbers, Py_ssize_t number) except -1:
    cdef int room
    cdef void* moved
    if numbers.size == numbers.room:
        room = 2 * numbers.room + 64
        moved = realloc(numbers.start, room * sizeof(Py_ssize_t))
        if moved == NULL:
            raise MemoryError
        numbers.start, numbers.room = <Py_ssize_t*> moved, room
    numbers.start[numbers.size] = number
    numbers.size += 1
    return 0


cdef struct Entry:
    uint64_t key  # 0: the entry is empty
    int number


cdef struct Map:
    Entry* entries
    size_t size
    size_t room


cdef inline uint64_t scatter(uint64_t key) noexcept nogil:
    """Mix the bits of *key*, in a way that differs from process to process: no page can choose keys that collide."""
    key = (key ^ SEED) * 0x9E3779B97F4A7C15ULL
    key = (key ^ key >> 32) * 0xD6E8FEB86659FD93ULL
    return key ^ key >> 32


cdef int grow(Map* known) except -1:
    cdef Map larger
    cdef size_t at
    larger.size, larger.room = 0, 4 * known.room if known.room else 64
    larger.entries = <Entry*> calloc(larger.room, sizeof(Entry))
    if larger.entries == NULL:
        raise MemoryError
    for at in range(known.room):
        if known.entries[at].key:
            find(&larger, known.entries[at].key)[0].number = known.entries[at].number
    free(known.entries)
    known[0] = larger
    return 0


cdef bint has(const Map* known, uint64_t key) noexcept nogil:
    cdef size_t at
    if not known.room:
        return False
    at = scatter(key) & (known.room - 1)
    while known.entries[at].key and known.entries[at].key != key:
        at = (at + 1) & (known.room - 1)
    return known.entries[at].key != 0


cdef Entry* find(Map* known, uint64_t key) except NULL:
    """Find or add the entry of *key*, which is not 0. A new entry has the number 0."""
    cdef size_t at
    if 2 * (known.size + 1) > known.room:
        grow(known)
    at = scatter(key) & (known.room - 1)
    while known.entries[at].key != key:
        if not known.entries[at].key:
            known.entries[at].key = key
            known.entries[at].number = 0
            known.size += 1
            break
        at = (at + 1) & (known.room - 1)
    return &known.entries[at]
