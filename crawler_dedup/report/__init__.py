"""The report of a crawl as one HTML file, made from an index and its journals."""
