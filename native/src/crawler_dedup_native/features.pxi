# Words → weighted features → signature: the same as crawler_dedup.signing.features and .schemes.simhash.

cdef struct Feature:
    uint64_t hash
    double weight
    double count
    unsigned char telling


cdef enum:
    DIGIT_BITS = 11
    DIGITS = 1 << DIGIT_BITS
    FEW = 32


cdef void sort_features(Feature* features, Feature* other, size_t size, int shift=64 - DIGIT_BITS) noexcept nogil:
    """Sort by hash, in linear time. The result is in *features*.

    Args:
        other: room for *size* features.
        shift: bits below the first digit in which the features may differ; negative: there is no such digit.
    """
    cdef size_t ends[DIGITS]
    cdef size_t digit, begin = 0
    if size <= FEW or shift < 0:
        insert_sorted(features, size)
        return
    scatter_by_digit(features, other, size, shift, ends)
    shift = shift - DIGIT_BITS if shift >= DIGIT_BITS else 0 if shift else -1
    for digit in range(DIGITS):  # the first digit nearly sorts the features of a page
        sort_features(other + begin, features + begin, ends[digit] - begin, shift)
        begin = ends[digit]
    memcpy(features, other, size * sizeof(Feature))


cdef void insert_sorted(Feature* features, size_t size) noexcept nogil:
    """Sort features by insertion: quick for a few features, or many that are equal."""
    cdef size_t at, place
    cdef Feature moved
    for place in range(1, size):
        moved = features[place]
        at = place
        while at > 0 and features[at - 1].hash > moved.hash:
            features[at] = features[at - 1]
            at -= 1
        features[at] = moved


cdef void scatter_by_digit(const Feature* features, Feature* other, size_t size, int shift, size_t* ends) noexcept nogil:
    """Copy features in the order of one digit of the hash; *ends* gets where the features with each digit end."""
    cdef size_t at, digit, sum = 0, count
    memset(ends, 0, DIGITS * sizeof(size_t))
    for at in range(size):
        ends[features[at].hash >> shift & (DIGITS - 1)] += 1
    for digit in range(DIGITS):
        count = ends[digit]
        ends[digit] = sum
        sum += count
    for at in range(size):
        digit = features[at].hash >> shift & (DIGITS - 1)
        other[ends[digit]] = features[at]
        ends[digit] += 1


cdef class _Weigher:
    """Weighs words.

    Args:
        stop_words: returns the stop words.
        features: makes features from the bytes of hashes, weights, marks of telling features, and counts.
    """

    cdef object stop_words, features
    cdef Words stopped
    cdef double unit, stop_word_unit

    def __init__(self, *, stop_words, features, unit, stop_word_unit):
        self.features = features
        self.unit, self.stop_word_unit = unit, stop_word_unit
        count_in_list(&self.stopped, stop_words)

    def __dealloc__(self):
        free_words(&self.stopped)

    cdef object weigh(self, const Words* words):
        cdef size_t size = words.size
        cdef size_t at
        cdef Feature* rows = <Feature*> malloc(2 * size * sizeof(Feature) + 1)
        cdef Feature* row
        if rows == NULL:
            raise MemoryError
        try:
            for at in range(size):
                row = &rows[at]
                row.hash = words.start[at].hash
                row.count = words.start[at].count
                row.telling = not is_known(&self.stopped, words, &words.start[at])
                row.weight = rint(
                    sqrt(row.count * sqrt(row.count)) * (self.unit if row.telling else self.stop_word_unit)
                )
            sort_features(rows, rows + size, size)
            return self.as_arrays(rows, size)
        finally:
            free(rows)

    cdef object as_arrays(self, const Feature* rows, size_t size):
        cdef bytearray hashes = bytearray(8 * size), weights = bytearray(8 * size)
        cdef bytearray telling = bytearray(size), counts = bytearray(8 * size)
        cdef uint64_t* hash_ = <uint64_t*> <char*> hashes
        cdef double* weight = <double*> <char*> weights
        cdef char* is_telling = telling
        cdef double* count = <double*> <char*> counts
        cdef size_t at
        for at in range(size):
            hash_[at], weight[at], count[at] = rows[at].hash, rows[at].weight, rows[at].count
            is_telling[at] = rows[at].telling
        return self.features(hashes, weights, telling, counts)


cdef class WeighTokens(_Weigher):
    """Weighs tokens."""

    def __call__(self, tokens):
        cdef Words words
        memset(&words, 0, sizeof(Words))
        try:
            count_in_list(&words, tokens)
            return self.weigh(&words)
        finally:
            free_words(&words)


cdef class WeighText(_Weigher):
    """Weighs the tokens of a normalised text.

    Args:
        find_dictionary: returns the dictionary of the core that a function for cutting Chinese uses, or ``None``.
    """

    cdef object find_dictionary

    def __init__(self, *, find_dictionary, **terms):
        super().__init__(**terms)
        self.find_dictionary = find_dictionary

    def __call__(self, str plain, han_tokens, cut_han):
        cdef Text text = read(plain)
        cdef Words words
        memset(&words, 0, sizeof(Words))
        try:
            if count_in_text(&words, &text):
                dictionary = self.find_dictionary(cut_han)
                if dictionary is None:
                    count_in_list(&words, han_tokens())
                else:
                    (<HanDictionary?> dictionary).count_words(&words, &text)
            return self.weigh(&words)
        finally:
            free_words(&words)


weigh_tokens = WeighTokens
weigh_text = WeighText


def simhash():
    """Return a function that computes signatures like ``crawler_dedup.signing.schemes.simhash.simhash``."""
    return compute_simhash


def compute_simhash(features):
    cdef const uint64_t[::1] hashes = features.hashes
    cdef const double[::1] weights = features.weights
    cdef double sums[8][256]  # of the weights, by the value of each byte of the hash
    cdef double total = 0, for_bit
    cdef uint64_t hash_, signature = 0
    cdef Py_ssize_t at
    cdef int byte, bit, value
    memset(sums, 0, sizeof(sums))
    if weights.shape[0] != hashes.shape[0]:
        raise ValueError("There is a weight for each hash.")
    for at in range(hashes.shape[0]):
        hash_ = hashes[at]
        total += weights[at]
        for byte in range(8):
            sums[byte][hash_ >> 8 * byte & 0xFF] += weights[at]
    for byte in range(8):
        for bit in range(7, -1, -1):
            for_bit = 0
            for value in range(1 << bit):
                for_bit += sums[byte][value + (1 << bit)]
                sums[byte][value] += sums[byte][value + (1 << bit)]
            if 2 * for_bit > total:
                signature |= <uint64_t> 1 << (8 * byte + bit)
    return signature
