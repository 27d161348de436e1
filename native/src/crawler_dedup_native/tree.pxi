# Nodes of lxml's trees, read as lxml reads them.

class Unsupported(Exception):
    """The tree has something that only Python can read."""


cdef inline bint is_element(const tree.xmlNode* node) noexcept nogil:
    """Return whether lxml takes *node* for an element; a comment is an element too."""
    return (
        node.type == tree.XML_ELEMENT_NODE
        or node.type == tree.XML_COMMENT_NODE
        or node.type == tree.XML_PI_NODE
        or node.type == tree.XML_ENTITY_REF_NODE
    )


cdef inline tree.xmlNode* first_child(const tree.xmlNode* node) noexcept nogil:
    """Return the first child, even if lxml does not take it for an element."""
    return node.children if node.type == tree.XML_ELEMENT_NODE else NULL


cdef inline tree.xmlNode* this_or_next_element(tree.xmlNode* node) noexcept nogil:
    while node != NULL and not is_element(node):
        node = node.next
    return node


cdef inline tree.xmlNode* text_or_none(tree.xmlNode* node) noexcept nogil:
    """Return the first node from *node* on that is not a mark of an inclusion, if it is a text; otherwise ``NULL``."""
    while node != NULL:
        if node.type == tree.XML_TEXT_NODE or node.type == tree.XML_CDATA_SECTION_NODE:
            return node
        if node.type != tree.XML_XINCLUDE_START and node.type != tree.XML_XINCLUDE_END:
            return NULL
        node = node.next
    return NULL


cdef int append_texts(Bytes* buffer, tree.xmlNode* node) except -1:
    """Append the texts that begin with *node*, up to the next element."""
    node = text_or_none(node)
    while node != NULL:
        if node.content != NULL:
            append(buffer, node.content, strlen(<const char*> node.content))
        node = text_or_none(node.next)
    return 0


cdef tree.xmlNode* next_within(tree.xmlNode* node, const tree.xmlNode* top) noexcept nogil:
    """Return the next element within *top*, in the order of the page."""
    cdef tree.xmlNode* following = this_or_next_element(first_child(node))
    while following == NULL and node != top:
        following = this_or_next_element(node.next)
        node = node.parent
    return following


cdef inline bint is_plain_name(const tree.xmlNs* space) noexcept nogil:
    return space == NULL or space.href == NULL


cdef tree.xmlAttr* find_attribute(const tree.xmlNode* node, const char* name) noexcept nogil:
    cdef tree.xmlAttr* attribute = node.properties
    while attribute != NULL:
        if (
            attribute.type == tree.XML_ATTRIBUTE_NODE
            and is_plain_name(attribute.ns)
            and strcmp(<const char*> attribute.name, name) == 0
        ):
            return attribute
        attribute = attribute.next
    return NULL


cdef const char* plain_value(const tree.xmlAttr* attribute) noexcept nogil:
    """Return the value of *attribute*; ``NULL`` unless it is a single text."""
    cdef const tree.xmlNode* content = attribute.children
    if content == NULL:
        return b""
    if content.next != NULL or content.content == NULL:
        return NULL
    if content.type != tree.XML_TEXT_NODE and content.type != tree.XML_CDATA_SECTION_NODE:
        return NULL
    return <const char*> content.content


cdef tree.xmlNode* node_of(etree._Element element) except NULL:
    """Return the node of an element. XML with a document type, which may declare attributes and entities, is refused."""
    cdef tree.xmlNode* node = element._c_node
    if node == NULL or node.type != tree.XML_ELEMENT_NODE:
        raise Unsupported("no element")
    if node.doc == NULL or (
        node.doc.type != tree.XML_HTML_DOCUMENT_NODE and (node.doc.intSubset != NULL or node.doc.extSubset != NULL)
    ):
        raise Unsupported("XML with a document type")
    return node


cdef bint has_root_behind(etree._Element root) except -1:
    """Return whether the parser has left the rest of a page behind *root*."""
    cdef const tree.xmlNode* node = node_of(root).next
    while node != NULL and node.type != tree.XML_ELEMENT_NODE:
        node = node.next
    return node != NULL
