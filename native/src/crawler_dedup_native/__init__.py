"""The native core of crawler-dedup, which uses it where it is installed and fits."""

VERSION = "0.1.0"
