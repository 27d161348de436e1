# Packed blocks → blocks, as crawler_dedup.signing.blocks reads them.

cdef class BlockReader:
    """Reads packed blocks."""

    cdef object block
    cdef int size_unit

    def __cinit__(self, block, size_unit):
        self.block, self.size_unit = block, size_unit

    def __call__(self, bytes packed):
        cdef const unsigned char* row = packed
        cdef Py_ssize_t count = len(packed) // BLOCK_BYTES
        cdef uint32_t hash_
        if len(packed) % BLOCK_BYTES:
            raise ValueError("a block is cut off")
        blocks = []
        for _ in range(count):
            memcpy(&hash_, row, 4)
            blocks.append(PyTuple_Type.tp_new(self.block, ((hash_, row[4], row[5] * self.size_unit),), NULL))
            row += BLOCK_BYTES
        return tuple(blocks)


def read_blocks(block, size_unit):
    """Return a function that reads blocks like ``crawler_dedup.signing.blocks.read_blocks``."""
    return BlockReader(block, size_unit)
