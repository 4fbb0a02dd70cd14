"""Items become transcripts, verdicts, scores and submission bundles."""
