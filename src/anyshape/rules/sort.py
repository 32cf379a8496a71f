"""sort"""
