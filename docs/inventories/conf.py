"""Make the list of names in Scrapy's documentation, ``scrapy.inv``, from the source archive of Scrapy 2.19.0:

pip download --no-deps --no-binary scrapy scrapy==2.19.0 && tar xf scrapy-2.19.0.tar.gz
PYTHONPATH=scrapy-2.19.0/docs/_ext sphinx-build -c docs/inventories scrapy-2.19.0/docs built
cp built/objects.inv docs/inventories/scrapy.inv
"""

from sphinx.application import Sphinx

project, version, release = "Scrapy", "2.19", "2.19.0"
extensions = ["sphinx.ext.autodoc", "scrapydocs"]


def setup(app: Sphinx) -> None:
    """Register the roles of a package that is not on PyPI (sphinx-scrapy)."""
    for role in ("setting", "signal", "command", "reqmeta"):
        app.add_crossref_type(directivename=role, rolename=role, indextemplate=f"pair: %s; {role}")
