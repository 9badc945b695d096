CREATE TABLE lanes (
    repo              TEXT    NOT NULL REFERENCES repos (name) ON DELETE CASCADE,
    -- `_repo`, or `lane-` and ten hex digits.
    id                TEXT    NOT NULL,
    title             TEXT    NOT NULL,
    description       TEXT    NOT NULL,
    proposer          TEXT    NOT NULL,
    -- The person behind the proposer.
    proposer_user     TEXT    NOT NULL,
    allow_self_review BIGINT  NOT NULL DEFAULT 0,
    created_at        BIGINT  NOT NULL,
    closed_at         BIGINT,
    PRIMARY KEY (repo, id)
);
CREATE INDEX lanes_open_of_user ON lanes (proposer_user) WHERE closed_at IS NULL;

-- Every repo has its own lane; those added from now on get it with them.
INSERT INTO lanes (repo, id, title, description, proposer, proposer_user, created_at)
SELECT name, '_repo', 'The repository', '', created_by, created_by, created_at FROM repos;

CREATE TABLE related_lanes (
    repo    TEXT    NOT NULL,
    lane    TEXT    NOT NULL,
    related TEXT    NOT NULL,
    at      BIGINT  NOT NULL,
    by      TEXT    NOT NULL,
    PRIMARY KEY (repo, lane, related),
    FOREIGN KEY (repo, lane) REFERENCES lanes (repo, id) ON DELETE CASCADE
);

CREATE TABLE changesets (
    id          TEXT    NOT NULL PRIMARY KEY,
    repo        TEXT    NOT NULL,
    lane        TEXT    NOT NULL,
    -- The ask it is the answer to, or the one that began the work.
    work        TEXT    NOT NULL,
    author      TEXT    NOT NULL,
    -- Who wrote the change that this one mends; the author, where it mends none.
    work_author TEXT    NOT NULL,
    base_commit TEXT,
    message     TEXT    NOT NULL,
    -- reviewing, granted, denied, conflicted, landed
    state       TEXT    NOT NULL,
    reviewed_by TEXT,
    landed_as   TEXT,
    created_at  BIGINT  NOT NULL,
    FOREIGN KEY (repo, lane) REFERENCES lanes (repo, id) ON DELETE CASCADE
);
CREATE INDEX changesets_of_lane ON changesets (repo, lane);

CREATE TABLE changeset_files (
    changeset TEXT    NOT NULL REFERENCES changesets (id) ON DELETE CASCADE,
    path      TEXT    NOT NULL,
    -- NULL where the file is deleted, or only its mode changes.
    content   BYTEA,
    deleted   BIGINT  NOT NULL,
    -- executable, normal; NULL leaves it as it is.
    mode      TEXT,
    PRIMARY KEY (changeset, path)
);

CREATE TABLE asks (
    repo        TEXT    NOT NULL,
    id          TEXT    NOT NULL,
    lane        TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    title       TEXT    NOT NULL,
    body        TEXT    NOT NULL,
    -- JSON arrays of ids and of paths.
    depends_on  TEXT    NOT NULL,
    files       TEXT    NOT NULL,
    priority    BIGINT  NOT NULL,
    scope       TEXT    NOT NULL,
    changeset   TEXT,
    -- The ask whose answer posted this one, and the one that began the work.
    follows     TEXT,
    work        TEXT    NOT NULL,
    posted_by   TEXT    NOT NULL,
    posted_user TEXT    NOT NULL,
    posted_at   BIGINT  NOT NULL,
    -- The latest of posting, claims, renewals, releases and the answer, by the database's clock; it never goes back.
    changed_at  BIGINT  NOT NULL,
    -- open, claimed, answered
    state       TEXT    NOT NULL,
    -- Dependencies that are not answered `complete` or `grant`, and whether one of them never will be.
    waits       BIGINT  NOT NULL,
    blocked     BIGINT  NOT NULL,
    claimed_by  TEXT,
    claimed_at  BIGINT,
    expires_at  BIGINT,
    -- Rises by one with each claim.
    fence       BIGINT  NOT NULL DEFAULT 0,
    verdict     TEXT,
    answered_by TEXT,
    answered_at BIGINT,
    note        TEXT,
    payload     TEXT,
    PRIMARY KEY (repo, id),
    FOREIGN KEY (repo, lane) REFERENCES lanes (repo, id) ON DELETE CASCADE
);
CREATE INDEX asks_of_lane ON asks (repo, lane, posted_at, id);
CREATE INDEX asks_open ON asks (repo, lane, scope, priority DESC, posted_at, id)
    WHERE state = 'open' AND waits = 0;
CREATE INDEX asks_claimed ON asks (repo, lane, expires_at) WHERE state = 'claimed';
CREATE INDEX asks_unanswered_of_user ON asks (posted_user) WHERE state <> 'answered' AND follows IS NULL;
CREATE INDEX asks_of_changeset ON asks (changeset) WHERE changeset IS NOT NULL;

CREATE TABLE ask_dependencies (
    repo  TEXT NOT NULL,
    ask   TEXT NOT NULL,
    needs TEXT NOT NULL,
    PRIMARY KEY (repo, ask, needs),
    FOREIGN KEY (repo, ask) REFERENCES asks (repo, id) ON DELETE CASCADE
);
CREATE INDEX ask_dependents ON ask_dependencies (repo, needs);

-- The files that unanswered asks are known to touch.
CREATE TABLE ask_files (
    repo TEXT NOT NULL,
    path TEXT NOT NULL,
    ask  TEXT NOT NULL,
    PRIMARY KEY (repo, path, ask),
    FOREIGN KEY (repo, ask) REFERENCES asks (repo, id) ON DELETE CASCADE
);
CREATE INDEX ask_files_of_ask ON ask_files (repo, ask);

CREATE INDEX events_of_lane ON events (repo, lane, tx, id) WHERE lane IS NOT NULL;
