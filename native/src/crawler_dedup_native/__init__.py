"""The native core of crawler-dedup, which uses it where it is installed and fits."""

BEHAVIOUR = 7
"""The behaviour of crawler-dedup's signing that the core has (``crawler_dedup.signing.behaviour``)."""

INTERFACE = 1
"""What the core and crawler-dedup agree on besides (``crawler_dedup.signing.native``)."""

VERSION = "0.1.0"
