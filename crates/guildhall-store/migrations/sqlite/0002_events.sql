-- The end of each stream's chain: the row that a change of the stream locks.
CREATE TABLE streams (
    stream TEXT    NOT NULL PRIMARY KEY,
    length INTEGER NOT NULL,
    hash   BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

-- Rows are added and never changed.
CREATE TABLE events (
    id      INTEGER PRIMARY KEY,
    stream  TEXT    NOT NULL,
    seq     INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    actor   TEXT    NOT NULL,
    kind    TEXT    NOT NULL,
    repo    TEXT,
    lane    TEXT,
    ask     TEXT,
    session TEXT,
    run     TEXT,
    data    TEXT    NOT NULL,
    hash    BLOB    NOT NULL,
    UNIQUE (stream, seq)
) STRICT;

CREATE TABLE seals (
    number  INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    last_tx INTEGER NOT NULL,
    last_id INTEGER NOT NULL,
    count   INTEGER NOT NULL,
    hash    BLOB    NOT NULL
) STRICT;
