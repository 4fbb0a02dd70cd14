"""Scores of every submission become estimates, ranks, pages and data files."""
