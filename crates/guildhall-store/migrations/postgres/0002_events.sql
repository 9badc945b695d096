-- The end of each stream's chain: the row that a change of the stream locks.
CREATE TABLE streams (
    stream TEXT    COLLATE "C" NOT NULL PRIMARY KEY,
    length BIGINT  NOT NULL,
    hash   BYTEA   NOT NULL
);

-- Rows are added and never changed.
CREATE TABLE events (
    id      BIGINT  NOT NULL GENERATED ALWAYS AS IDENTITY,
    -- The transaction that wrote the row. Ids are drawn before the commit, so (tx, id) is the order to read in: what is
    -- below the oldest running transaction gets no more rows.
    tx      BIGINT  NOT NULL DEFAULT (pg_current_xact_id()::text::bigint),
    stream  TEXT    COLLATE "C" NOT NULL,
    seq     BIGINT  NOT NULL,
    at      BIGINT  NOT NULL,
    actor   TEXT    NOT NULL,
    kind    TEXT    NOT NULL,
    repo    TEXT,
    lane    TEXT,
    ask     TEXT,
    session TEXT,
    run     TEXT,
    data    TEXT    NOT NULL,
    hash    BYTEA   NOT NULL,
    PRIMARY KEY (tx, id),
    UNIQUE (stream, seq)
);

CREATE TABLE seals (
    number  BIGINT  PRIMARY KEY,
    at      BIGINT  NOT NULL,
    last_tx BIGINT  NOT NULL,
    last_id BIGINT  NOT NULL,
    count   BIGINT  NOT NULL,
    hash    BYTEA   NOT NULL
);
