"""Lists and ranges whose lengths only the run knows."""
