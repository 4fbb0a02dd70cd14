"""The novel protocol of DetectiveQA: a question about a detective novel, its letter, and the steps of reasoning.

Source: Xu et al. 2024, "DetectiveQA: Evaluating Long-Context Reasoning on Detective Novels".
"""
