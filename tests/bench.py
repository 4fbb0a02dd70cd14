"""make bench: performance as ratios, each pair measured side by side in one run."""

from tests import bench_stats

if __name__ == "__main__":
    bench_stats.run()
