"""The version of what signing computes."""

BEHAVIOUR = 8
"""Version of everything between bytes and signature. It rises whenever the golden values change."""
