# Tree → links, title, field for a password: the same as crawler_dedup.signing.outlinks and .parsing, which explain it.

cdef enum:
    LONGEST_QUICK = 200


cdef tree.xmlNode* first_of_document(etree._Element root) except NULL:
    """Return the first node of the document of which *root* is the root element."""
    cdef tree.xmlNode* node = node_of(root)
    cdef tree.xmlNode* first = node.doc.children
    while first != NULL and first.type != tree.XML_ELEMENT_NODE:
        first = first.next
    if first != node:
        raise Unsupported("not the root of a document")
    return node.doc.children


cdef inline bint is_named(const tree.xmlNode* node, const char* name) noexcept nogil:
    return node.type == tree.XML_ELEMENT_NODE and node.ns == NULL and strcmp(<const char*> node.name, name) == 0


cdef class FindLinks:
    """Finds the links of pages.

    Args:
        places: returns the addresses with which links are joined, given the address of the page and that of its ``<base>``:
            the host of the page; the host and the folder for links that have nothing unusual, or ``None``; and further
            arguments of *hash_href*.
        hash_href: returns the hash of the address to which a link leads from these places, or ``None``.
        links: makes the result from hashes, ascending and distinct.
    """

    cdef object places, hash_href, links

    def __init__(self, *, places, hash_href, links):
        self.places, self.hash_href, self.links = places, hash_href, links

    def __call__(self, etree._Element root, str url):
        cdef _Links found = _Links()
        found.read(first_of_document(root), root._c_node)
        places = self.places(url, "" if found.base is None else found.base)
        found.take_places(places[0], places[1], places[2])
        found.hash_all()
        for href in found.unusual:
            target = self.hash_href(href, places)
            if target is not None:
                found.add(target)
        return self.links(found.hashes())


cdef class _Links:
    cdef str base                 # address of the first <base>
    cdef set unusual              # links that are read in Python
    cdef bytes host, origin, folder
    cdef Bytes attributes         # addresses of nodes of links
    cdef Bytes targets, made

    def __cinit__(self):
        self.unusual = set()

    def __dealloc__(self):
        free(self.attributes.start)
        free(self.targets.start)
        free(self.made.start)

    cdef int read(self, tree.xmlNode* root, const tree.xmlNode* main_root) except -1:
        """Collect the links of the document that begins with *root*, and the base within *main_root*."""
        cdef tree.xmlNode* node
        cdef tree.xmlAttr* attribute
        while root != NULL:
            node = root if root.type == tree.XML_ELEMENT_NODE else NULL
            while node != NULL:
                if is_named(node, b"a"):
                    attribute = find_attribute(node, b"href")
                    if attribute != NULL:
                        append(&self.attributes, &attribute, sizeof(attribute))
                elif self.base is None and root == main_root and is_named(node, b"base"):
                    attribute = find_attribute(node, b"href")
                    self.base = "" if attribute == NULL else etree.attributeValue(node, attribute)
                node = next_within(node, root)
            root = root.next
        return 0

    cdef int take_places(self, str host, origin, folder) except -1:
        """Set the addresses with which links that have nothing unusual are joined; ``None``: Python reads all links."""
        self.host = host.encode("utf-8", "replace")
        self.origin = None if origin is None else origin.encode()
        self.folder = None if folder is None else folder.encode()
        return 0

    cdef int hash_all(self) except -1:
        cdef tree.xmlAttr** attributes = <tree.xmlAttr**> self.attributes.start
        cdef size_t at
        cdef const unsigned char* value
        cdef const unsigned char* end
        for at in range(self.attributes.size // sizeof(attributes[0])):
            value = <const unsigned char*> plain_value(attributes[at])
            if value == NULL:
                self.unusual.add(etree.attributeValue(attributes[at].parent, attributes[at]).strip())
                continue
            end = value + strlen(<const char*> value)
            while value < end and is_ascii_space(value[0]):
                value += 1
            while value < end and is_ascii_space((end - 1)[0]):
                end -= 1
            if value < end and value[0] == c"#":
                continue
            if self.resolve(value, end):
                self.add(XXH3_64bits(self.made.start, self.made.size))
            else:
                self.unusual.add(PyUnicode_DecodeUTF8(<const char*> value, end - value, NULL).strip())
        return 0

    cdef int add(self, uint64_t target) except -1:
        return append(&self.targets, &target, sizeof(target))

    cdef bytearray hashes(self):
        """Return the hashes, ascending and distinct."""
        cdef uint64_t* targets = <uint64_t*> self.targets.start
        cdef size_t size = self.targets.size // sizeof(uint64_t), at, distinct = 0
        sort_numbers(targets, size)
        for at in range(size):
            if not at or targets[at] != targets[distinct - 1]:
                targets[distinct] = targets[at]
                distinct += 1
        return bytearray((<char*> targets)[: distinct * sizeof(uint64_t)]) if distinct else bytearray()

    cdef bint resolve(self, const unsigned char* href, const unsigned char* end) except -1:
        """Resolve a link that has nothing unusual, and no parameters; the result is in *made*."""
        cdef const unsigned char* path_end
        cdef const unsigned char* path
        if self.origin is None or not is_usual(href, end):
            return False
        path_end = end_of_path(href, end)
        if path_end == NULL:
            return False
        path = href + size_of_scheme(href, end)
        if path > href:
            return self.resolve_absolute(path, path_end)
        if href[0] != c"/":
            return href < path_end and self.resolve_in_folder(href, path_end, end)
        if contains(href, path_end, b"/.") or path_end - href > 1 and href[1] == c"/":
            return False
        self.take_host(self.origin, len(self.origin))
        append(&self.made, href, path_end - href)
        return True

    cdef bint resolve_absolute(self, const unsigned char* host, const unsigned char* path_end) except -1:
        cdef const unsigned char* path = host
        while path < path_end and is_of_host(path[0]):
            path += 1
        if path == host or path < path_end and path[0] != c"/":
            return False
        self.take_host(<const char*> host, path - host)
        if path == path_end:
            append(&self.made, b"/", 1)
        append(&self.made, path, path_end - path)
        return True

    cdef bint resolve_in_folder(
        self, const unsigned char* path, const unsigned char* path_end, const unsigned char* end
    ) except -1:
        cdef const char* folder
        cdef Py_ssize_t size
        cdef size_t begin
        if self.folder is None or contains(path, end, b":") or contains(path, path_end, b"//"):
            return False
        folder, size = self.folder, len(self.folder)
        while path_end - path >= 3 and memcmp(path, b"../", 3) == 0:
            path += 3
            while size and folder[size - 1] != c"/":
                size -= 1
            size -= size > 0
        self.take_host(self.origin, len(self.origin))
        begin = self.made.size
        append(&self.made, folder, size)
        append(&self.made, b"/", 1)
        append(&self.made, path, path_end - path)
        return not contains(self.made.start + begin, self.made.start + self.made.size, b"/.") and not contains(
            self.made.start + begin, self.made.start + min(begin + 2, self.made.size), b"//"
        )

    cdef int take_host(self, const char* host, size_t size) except -1:
        """Begin the address with a host, unless it is the host of the page."""
        cdef size_t at
        cdef const char* own = self.host
        self.made.size = 0
        append(&self.made, host, size)
        for at in range(size):
            if c"A" <= self.made.start[at] <= c"Z":
                self.made.start[at] |= 0x20
        if size == <size_t> len(self.host) and memcmp(self.made.start, own, size) == 0:
            self.made.size = 0
        return 0


cdef void sort_numbers(uint64_t* numbers, size_t size) noexcept nogil:
    """Sort by heapsort, which no choice of numbers makes slow."""
    cdef size_t begin = size // 2, end = size
    cdef uint64_t number
    while begin:
        begin -= 1
        sift_down(numbers, begin, end)
    while end > 1:
        end -= 1
        number = numbers[end]
        numbers[end] = numbers[0]
        numbers[0] = number
        sift_down(numbers, 0, end)


cdef inline void sift_down(uint64_t* numbers, size_t top, size_t end) noexcept nogil:
    """Move the number at *top* down in the heap until no larger number is below it."""
    cdef uint64_t number = numbers[top]
    cdef size_t below = 2 * top + 1
    while below < end:
        if below + 1 < end and numbers[below + 1] > numbers[below]:
            below += 1
        if numbers[below] <= number:
            break
        numbers[top] = numbers[below]
        top = below
        below = 2 * top + 1
    numbers[top] = number


cdef bint is_usual(const unsigned char* at, const unsigned char* end) noexcept nogil:
    """Return whether an address is short, and has neither white space nor characters beyond ASCII."""
    if at == end or end - at > LONGEST_QUICK:
        return False
    while at < end:
        if not 0x20 < at[0] < 0x80:
            return False
        at += 1
    return True


cdef const unsigned char* end_of_path(const unsigned char* at, const unsigned char* end) noexcept nogil:
    """Return where the path of an address ends; ``NULL`` if it has parameters."""
    while at < end and at[0] != c"?" and at[0] != c"#":
        if at[0] == c";":
            return NULL
        at += 1
    if end - at > 1 and at[0] == c"?" and at[1] != c"#":
        return NULL
    return at


cdef int size_of_scheme(const unsigned char* at, const unsigned char* end) noexcept nogil:
    if end - at >= 7 and memcmp(at, b"http://", 7) == 0:
        return 7
    return 8 if end - at >= 8 and memcmp(at, b"https://", 8) == 0 else 0


cdef bint is_of_host(unsigned char byte) noexcept nogil:
    return (
        c"a" <= byte | 0x20 <= c"z" or c"0" <= byte <= c"9" or byte == c"_" or byte == c"." or byte == c":" or byte == c"-"
    )


cdef bint contains(const unsigned char* at, const unsigned char* end, const char* searched) noexcept nogil:
    """Return whether a text contains *searched*: one or two characters."""
    while at < end:
        if at[0] == <unsigned char> searched[0] and (
            not searched[1] or end - at > 1 and at[1] == <unsigned char> searched[1]
        ):
            return True
        at += 1
    return False


def find_title(*, longest):
    """Return a function that finds titles of pages like ``crawler_dedup.signing.parsing.find_title``."""
    return TitleFinder(longest)


cdef class TitleFinder:
    cdef Py_ssize_t longest

    def __init__(self, longest):
        self.longest = longest

    def __call__(self, etree._Element tree_):
        cdef tree.xmlNode* top = node_of(tree_)
        cdef tree.xmlNode* node = top
        cdef Bytes text
        while node != NULL:
            if is_named(node, b"title"):
                if node == top:
                    raise Unsupported("a title alone")
                if not is_named(node.parent, b"svg"):
                    break
            node = next_within(node, top)
        if node == NULL:
            return ""
        if this_or_next_element(node.children) != NULL:
            raise Unsupported("a title with elements")
        memset(&text, 0, sizeof(Bytes))
        try:
            append_texts(&text, node.children)
            whole = PyUnicode_DecodeUTF8(<const char*> text.start, text.size, NULL)
        finally:
            free(text.start)
        return " ".join(whole.split())[: self.longest]


def asks_for_password():
    """Return a function that looks for fields like ``crawler_dedup.signing.parsing.asks_for_password``."""
    return has_password_field


def has_password_field(etree._Element root):
    cdef tree.xmlNode* top = first_of_document(root)
    cdef tree.xmlNode* node
    cdef tree.xmlAttr* kind
    while top != NULL:
        node = top if top.type == tree.XML_ELEMENT_NODE else NULL
        while node != NULL:
            if is_named(node, b"input"):
                kind = find_attribute(node, b"type")
                if kind != NULL and etree.attributeValue(node, kind) == "password":
                    return True
            node = next_within(node, top)
        top = top.next
    return False


find_links = FindLinks
