"""A run over a Ray cluster on this machine: two nodes at work, one lost in the middle, another to step in.

Needs Ray, which no other test does: `pip install 'ray>=2.40'`, or run these with the Python of an environment that has
it and all of requirements.txt.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from evaluators.engines.purse import lost_usd
from evaluators.journal import Journal
from evaluators.journals import RUN, worker_journals
from evaluators.submit import main as submit
from tests.conftest import missing
from tests.made import write_made_split
from tests.servers.model_server import Answer, ModelServer
from tests.test_processes import novels_and_cases
from tests.test_submit import digests, options

ROOT = Path(__file__).resolve().parent.parent
LOOPBACK = "127.0.0.1"


@pytest.fixture
def ray() -> Any:
    """The library, kept on this machine and silent about it."""
    if find_spec("ray") is None:
        missing("ray", "no ray: install the extra to test clusters")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray

    return ray


@pytest.fixture
def cluster(ray: Any) -> Iterator[Any]:
    """A head without CPUs, on loopback."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "node_ip_address": LOOPBACK})
    yield made
    made.shutdown()


def start(arguments: list[str], address: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "evaluators.submit", *arguments]
    # The last word keeps the driver on loopback, too: Ray knows it only as what it does on Windows and macOS.
    environment = os.environ | {"RAY_ADDRESS": address, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def test_a_node_that_is_lost_in_the_middle_changes_no_byte_of_the_bundle(cluster: Any, tmp_path: Path) -> None:
    write_made_split(tmp_path / "splits", 30)
    with ModelServer() as server:
        assert submit(options(tmp_path, server, out="alone")) == 0
    nodes = [cluster.add_node(num_cpus=1, node_ip_address=LOOPBACK) for _ in range(2)]
    cluster.wait_for_nodes()
    with ModelServer(lambda *_: Answer(hold=len(server.requests) > 60)) as server:
        run = start(
            options(tmp_path, server, "--engine", "ray", "--processes", "2", "--concurrency", "8"), cluster.address
        )
        server.wait_for_requests(68)
        assert server.in_flight_peak <= 8
        cluster.remove_node(nodes[0], allow_graceful=False)
        cluster.add_node(num_cpus=1, node_ip_address=LOOPBACK)
        # The new node asks again for what the lost one had in flight, and for nothing else.
        server.wait_for_requests(72)
        server.release()
        said, _ = run.communicate(timeout=240)
        assert run.returncode == 0, said
        asked = [json.dumps(body, sort_keys=True) for body in server.requests]
        assert len(set(asked)) == 120
        assert len(asked) - len(set(asked)) == 4
    assert digests(tmp_path / "out/bundle") == digests(tmp_path / "alone/bundle")
    assert worker_journals(tmp_path / "out") == ()


def test_a_cluster_keeps_to_a_cap_on_cost_when_a_node_is_lost(cluster: Any, tmp_path: Path) -> None:
    """Every call costs a dollar, each node works on an eighth of the money, and one is lost with calls on their way."""
    write_made_split(tmp_path / "splits", 20)
    nodes = [cluster.add_node(num_cpus=1, node_ip_address=LOOPBACK) for _ in range(2)]
    cluster.wait_for_nodes()
    bill = {"prompt_tokens": 100, "completion_tokens": 1000}
    priced = ("--engine", "ray", "--processes", "2", "--concurrency", "4", "--price", "0,1000", "--max-tokens", "1000")
    with ModelServer(lambda *_: Answer(usage=bill, hold=len(server.requests) > 6)) as server:
        asked = options(tmp_path, server, *priced)
        run = start([*asked, "--max-cost", "40"], cluster.address)
        server.wait_for_requests(8)
        cluster.remove_node(nodes[0], allow_graceful=False)
        cluster.add_node(num_cpus=1, node_ip_address=LOOPBACK)
        server.release()
        said, _ = run.communicate(timeout=240)
        assert run.returncode == 3, said
        assert "machines that were lost may have spent" in said
        assert 30 <= len(server.requests) <= 40
        with Journal(tmp_path / "out" / RUN) as journal:
            assert journal.paid_usd + lost_usd(tmp_path / "out") >= len(server.requests)
        run = start([*asked, "--max-cost", "1000"], cluster.address)
        said, _ = run.communicate(timeout=240)
        assert run.returncode == 0, said
        assert len({json.dumps(body, sort_keys=True) for body in server.requests}) == 80


def test_novels_and_cases_come_out_the_same_on_a_cluster(cluster: Any, tmp_path: Path) -> None:
    cluster.add_node(num_cpus=2, node_ip_address=LOOPBACK)
    cluster.wait_for_nodes()
    for number, (reply, asked) in enumerate(novels_and_cases(tmp_path)):
        one, two = tmp_path / f"one-{number}", tmp_path / f"two-{number}"
        with ModelServer(reply) as server:
            assert submit([*asked(server), "--out", str(one)]) == 0
            calls = len(server.requests)
            run = start([*asked(server), "--out", str(two), "--engine", "ray", "--processes", "2"], cluster.address)
            said, _ = run.communicate(timeout=240)
            assert run.returncode == 0, said
            assert len(server.requests) == 2 * calls
        assert digests(one / "bundle") == digests(two / "bundle")


def test_without_ray_the_message_says_what_to_install(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if find_spec("ray") is not None:
        pytest.skip("ray is installed here")
    write_made_split(tmp_path / "splits", 2)
    with ModelServer() as server:
        assert submit(options(tmp_path, server, "--engine", "ray")) == 1
        assert server.requests == []
    assert "pip install 'ray" in capsys.readouterr().err
