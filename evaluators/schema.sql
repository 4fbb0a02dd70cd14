-- The results store. No keys and no indexes: DuckDB checks them eagerly, so replacing a submission's rows inside one
-- transaction would be refused; evaluators/store.py replaces whole submissions, which keeps each of them single.
-- `position` is the order of the file on the left, so that queries can give rows back in that order.

CREATE TABLE meta (schema_version INTEGER NOT NULL);

CREATE TABLE splits (
    split VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    benchmark VARCHAR NOT NULL,
    protocol VARCHAR NOT NULL,
    items INTEGER NOT NULL,
    sha256 VARCHAR NOT NULL,
    manifest VARCHAR NOT NULL              -- the whole SplitManifest, JSON
);

CREATE TABLE items (
    split VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    item_id VARCHAR NOT NULL,
    cluster VARCHAR NOT NULL,
    category VARCHAR NOT NULL
);

CREATE TABLE submissions (
    submission_id VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,                 -- model | gold
    tier VARCHAR NOT NULL,
    benchmark VARCHAR NOT NULL,
    split VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    condition VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    provider VARCHAR NOT NULL,
    jury VARCHAR NOT NULL,
    date VARCHAR NOT NULL,
    submission VARCHAR NOT NULL            -- the whole Submission, JSON
);

-- Message texts stay in the bundles; the store keeps what boards and labelling need.
CREATE TABLE transcripts (
    submission_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    transcript_id VARCHAR NOT NULL,
    item_id VARCHAR NOT NULL,
    epoch INTEGER NOT NULL,
    answer VARCHAR,
    justification VARCHAR,
    failure VARCHAR,
    no_answer BOOLEAN NOT NULL,
    cost_usd DOUBLE
);

CREATE TABLE verdicts (
    submission_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    transcript_id VARCHAR NOT NULL,
    judge VARCHAR NOT NULL,
    provider VARCHAR,
    kind VARCHAR NOT NULL,                 -- model | human | author | rule
    unit VARCHAR NOT NULL,
    score DOUBLE,
    marks VARCHAR NOT NULL,                -- JSON object of booleans
    failure VARCHAR,
    prompt_sha256 VARCHAR,
    reply VARCHAR,                         -- the judge's own words, for the pages of items
    cost_usd DOUBLE
);

-- Derived from the verdicts by evaluators/scores.py when a submission is written.
CREATE TABLE scores (
    submission_id VARCHAR NOT NULL,
    transcript_id VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    value DOUBLE NOT NULL,
    by_rule BOOLEAN NOT NULL,
    votes VARCHAR NOT NULL                 -- JSON array of [judge, score]
);

CREATE TABLE labels (
    submission_id VARCHAR NOT NULL,
    transcript_id VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,                 -- human | author
    value DOUBLE NOT NULL
);

-- The record of each game, whole; only where the protocol has turns.
CREATE TABLE games (
    submission_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    transcript_id VARCHAR NOT NULL,
    item_id VARCHAR NOT NULL,
    epoch INTEGER NOT NULL,
    game VARCHAR NOT NULL                  -- the whole SoupGame, JSON
);

-- What a player of a public case said at each stage; of a case that no manifest here calls public nothing is kept.
CREATE TABLE stages (
    submission_id VARCHAR NOT NULL,
    transcript_id VARCHAR NOT NULL,
    stages VARCHAR NOT NULL                -- JSON array of a list of answers a stage
);

-- What was shown of a novel for each answer: numbers, never text.
CREATE TABLE readings (
    submission_id VARCHAR NOT NULL,
    transcript_id VARCHAR NOT NULL,
    reading VARCHAR NOT NULL               -- the whole NovelRecord, JSON
);

-- Runs on sealed splits: what may be shown of them as a whole, and nothing by item.
CREATE TABLE sealed (
    submission_id VARCHAR NOT NULL,
    split VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    tier VARCHAR NOT NULL,
    submission VARCHAR NOT NULL,           -- the whole Submission, JSON
    estimates VARCHAR NOT NULL             -- JSON array of Estimates
);

-- Items that may be shown beside their answers; those of a release without a licence are not here.
CREATE TABLE puzzles (
    split VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    item VARCHAR NOT NULL                  -- the whole item, JSON
);

CREATE TABLE responder_checks (
    language VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    row VARCHAR NOT NULL                   -- the whole ResponderCheck, JSON
);

CREATE TABLE published_scores (
    split VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    row VARCHAR NOT NULL                   -- the whole PublishedScore, JSON
);

CREATE TABLE published (
    split VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    row VARCHAR NOT NULL                   -- the whole Published, JSON
);

-- Derived from all of the above by leaderboard/standings.py and figures.py, and made again where `digest` no longer fits.
CREATE TABLE standings (
    split VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    jury VARCHAR NOT NULL,
    digest VARCHAR NOT NULL                -- of the rows and of the code that the estimates were made with
);

CREATE TABLE estimates (
    split VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    jury VARCHAR NOT NULL,
    condition VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    submission_id VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    provider VARCHAR NOT NULL,
    tier VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    estimand VARCHAR NOT NULL,
    method VARCHAR NOT NULL,
    value DOUBLE NOT NULL,                 -- shares in [0, 1]; of cases grades from 0 to 3
    low DOUBLE NOT NULL,
    high DOUBLE NOT NULL,
    n INTEGER NOT NULL,
    n_human INTEGER NOT NULL,
    best_rank INTEGER,
    worst_rank INTEGER,
    estimate VARCHAR NOT NULL              -- the whole Estimate, JSON
);

-- What leaderboard/figures.py worked out of single submissions, novel_runs.py of settings and settled.py of boards, so that
-- only new or changed ones are worked out again.
CREATE TABLE figures (
    split VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    jury VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,                 -- what sort of figures they are
    subject VARCHAR NOT NULL,              -- the submission, or those of one line of a board
    digest VARCHAR NOT NULL,               -- of their rows and of the code
    figures VARCHAR NOT NULL               -- JSON
);

-- What ranks, ties and differences of a ranked row come from: joint draws of its score, shared with all rows beside it.
CREATE TABLE places (
    split VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    jury VARCHAR NOT NULL,
    condition VARCHAR NOT NULL,
    submission_id VARCHAR NOT NULL,
    tie_group INTEGER NOT NULL,
    lead DOUBLE NOT NULL,                  -- score minus the leader's, paired, and its interval
    lead_low DOUBLE NOT NULL,
    lead_high DOUBLE NOT NULL,
    likes BLOB NOT NULL,                   -- items like these: little-endian uint16, 65535 is a share of 1
    these BLOB NOT NULL
);
