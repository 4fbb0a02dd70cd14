"""YAML as strangers may send it: no aliases, no tags, no key twice, and the line of every value."""

from typing import Any

import yaml

# Where a value stands in the document: ("locations", 3, "text").
Place = tuple[str | int, ...]


class PlainLoader(yaml.SafeLoader):
    """YAML without aliases (a few lines of them can stand for gigabytes), tags and keys given twice."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose a node, refusing anchors, aliases and tags."""
        event: Any = super().peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.events.AliasEvent) or getattr(event, "anchor", None):
            raise yaml.MarkedYAMLError(None, None, "anchors and aliases are not allowed", event.start_mark)
        if getattr(event, "tag", None):
            raise yaml.MarkedYAMLError(None, None, "tags are not allowed", event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """Construct a mapping, refusing a second value for one key."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.MarkedYAMLError(None, None, "a key stands twice", key.start_mark)
            seen.add(str(key.value))
        return super().construct_mapping(node, deep=deep)


def places(node: Any, place: Place = ()) -> dict[Place, int]:
    """The line of every key and entry below a composed node, from 1."""
    found: dict[Place, int] = {}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                found[*place, key.value] = key.start_mark.line + 1
                found |= places(value, (*place, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for n, value in enumerate(node.value):
            found[*place, n] = value.start_mark.line + 1
            found |= places(value, (*place, n))
    return found
