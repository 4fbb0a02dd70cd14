"""make bench: performance as ratios, each pair measured side by side in one run."""

from leaderboard import coverage
from tests import bench_novel, bench_stats

if __name__ == "__main__":
    bench_stats.run()
    bench_novel.run()
    print("\nThe full coverage study, about ten minutes on two cores", flush=True)
    coverage.main(["--jobs", "2"])
