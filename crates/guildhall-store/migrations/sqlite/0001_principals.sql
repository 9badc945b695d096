CREATE TABLE principals (
    name        TEXT    NOT NULL PRIMARY KEY,
    -- The person: `name` itself for a user.
    user_name   TEXT    NOT NULL,
    -- Whether this is a user who operates the server: owner of every repo.
    operator    INTEGER NOT NULL DEFAULT 0,
    created_at  INTEGER NOT NULL,
    created_by  TEXT    NOT NULL,
    disabled_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX principals_of_user ON principals (user_name);

CREATE TABLE tokens (
    id           TEXT    NOT NULL PRIMARY KEY,
    hash         BLOB    NOT NULL UNIQUE,
    principal    TEXT    NOT NULL REFERENCES principals (name),
    created_at   INTEGER NOT NULL,
    created_by   TEXT    NOT NULL,
    last_used_at INTEGER,
    expires_at   INTEGER,
    -- JSON arrays of names; NULL is no limit.
    repos        TEXT,
    tools        TEXT,
    revoked_at   INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_of_principal ON tokens (principal, created_at);

CREATE TABLE logins (
    -- Hashes of the code the device keeps and of the one a person types.
    device      BLOB    NOT NULL PRIMARY KEY,
    typed       BLOB    UNIQUE,
    -- What asks, as it calls itself.
    client      TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    -- Who it signs in, once a person said so.
    principal   TEXT    REFERENCES principals (name),
    denied_at   INTEGER,
    used_at     INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE once (
    principal TEXT    NOT NULL,
    tool      TEXT    NOT NULL,
    key       TEXT    NOT NULL,
    arguments BLOB    NOT NULL,
    answer    TEXT,
    at        INTEGER NOT NULL,
    PRIMARY KEY (principal, tool, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX once_by_age ON once (at);
