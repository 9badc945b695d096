CREATE TABLE principals (
    name        TEXT    NOT NULL PRIMARY KEY,
    -- The person: `name` itself for a user.
    user_name   TEXT    NOT NULL,
    -- Whether this is a user who operates the server: owner of every repo.
    operator    BIGINT  NOT NULL DEFAULT 0,
    created_at  BIGINT  NOT NULL,
    created_by  TEXT    NOT NULL,
    disabled_at BIGINT
);
CREATE INDEX principals_of_user ON principals (user_name);

CREATE TABLE tokens (
    id           TEXT    NOT NULL PRIMARY KEY,
    hash         BYTEA   NOT NULL UNIQUE,
    principal    TEXT    NOT NULL REFERENCES principals (name),
    created_at   BIGINT  NOT NULL,
    created_by   TEXT    NOT NULL,
    last_used_at BIGINT,
    expires_at   BIGINT,
    -- JSON arrays of names; NULL is no limit.
    repos        TEXT,
    tools        TEXT,
    revoked_at   BIGINT
);
CREATE INDEX tokens_of_principal ON tokens (principal, created_at);

CREATE TABLE logins (
    -- Hashes of the code the device keeps and of the one a person types.
    device      BYTEA   NOT NULL PRIMARY KEY,
    typed       BYTEA   UNIQUE,
    -- What asks, as it calls itself.
    client      TEXT    NOT NULL,
    created_at  BIGINT  NOT NULL,
    expires_at  BIGINT  NOT NULL,
    -- Who it signs in, once a person said so.
    principal   TEXT    REFERENCES principals (name),
    denied_at   BIGINT,
    used_at     BIGINT
);

CREATE TABLE once (
    principal TEXT    NOT NULL,
    tool      TEXT    NOT NULL,
    key       TEXT    NOT NULL,
    arguments BYTEA   NOT NULL,
    answer    TEXT,
    at        BIGINT  NOT NULL,
    PRIMARY KEY (principal, tool, key)
);
CREATE INDEX once_by_age ON once (at);
