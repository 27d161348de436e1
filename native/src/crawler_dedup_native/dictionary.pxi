# Chinese text → words of a dictionary, as jieba cuts it without guesses: the most probable sequence of words of the
# dictionary. A word is as probable as it is frequent; a character that begins no word counts as a word that occurs once.

cdef enum:
    FIRST_CUT = 0x4E00   # a character outside is a separate word, and ends the run that is cut
    LAST_CUT = 0x9FD5
    LONGEST_RUN = 5000
    LONGEST_PATH = 16
    AHEAD = 8            # characters for which a step is fetched from memory before it is needed

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define fetch_ahead(address) __builtin_prefetch(address)
    #else
    #define fetch_ahead(address) ((void) (address))
    #endif
    """
    void fetch_ahead(const void* address) nogil


cdef struct Step:
    # From the beginning of a word to the beginning that has one character more.
    uint64_t key       # number of the beginning, and the character; 0: the step is empty
    uint32_t beginning
    uint32_t weight    # number of the weight of the word; 0: the characters are not a word


cdef struct Passed:
    # A character of a word, and the number of the beginning that ends with it.
    uint32_t code
    uint32_t beginning


cdef class HanDictionary:
    """A dictionary that cuts Chinese.

    Args:
        pieces: yields lines in UTF-8, one for each word: the word, how often it occurs, and anything else, separated by
            spaces. Between two pieces other threads may run.
        log: the natural logarithm.
    """

    cdef Step* firsts         # the step from nothing to each character that is cut; its key is not used
    cdef Step* steps          # all other steps
    cdef size_t room, size    # room for steps, a power of two; number of steps
    cdef uint32_t beginnings
    cdef Passed path[LONGEST_PATH]  # of the last word that was added: the next word often begins like it
    cdef int path_size
    cdef double* weights      # logarithms of probabilities; the first is for a character that begins no word

    def __cinit__(self):
        self.room = 1 << 16
        self.steps = <Step*> calloc(self.room, sizeof(Step))
        self.firsts = <Step*> calloc(LAST_CUT - FIRST_CUT + 1, sizeof(Step))
        if self.steps == NULL or self.firsts == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.firsts)
        free(self.steps)
        free(self.weights)

    def __init__(self, *, pieces, log):
        cdef dict numbers = {}
        cdef bytes piece
        total = 0
        for piece in pieces:
            total += self.read_lines(piece, numbers)
        self.weights = <double*> malloc((len(numbers) + 1) * sizeof(double))
        if self.weights == NULL:
            raise MemoryError
        log_total = log(total)
        self.weights[0] = log(1) - log_total
        for count, number in numbers.items():
            self.weights[number] = log(count) - log_total

    cdef uint64_t read_lines(self, bytes piece, dict numbers) except? 0:
        """Add the words of *piece*, and their new weights to *numbers*; return how often all words occur together."""
        cdef const unsigned char* at = piece
        cdef const unsigned char* end = at + len(piece)
        cdef const unsigned char* word
        cdef const unsigned char* word_end
        cdef uint64_t times, total = 0
        while at < end:
            word = at
            while at < end and at[0] != c" " and at[0] != c"\n":
                at += 1
            word_end = at
            at += at < end and at[0] == c" "
            times = 0
            while at < end and c"0" <= at[0] <= c"9":
                times = 10 * times + (at[0] - c"0")
                at += 1
            while at < end and at[0] != c"\n":
                at += 1
            at += 1
            total += times
            self.add(word, word_end, numbers.setdefault(times, len(numbers) + 1) if times else 0)
        return total

    cdef int add(self, const unsigned char* at, const unsigned char* end, uint32_t weight) except -1:
        """Add a word, unless it has a character that is always a separate word."""
        cdef const unsigned char* character = at
        cdef uint32_t code, beginning = 0
        cdef int place = 0
        cdef Step* step = NULL
        while character < end:
            if not is_cut(read_code(&character, end)):
                return 0
        while at < end:
            code = read_code(&at, end)
            if place < self.path_size and self.path[place].code == code and at < end:
                beginning = self.path[place].beginning
            else:
                step = self.make(beginning, code) if place else self.begin(code)
                beginning = self.number(step)
                if place < LONGEST_PATH:
                    self.path[place] = Passed(code, beginning)
                    self.path_size = place + 1
            place += 1
        if step != NULL:
            step.weight = weight
        return 0

    cdef inline Step* make(self, uint32_t beginning, uint32_t code) except NULL:
        """Return the step from a beginning to the same beginning with one character more; add it if it is new."""
        cdef Step* step
        if 2 * (self.size + 1) > self.room:
            self.grow()
        step = self.find(beginning, code)
        if not step.key:
            step.key = key_of(beginning, code)
            self.size += 1
        return step

    cdef inline uint32_t number(self, Step* step) noexcept nogil:
        """Return the number of the beginning to which *step* leads; a new beginning gets a number."""
        if not step.beginning:
            self.beginnings += 1
            step.beginning = self.beginnings
        return step.beginning

    cdef int grow(self) except -1:
        cdef Step* before = self.steps
        cdef size_t room = self.room, at
        self.steps = <Step*> calloc(2 * room, sizeof(Step))
        if self.steps == NULL:
            self.steps = before
            raise MemoryError
        self.room = 2 * room
        for at in range(room):
            if before[at].key:
                self.place_of(before[at].key)[0] = before[at]
        free(before)
        return 0

    cdef inline Step* begin(self, uint32_t code) noexcept nogil:
        return &self.firsts[code - FIRST_CUT]

    cdef inline Step* find(self, uint32_t beginning, uint32_t code) noexcept nogil:
        return self.place_of(key_of(beginning, code))

    cdef inline size_t slot_of(self, uint64_t key) noexcept nogil:
        return key * 0x9E3779B97F4A7C15ULL >> 32 & (self.room - 1)

    cdef inline Step* place_of(self, uint64_t key) noexcept nogil:
        cdef size_t at = self.slot_of(key)
        while self.steps[at].key and self.steps[at].key != key:
            at = (at + 1) & (self.room - 1)
        return &self.steps[at]

    cdef int find_ways(self, const Text* text, Py_ssize_t begin, Py_ssize_t end, Bytes* ways) except -1:
        """Find the best way through a text: the end of the word that begins at each character."""
        cdef Py_ssize_t size = end - begin, place, behind
        cdef double* best
        cdef uint32_t* ends
        cdef double way
        cdef const Step* step
        ways.size = 0
        reserve(ways, (size + 1) * (sizeof(double) + sizeof(uint32_t)))
        best = <double*> ways.start
        ends = <uint32_t*> (best + size + 1)
        best[size] = 0
        for place in range(size - 1, -1, -1):
            if place >= AHEAD:
                self.fetch(text, begin + place - AHEAD)
            ends[place], behind = 0, place + 1
            step = self.begin(read_at(text, begin + place))
            while step.beginning:
                if step.weight:
                    way = self.weights[step.weight] + best[behind]
                    if not ends[place] or way >= best[place]:  # the longest of equally probable words
                        best[place], ends[place] = way, <uint32_t> behind
                if behind == size:
                    break
                step = self.find(step.beginning, read_at(text, begin + behind))
                behind += 1
            if not ends[place]:
                best[place], ends[place] = self.weights[0] + best[place + 1], <uint32_t> place + 1
        return 0

    cdef inline void fetch(self, const Text* text, Py_ssize_t at) noexcept nogil:
        """Fetch the step with two characters ahead of its look-up: it is rarely in the processor's cache."""
        cdef const Step* first = self.begin(read_at(text, at))
        if first.beginning:
            fetch_ahead(&self.steps[self.slot_of(key_of(first.beginning, read_at(text, at + 1)))])

    cdef int count_words(self, Words* words, const Text* text) except -1:
        """Count the words of the Chinese runs of a normalised text."""
        cdef Bytes ways
        cdef Py_ssize_t at = 0, end
        memset(&ways, 0, sizeof(Bytes))
        try:
            while at < text.size:
                end = end_of_run(text, at)
                if end == at:
                    at += 1
                while at < end:
                    at = self.count_piece(words, text, at, end, &ways)
            return 0
        finally:
            free(ways.start)

    cdef Py_ssize_t count_piece(
        self, Words* words, const Text* text, Py_ssize_t begin, Py_ssize_t end, Bytes* ways
    ) except -1:
        """Count the words of a run up to a character that is not cut; return the end of that character, or of the run."""
        cdef Py_ssize_t last = begin, place = 0
        cdef const uint32_t* ends
        while last < end and is_cut(read_at(text, last)):
            last += 1
        if last == begin:
            count_word(words, text, begin, begin + 1)
            return begin + 1
        self.find_ways(text, begin, last, ways)
        ends = <const uint32_t*> (<double*> ways.start + (last - begin + 1))
        while place < last - begin:
            count_word(words, text, begin + place, begin + ends[place])
            place = ends[place]
        return last

    def cut(self, list runs):
        """Cut runs of Chinese characters into words."""
        cdef Bytes ways
        cdef Text text
        cdef Py_ssize_t begin, last, place
        cdef const uint32_t* ends
        cdef list words = []
        cdef str run
        memset(&ways, 0, sizeof(Bytes))
        try:
            for run in runs:
                text, last = read(run), 0
                while last < text.size:
                    begin = last
                    while last < text.size and is_cut(read_at(&text, last)):
                        last += 1
                    if last == begin:
                        last += 1
                        words.append(run[begin:last])
                        continue
                    self.find_ways(&text, begin, last, &ways)
                    ends, place = <const uint32_t*> (<double*> ways.start + (last - begin + 1)), 0
                    while place < last - begin:
                        words.append(run[begin + place : begin + ends[place]])
                        place = ends[place]
            return words
        finally:
            free(ways.start)


cdef inline bint is_cut(uint32_t code) noexcept nogil:
    return FIRST_CUT <= code <= LAST_CUT


cdef inline uint64_t key_of(uint32_t beginning, uint32_t code) noexcept nogil:
    return (<uint64_t> beginning << 21 | code) + 1


cdef Py_ssize_t end_of_run(const Text* text, Py_ssize_t at) except -1:
    """Return the end of the run of Chinese characters that begins at *at*; *at* itself if no run begins there."""
    cdef Py_ssize_t begin = at
    while at < text.size and at - begin < LONGEST_RUN and traits_of(read_at(text, at)) & HAN:
        at += 1
    return at


def cut_runs():
    """Return a function that cuts runs like ``crawler_dedup.signing.segmentation.cut_runs``."""
    return cut_with_dictionary


def cut_with_dictionary(list runs, cutter):
    return (<HanDictionary?> cutter.dictionary).cut(runs)
