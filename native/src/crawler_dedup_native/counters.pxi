# Counters of the pages of a site, as in crawler_dedup.rules.counters and crawler_dedup.rules.countpacking.

cdef enum:
    BLOCK_BYTES = 6
    ITEM_SHIFT = 24
    COUNT_SHIFT = 16
    KIND_SHIFT = 56
    SHORT_BITS = 16
    TITLE_SHIFT = 4
    ANY_TITLE = 15
    LINK_KIND = 1
    PART_KIND = 2
    COUNTED_KINDS = 3
    LOW_BITS = 8


cdef class PageCounter:
    """Counts the blocks, links and title parts of a page."""

    cdef object empty, counter_type, once_type

    def __cinit__(self, empty, counter_type, once_type):
        self.empty, self.counter_type, self.once_type = empty, counter_type, once_type

    def __call__(self, counters, once, bytes blocks, bytes links, parts, title):
        cdef uint64_t[::1] counted = counters
        cdef const uint32_t[::1] short_ones = once
        cdef uint64_t[::1] merged
        cdef uint32_t[::1] merged_once
        cdef size_t size = counted.shape[0], once_size = short_ones.shape[0], count, at, place = 0, low = 0
        cdef size_t counted_count = 0, risen = 0, fresh = 0
        cdef uint64_t item, bit = <uint64_t> 1 << <unsigned int> title
        cdef uint32_t short_
        cdef Bytes memory
        cdef uint64_t* items
        cdef uint64_t* room
        cdef uint64_t* rising  # counters that are new
        cdef uint64_t* shorts  # items that no other page has
        cdef uint32_t* places  # of counters that rise by one
        cdef unsigned char* has_risen  # whether an item of one page is also on this page
        if len(blocks) % BLOCK_BYTES or len(links) % 4:
            raise ValueError("blocks or links are cut off")
        memset(&memory, 0, sizeof(Bytes))
        try:
            count = len(blocks) // BLOCK_BYTES + len(links) // 4 + len(parts)
            reserve(&memory, count * (4 * sizeof(uint64_t) + sizeof(uint32_t)) + once_size + 1)
            items = <uint64_t*> memory.start
            room, rising, shorts = items + count, items + 2 * count, items + 3 * count
            places = <uint32_t*> (items + 4 * count)
            has_risen = <unsigned char*> (places + count)
            memset(has_risen, 0, once_size)
            read_items(items, blocks, links, parts)
            count = sort_items(items, room, count)
            for at in range(count):
                item = items[at]
                low = find_item(&counted[0] if size else NULL, low, size, item)
                if low < size and (counted[low] ^ item) >> ITEM_SHIFT == 0:
                    places[counted_count] = <uint32_t> low
                    counted_count += 1
                    continue
                short_ = <uint32_t> (item >> KIND_SHIFT << SHORT_BITS | (item >> ITEM_SHIFT & 0xFFFF)) << TITLE_SHIFT
                place = find_short(&short_ones[0] if once_size else NULL, once_size, short_)
                if place < once_size and (short_ones[place] ^ short_) <= ANY_TITLE:
                    has_risen[place] = 1
                    rising[risen] = item | 2 << COUNT_SHIFT | bit | <uint64_t> 1 << (short_ones[place] & ANY_TITLE)
                    risen += 1
                else:
                    shorts[fresh] = short_ | <uint32_t> title
                    fresh += 1
            fresh = sort_items(shorts, room, fresh)
            place = once_size + fresh
            for at in range(once_size):
                place -= has_risen[at]
            # From here on nothing can fail.
            new_once = self.empty(place, self.once_type)
            merged_once = new_once
            new_counters = self.empty(size + risen, self.counter_type) if risen else counters
            merged = new_counters
            for at in range(counted_count):
                counted[places[at]] = counted[places[at]] + (1 << COUNT_SHIFT) | bit
            if risen:
                merge_counters(&merged[0], &counted[0] if size else NULL, size, rising, risen)
            if place:
                merge_once(&merged_once[0], &short_ones[0] if once_size else NULL, once_size, has_risen, shorts, fresh)
            return new_counters, new_once
        finally:
            free(memory.start)


def count_page(empty, counter_type, once_type):
    """Return a function that counts pages like ``crawler_dedup.rules.counters.count_page``."""
    return PageCounter(empty, counter_type, once_type)


cdef int read_items(uint64_t* items, bytes blocks, bytes links, parts) except -1:
    cdef const unsigned char* content = blocks
    cdef uint32_t hash_
    cdef Py_ssize_t at
    cdef size_t end = 0
    for at in range(len(blocks) // BLOCK_BYTES):
        memcpy(&hash_, content + BLOCK_BYTES * at, 4)
        items[end] = <uint64_t> hash_ << ITEM_SHIFT
        end += 1
    content = links
    for at in range(len(links) // 4):
        memcpy(&hash_, content + 4 * at, 4)
        items[end] = <uint64_t> LINK_KIND << KIND_SHIFT | <uint64_t> hash_ << ITEM_SHIFT
        end += 1
    for part in parts:
        items[end] = <uint64_t> PART_KIND << KIND_SHIFT | <uint64_t> <uint32_t> part << ITEM_SHIFT
        end += 1
    return 0


cdef size_t sort_items(uint64_t* items, uint64_t* room, size_t count) noexcept nogil:
    """Sort *items* by merging, and remove repeated items; return how many are left."""
    cdef size_t width = 1, start, left, right, middle, end, at
    cdef uint64_t* first = items
    cdef uint64_t* second = room
    while width < count:
        start = 0
        while start < count:
            middle, end = min(start + width, count), min(start + 2 * width, count)
            left, right = start, middle
            for at in range(start, end):
                if left < middle and (right >= end or first[left] <= first[right]):
                    second[at] = first[left]
                    left += 1
                else:
                    second[at] = first[right]
                    right += 1
            start = end
        first, second = second, first
        width *= 2
    end = 0
    for at in range(count):
        if not at or first[at] != first[at - 1]:
            second[end] = first[at]
            end += 1
    if second != items:
        memcpy(items, second, end * sizeof(uint64_t))
    return end


cdef inline size_t find_item(const uint64_t* numbers, size_t low, size_t high, uint64_t wanted) noexcept nogil:
    """Return where *wanted* belongs in *numbers*, which are ascending, between *low* and *high*."""
    cdef size_t middle
    while low < high:
        middle = (low + high) >> 1
        if numbers[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


cdef inline size_t find_short(const uint32_t* numbers, size_t high, uint32_t wanted) noexcept nogil:
    """Do the same as :c:func:`find_item` with shorter numbers."""
    cdef size_t low = 0, middle
    while low < high:
        middle = (low + high) >> 1
        if numbers[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


cdef void merge_counters(
    uint64_t* merged, const uint64_t* counters, size_t size, const uint64_t* rising, size_t risen
) noexcept nogil:
    cdef size_t at, left = 0, right = 0
    for at in range(size + risen):
        if right >= risen or (left < size and counters[left] < rising[right]):
            merged[at] = counters[left]
            left += 1
        else:
            merged[at] = rising[right]
            right += 1


cdef void merge_once(
    uint32_t* merged,
    const uint32_t* once,
    size_t size,
    const unsigned char* has_risen,
    const uint64_t* shorts,
    size_t fresh,
) noexcept nogil:
    """Merge the items that are on one page only, without those that are now on two pages."""
    cdef size_t at, end = 0, right = 0
    for at in range(size):
        if has_risen[at]:
            continue
        while right < fresh and shorts[right] < once[at]:
            merged[end] = <uint32_t> shorts[right]
            end, right = end + 1, right + 1
        merged[end] = once[at]
        end += 1
    for at in range(right, fresh):
        merged[end] = <uint32_t> shorts[at]
        end += 1


def split_counters():
    """Return a function that splits counters like ``crawler_dedup.rules.countpacking.split_counters``."""
    return split_into_bytes


def split_into_bytes(counters):
    cdef const uint64_t[::1] numbers = counters
    cdef size_t size = numbers.shape[0], at
    cdef bytes plain = PyBytes_FromStringAndSize(NULL, 3 * size)
    cdef bytes others = PyBytes_FromStringAndSize(NULL, 4 * size)
    cdef unsigned char* first = <unsigned char*> <char*> plain
    cdef unsigned char* second = <unsigned char*> <char*> others
    cdef uint32_t item, step, before = 0
    for at in range(size):
        item = <uint32_t> (numbers[at] >> ITEM_SHIFT)
        step = item - before
        before = item
        first[at] = step & 0xFF
        first[size + at] = step >> 8 & 0xFF
        first[2 * size + at] = step >> 16 & 0xFF
        second[at] = step >> 24
        second[size + at] = numbers[at] & 0xFF
        second[2 * size + at] = numbers[at] >> 8 & 0xFF
        second[3 * size + at] = numbers[at] >> 16 & 0xFF
    return plain, others


def pack_short():
    """Return a function that packs numbers like ``crawler_dedup.rules.countpacking.pack_short``."""
    return pack_short_numbers


def pack_short_numbers(numbers):
    cdef const uint32_t[::1] content = numbers
    cdef size_t count = content.shape[0], plane_bytes = (count + 7) // 8, end, at, place
    cdef unsigned int planes = 0, plane, shift
    cdef uint32_t number
    cdef size_t steps = COUNTED_KINDS << SHORT_BITS - LOW_BITS
    cdef bytes packed
    cdef unsigned char* start
    cdef unsigned char* bits
    if not count:
        return b""
    while 2 * count < steps and planes < SHORT_BITS - LOW_BITS:
        planes, steps = planes + 1, steps // 2
    end = count + planes * plane_bytes + (count + steps + 7) // 8
    packed = PyBytes_FromStringAndSize(NULL, end)
    start = <unsigned char*> <char*> packed
    memset(start + count, 0, end - count)
    bits = start + count + planes * plane_bytes
    shift = LOW_BITS + planes
    for at in range(count):
        number = content[at]
        place = (number >> shift) + at
        if place >= count + steps:
            raise ValueError("a number is too large")
        start[at] = number & 0xFF
        for plane in range(planes):
            start[count + plane * plane_bytes + (at >> 3)] |= (number >> (LOW_BITS + plane) & 1) << (7 - (at & 7))
        bits[place >> 3] |= 1 << (7 - (place & 7))
    return packed
