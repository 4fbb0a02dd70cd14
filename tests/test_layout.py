"""CONTRIBUTING's layout rules, read off the source with `ast`: who imports whom, home files, sizes, settings."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("builders", "evaluators", "leaderboard")  # left to right: a room imports itself and those before it
SOURCES = {str(path.relative_to(ROOT)): ast.parse(path.read_text()) for r in ROOMS for path in (ROOT / r).rglob("*.py")}
HOMES = {
    "huggingface_hub": {"builders/hub.py"},
    "datasets": {"builders/hub.py"},
    "pyrage": {"builders/vault.py"},
    "litellm": {
        *(f"evaluators/{name}.py" for name in ("models", "pricing", "sending")),
        *(f"evaluators/engines/{name}.py" for name in ("batch_api", "batch_parts")),
    },
    "duckdb": {"evaluators/store.py", "evaluators/pack.py"},
    "xllamacpp": {"evaluators/local_model.py"},
    "ray": {"evaluators/engines/cluster.py"},
    "rouge_score": {"evaluators/judge_baseline.py"},
}
HEAVY = {"litellm", "datasets", "huggingface_hub", "duckdb", "pyarrow", "PIL", "rich", "mkdocs", "scipy.stats"}
HEAVY |= {"ray", "rouge_score"}
CHILD = "the whole, for a child process"  # subprocess.run(..., env=os.environ | {...})
# Settings of the project, then knobs of libraries that are set before the library is imported.
LIBRARIES = "OMP_WAIT_POLICY|LITELLM_LOCAL_(?:MODEL_COST_MAP|ANTHROPIC_BETA_HEADERS)|RAY_USAGE_STATS_ENABLED"
VARIABLES = re.compile(f"DEERSTALKER_(?:STORE|IDENTITY(?:_FILE)?)|[A-Z0-9_]+_API_KEY|{LIBRARIES}|{CHILD}")
every_source = pytest.mark.parametrize("name", sorted(SOURCES))


def imports(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """Dotted names imported anywhere in a module, each with whether it happens as the module itself is imported."""
    top = set(map(id, at_import(tree)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import hides the room it comes from"
            yield from ((f"{node.module}.{alias.name}", id(node) in top) for alias in node.names)


def at_import(tree: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(tree):
        checked_only = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
        if not checked_only and not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield child
            yield from at_import(child)


def within(name: str, package: str) -> bool:
    return f"{name}.".startswith(f"{package}.")


@every_source
def test_a_room_imports_itself_and_rooms_to_its_left_only(name: str) -> None:
    room = Path(name).parts[0]
    right = [*ROOMS[ROOMS.index(room) + 1 :], "tests", "site"]
    assert not [module for module, _ in imports(SOURCES[name]) if module.split(".")[0] in right]


@pytest.mark.parametrize("room", ROOMS)
def test_values_import_pydantic_the_standard_library_and_values_to_their_left(room: str) -> None:
    left = tuple(f"{other}.values" for other in ROOMS[: ROOMS.index(room)])
    allowed = {"pydantic", *left, f"{room}.answers"}  # answers.py holds values too, for the length of the file
    for module, _ in imports(SOURCES.get(f"{room}/values.py", ast.Module([], []))):
        assert module.split(".")[0] in sys.stdlib_module_names or any(within(module, name) for name in allowed), module


@every_source
def test_each_outside_world_has_one_home_file(name: str) -> None:
    modules = [module for module, _ in imports(SOURCES[name])]
    assert not [m for m in modules for world, homes in HOMES.items() if within(m, world) and name not in homes]


@every_source
def test_heavy_libraries_are_imported_where_they_are_used(name: str) -> None:
    assert not [m for m, top in imports(SOURCES[name]) if top and any(within(m, heavy) for heavy in HEAVY)]


@every_source
def test_files_and_functions_stay_readable(name: str) -> None:
    assert len((ROOT / name).read_text().splitlines()) <= 400
    assert Path(name).stem not in {"utils", "common", "helpers", "base", "misc"}
    for node in ast.walk(SOURCES[name]):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            assert lines <= 60, f"{node.name} has {lines} lines: split it where the reader would"


@every_source
def test_no_setting_but_the_store_and_keys_lives_in_the_environment(name: str) -> None:
    assert not {"os.environ", "os.getenv"} & {module for module, _ in imports(SOURCES[name])}
    touched = [node for node in ast.walk(SOURCES[name]) if is_environment(node)]
    reads = list(environment_reads(SOURCES[name]))
    assert len(reads) == len(touched), (
        "the environment as a whole, or under a computed name, hides which settings there are"
    )
    assert not [variable for variable in reads if not VARIABLES.fullmatch(variable)]


def is_environment(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and ast.unparse(node) in {"os.environ", "os.getenv"}


def environment_reads(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute() as function, args=[ast.Constant(value=str(variable)), *_]):
                if ast.unparse(function) in {"os.getenv", "os.environ.get", "os.environ.setdefault", "os.environ.pop"}:
                    yield variable
            case ast.Subscript(value=target, slice=ast.Constant(value=str(variable))) if is_environment(target):
                yield variable
            case ast.keyword(arg="env", value=value):
                yield from (CHILD for part in ast.walk(value) if is_environment(part))


def test_the_rooms_catch_every_exception_in_one_place_at_most() -> None:
    broad = [
        f"{name}:{node.lineno}"
        for name, tree in SOURCES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or {"Exception", "BaseException"} & set(re.findall(r"\w+", ast.unparse(node.type))))
        and not any(isinstance(inner, ast.Raise) and inner.exc is None for inner in ast.walk(node))
    ]
    assert len(broad) <= 1, broad


# What Playwright reads at once: between a click and what a script makes of it that is the page as it was.
AT_ONCE = re.compile(
    r"\.(?:count|all|all_inner_texts|all_text_contents|inner_text|inner_html|text_content|input_value)\(\)"
    r"|\.(?:get_attribute|wait_for_timeout|is_(?:visible|hidden|enabled|disabled|editable|checked))\("
    r"|\bpage\.(?:url\b|title\(|content\(|inner_text\()|networkidle"
)


def test_tests_in_a_browser_wait_for_what_they_expect() -> None:
    """`expect(...)` waits. What a test reckons with is read by `evaluate`, after an `expect` or at a page at rest."""
    assert AT_ONCE.search('assert table.locator("tbody tr").count() == 2'), "this failed on a machine with other work"
    driving = [path for path in (ROOT / "tests").glob("*.py") if "page: Any" in path.read_text()]
    driving.remove(Path(__file__).resolve())
    assert {"browsing.py", "test_site.py", "test_site_boards.py", "test_annotate.py"} <= {path.name for path in driving}
    lines = [(path, n, line) for path in driving for n, line in enumerate(path.read_text().splitlines(), start=1)]
    assert not [f"{path.name}:{n}: {line.strip()}" for path, n, line in lines if AT_ONCE.search(line)]


def test_site_holds_no_python_and_tests_are_no_package() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    files = [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]
    assert "tests/conftest.py" in files
    assert not [name for name in files if name.startswith("site/") and name.endswith(".py")]
    assert not [name for name in files if name.startswith("tests/") and name.endswith("__init__.py")]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import scipy.stats", [("scipy.stats", True)]),
        ("from scipy import stats", [("scipy.stats", True)]),
        ("def f():\n    import duckdb", [("duckdb", False)]),
        ("try:\n    import rich\nexcept ImportError:\n    pass", [("rich", True)]),
        ("if TYPE_CHECKING:\n    import duckdb", [("duckdb", False)]),
        ("class A:\n    import PIL.Image", [("PIL.Image", True)]),
    ],
)
def test_the_reading_of_imports_sees_through_every_form(source: str, expected: list[tuple[str, bool]]) -> None:
    assert list(imports(ast.parse(source))) == expected
