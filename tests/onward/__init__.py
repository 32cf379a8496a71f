"""Exported programs in torch's tools, against eager execution: too slow for every change."""
