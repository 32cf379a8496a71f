"""Programs of libraries that may not be installed are not searched for doctests."""

collect_ignore_glob = ["programs/*.py", "__main__.py"]
