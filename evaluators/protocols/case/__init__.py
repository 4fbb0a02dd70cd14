"""The case protocol of Watson & Holmes: places are visited one by one, and every question is answered after each.

Source: Leelawat & Griffin 2026, "Watson & Holmes: A Naturalistic Benchmark for Comparing Human and LLM Reasoning",
arXiv:2602.19914.
"""
