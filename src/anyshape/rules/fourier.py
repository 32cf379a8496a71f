"""fourier"""
