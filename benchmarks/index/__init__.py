"""The index by itself: look-ups, inserts and sizes, beside its peers."""
