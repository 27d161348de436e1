"""The version of what signing computes."""

BEHAVIOUR = 9
"""Version of everything between bytes and signature. It rises whenever the golden values change."""
