# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Parts of crawler_dedup.signing and crawler_dedup.rules, in C. Each does what the function of its name does there, which explains it."""

cimport lxml.includes.etreepublic as etree
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.object cimport PyObject
from libc.math cimport rint, sqrt
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset, strcmp, strlen
from lxml.includes cimport tree

from os import urandom

from lxml.etree import LIBXML_VERSION as LIBXML_OF_LXML
from lxml.etree import LXML_VERSION

from crawler_dedup_native import VERSION
cdef extern from "Python.h":
    str PyUnicode_DecodeUTF8(const char* content, Py_ssize_t size, const char* errors)

    str PyUnicode_FromKindAndData(int kind, const void* characters, Py_ssize_t size)
    int PyUnicode_KIND(object text)
    const void* PyUnicode_DATA(object text)

    cdef struct _Type "_typeobject":
        object (*tp_new)(type, tuple, PyObject*)

    _Type PyTuple_Type

cdef extern from *:
    """
    #define XXH_INLINE_ALL
    #include "xxhash/xxhash.h"
    """
    uint64_t XXH3_64bits(const void* content, size_t size) nogil
    uint64_t XXH3_64bits_withSeed(const void* content, size_t size, uint64_t seed) nogil


def check_versions():
    """Raise :class:`ImportError` unless nodes and elements are laid out as when the core was built."""
    built_lxml = tuple(map(int, etree.LXML_VERSION_STRING.decode().split(".")[:2]))
    built_libxml = (tree.LIBXML_VERSION // 10000, tree.LIBXML_VERSION // 100 % 100)
    if built_lxml != LXML_VERSION[:2] or built_libxml != LIBXML_OF_LXML[:2]:
        raise ImportError(
            f"crawler-dedup-native {VERSION} was built for lxml {join(built_lxml)} with libxml2 {join(built_libxml)}, and"
            f" lxml {join(LXML_VERSION[:2])} with libxml2 {join(LIBXML_OF_LXML[:2])} is installed"
        )


def join(numbers):
    """Return a version."""
    return ".".join(map(str, numbers))


check_versions()
etree.import_lxml__etree()

cdef uint64_t SEED = int.from_bytes(urandom(8), "little")

include "buffers.pxi"
include "characters.pxi"
include "text.pxi"
include "wordcounts.pxi"
include "spaces.pxi"
include "tree.pxi"
include "hidden.pxi"
include "page.pxi"
include "outline.pxi"
include "reader.pxi"
include "normalise.pxi"
include "dictionary.pxi"
include "features.pxi"
include "sketch.pxi"
include "casefold.pxi"
include "titlewords.pxi"
include "series.pxi"
include "maintext.pxi"
include "lines.pxi"
include "headings.pxi"
include "blocks.pxi"
include "links.pxi"
include "counters.pxi"
include "packedblocks.pxi"
include "embedded.pxi"

# The version of the Python function that each function does the same as (crawler_dedup.signing.native).
REVISIONS = {
    "HanDictionary": 1,
    "asks_for_password": 1,
    "count_page": 1,
    "cut_runs": 1,
    "find_embedded_content": 1,
    "find_links": 1,
    "find_main_blocks": 1,
    "find_title": 1,
    "join_shown_text": 1,
    "join_text": 1,
    "normalise": 2,
    "pack_blocks": 2,
    "pack_short": 1,
    "read_blocks": 1,
    "read_outline": 1,
    "simhash": 1,
    "sketch": 1,
    "split_counters": 1,
    "weigh_text": 1,
    "weigh_tokens": 1,
}
