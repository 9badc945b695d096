CREATE TABLE repos (
    name           TEXT    NOT NULL PRIMARY KEY,
    public         BIGINT  NOT NULL,
    default_branch TEXT    NOT NULL,
    -- The commit of the default branch; NULL in an empty repo. Landing compares and swaps it.
    head           TEXT,
    origin         TEXT,
    created_at     BIGINT  NOT NULL,
    created_by     TEXT    NOT NULL
);
-- Two repos whose names differ only in case would share a folder on some disks.
CREATE UNIQUE INDEX repos_by_folded_name ON repos (lower(name));

CREATE TABLE roles (
    repo       TEXT    NOT NULL REFERENCES repos (name) ON DELETE CASCADE,
    -- '' for a role on the repo itself.
    lane       TEXT    NOT NULL,
    user_name  TEXT    NOT NULL REFERENCES principals (name),
    role       TEXT    NOT NULL,
    granted_at BIGINT  NOT NULL,
    granted_by TEXT    NOT NULL,
    PRIMARY KEY (repo, lane, user_name, role)
);
CREATE INDEX roles_of_user ON roles (user_name);
