"""Imported once by the server that workers are forked from: they start with everything that calls need."""

from evaluators import session
from evaluators.models import warm

__all__ = ["session"]
warm()
