"""The soup protocol of TurtleSoup-Bench: a player asks yes/no questions and then says what the story is.

Source: Zhou et al. 2025, "What to Ask Next? Probing the Imaginative Reasoning of LLMs with TurtleSoup Puzzles".
"""

METRIC = "overall"
METRICS = ("overall", "logic", "details", "conclusion")
