"""make bench: performance as ratios, each pair measured side by side in one run."""

from leaderboard import coverage
from tests import bench_novel, bench_site, bench_stats

if __name__ == "__main__":
    bench_stats.run()
    bench_novel.run()
    print("\nThe site, at 1,000 models and 6 million verdicts", flush=True)
    bench_site.main([])
    print("\nThe full coverage study, about ten minutes on two cores", flush=True)
    coverage.main(["--jobs", "2"])
