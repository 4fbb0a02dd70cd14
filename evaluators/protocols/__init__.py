"""The protocols: how an item of each kind is put to a model and how its answer is judged."""
