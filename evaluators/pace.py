"""How many calls a service takes at one time, found out by what becomes of them; no clock, no network.

A service that is full turns away what is too much: of fewer calls, none. A moody one turns away a share of any number
of calls: fewer only make the run longer. A refusal does not tell them apart, slowing down does.
"""

from dataclasses import dataclass

PROBE = 0.125  # calls at one time that are tried more, a round trip, where the service was full when last seen
DEEPER = 0.85  # of what a service took that it is given for a look: one that is just full turns some away by chance
FIRST = 16  # fewest calls by which the share is told that is turned away before slowing down
THEN = (24, 192)  # fewest and most calls that are looked at after it
MOODIEST = 0.5  # share of calls turned away from which on a service counts as full, whatever slowing down brings
FORGIVEN = 1.5  # times the share of a moody service's refusals that do not slow it down: shares vary
BELIEVED = 1024  # calls after which it is asked again whether a service is as moody as it was


@dataclass
class _Trial:
    """A look at whether slowing down helps.

    Attributes:
        size: Calls at one time before it.
        top: Calls at one time that come back if it does not help.
        asked: By a refusal that nothing explains; else to see whether a mood has passed.
        calls: That ended at first.
        refused: Of these, turned away.
        slowed: When that was enough and it was slowed down; None: not yet.
        took: Calls at one time that the service took before.
        later: Calls sent after that.
        refused_later: Of these, turned away.
    """

    size: float
    top: float
    asked: bool
    calls: int = 0
    refused: int = 0
    slowed: float | None = None
    took: float = 1.0
    later: int = 0
    refused_later: int = 0

    @property
    def share(self) -> float:
        """Share turned away before it was slowed down."""
        return self.refused / self.calls

    def bears(self) -> bool:
        """Whether one refusal more is none too many since it was slowed down, were the service moody."""
        return self.slowed is not None and self.refused_later < 2 + FORGIVEN * min(MOODIEST, self.share) * self.later

    def moody(self, size: float, mood: float) -> bool | None:
        """Tell a moody service from a full one; None: not yet.

        Args:
            size: Calls at one time since it was slowed down.
            mood: Share that is known to be turned away at any pace.
        """
        fewest, most = THEN
        if not self.refused_later:
            return False if self.later >= min(most, 6 / self.share) else None
        if self.later < fewest:
            return None
        after = self.refused_later / self.later
        # A full service takes as many as before, but for a mood that is known; a moody one turns away the same share.
        # Of one call at a time none is too much.
        full = max(mood, 1 - (1 - self.share) * self.size / size if size > 1 else 0.0)
        moody = full + (self.share - full) / (2 if mood else 3)
        if moody <= after <= MOODIEST:
            return True
        return False if after > MOODIEST or after < (full + moody) / 2 or self.later >= most else None


class Pace:
    """Calls at one time that a service is given.

    - A call that is turned away takes its place with it: what is left after a round trip is what the service took.
    - Then calls are looked at that were sent after it. A full service takes them; of a moody one, as large a share is
      turned away as before, so the places come back, and from then on that share of refusals takes none.
    - Growth is that of CUBIC (RFC 9438): slow where it was last turned away, faster the further from there.

    Args:
        most: Calls at one time that are wanted; it begins with these.

    Attributes:
        mood: Share of calls that the service turns away at any pace, as far as is known.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.mood = 0.0
        self._size = self._full = float(most)
        self._spare = 0.0  # refusals that the mood explains and that have not come yet
        self._since = 0  # calls since the last look
        self._top = 0.0  # calls at one time before that, where it is not clear that they were too many
        self._trial: _Trial | None = None

    @property
    def size(self) -> int:
        """Calls at one time."""
        return int(self._size)

    def note(self, *, refused: bool, sent: float, now: float) -> int:
        """Note that a call was answered or turned away, and return the calls at one time from now on.

        Args:
            refused: Turned away, or never answered, as by a service that has too much to do.
            sent: When it was sent.
            now: The time, on the same clock.
        """
        self._since += 1
        # No more is forgiven at once than a round trip brings.
        self._spare = min(max(3.0, self.mood * self._size), self._spare + FORGIVEN * self.mood) if self.mood else 0.0
        if refused and self._trial is not None and self._trial.bears():
            pass
        elif refused and self._spare >= 1:
            self._spare -= 1
        elif refused:
            self._give_way()
        if self._trial is None and self.mood and self._since >= BELIEVED:
            self._trial = _Trial(self._size, self._size, asked=False)
        if self._trial is not None:
            self._look(self._trial, refused, sent, now)
        elif not refused and self._size < self.most:
            self._grow()
        return self.size

    def _give_way(self) -> None:
        # Where it was not full before, something has changed; that it does not take one call more is no surprise.
        if self._trial is None and self.size <= int(self._full):
            # Soon after the last look its answer is in doubt, too.
            top = max(self._top, self._size) if self._since < THEN[1] else self._size
            self._trial = _Trial(self._size, top, asked=True)
        if self._size > 1:
            self._size = self._full = max(1.0, self._size - 1)
        elif self._trial is not None:
            # Nothing was taken, which does not say how much would be: as TCP does, fast up to half, then slow.
            self._full = max(1.0, self._trial.size / 2)

    def _grow(self) -> None:
        away = self._size - self._full
        self._size = min(self.most, self._size + min(1.0, max(PROBE, away - 1, -away) / self._size))

    def _look(self, trial: _Trial, refused: bool, sent: float, now: float) -> None:
        if trial.slowed is None:
            trial.calls += 1
            trial.refused += refused
            if trial.calls >= max(FIRST, trial.size):
                self._slow_down(trial, now)
        elif sent >= trial.slowed:
            trial.later += 1
            trial.refused_later += refused
            moody = trial.moody(self._size, self.mood if trial.asked else 0.0)
            if moody is not None:
                self._end(trial, moody)

    def _slow_down(self, trial: _Trial, now: float) -> None:
        if not trial.refused:
            self.mood, self._trial = 0.0, None
            return
        trial.slowed = now
        trial.took = max(1.0, min(self._size, (1 - trial.share) * trial.size))
        if self._size > 1:
            self._full = min(self._full, trial.took)
        self._size = max(1.0, min(self._size, DEEPER * trial.took))

    def _end(self, trial: _Trial, moody: bool) -> None:
        self._trial, self._since = None, 0
        after = trial.refused_later / trial.later
        if moody:
            self.mood = min(MOODIEST, (trial.refused + trial.refused_later) / (trial.calls + trial.later))
            self._spare = max(3.0, self.mood * self._size)
            self._size = self._full = trial.top
            return
        self._top = trial.top if trial.share <= MOODIEST else 0.0
        if not trial.asked:
            self.mood = after
        if after > MOODIEST:
            self._size = self._full = max(1.0, (1 - after) * self._size)
        else:
            self._size = max(self._size, min(self._full, trial.took))
