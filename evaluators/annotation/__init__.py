"""Human labels: what a person is asked, what they said, and the queue of answers to label.

The desk (`python -m evaluators.annotate`) shows an answer without its model or votes; labels are files of JSON lines,
one annotator each, that `python -m evaluators.labels` merges, exchanges and checks.
"""
