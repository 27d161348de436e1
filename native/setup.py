"""Build the extension against the headers of the lxml that is installed."""

import sys

import lxml
from Cython.Build import cythonize
from setuptools import Extension, setup

_UNIX = ["-O3", "-ffp-contract=off"]  # the roots of weights are rounded as Python rounds them

setup(
    ext_modules=cythonize(
        [
            Extension(
                "crawler_dedup_native.core",
                ["src/crawler_dedup_native/core.pyx"],
                include_dirs=[*lxml.get_include(), "src/crawler_dedup_native"],
                extra_compile_args=["/O2"] if sys.platform == "win32" else _UNIX,
            )
        ]
    )
)
