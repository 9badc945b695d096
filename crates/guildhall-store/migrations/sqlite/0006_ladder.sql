CREATE TABLE rungs (
    -- Never used again, for the search index knows a rung by it.
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    repo          TEXT    NOT NULL REFERENCES repos (name) ON DELETE CASCADE,
    path          TEXT    NOT NULL,
    kind          TEXT    NOT NULL,
    summary       TEXT    NOT NULL,
    -- The commit it was written at, and what stood at the path there: `<mode> <id>`, or the commit of a tag.
    anchor_commit TEXT,
    anchor_object TEXT,
    author        TEXT    NOT NULL,
    updated_at    INTEGER NOT NULL,
    version       INTEGER NOT NULL,
    UNIQUE (repo, path)
) STRICT;
CREATE INDEX rungs_of_repo ON rungs (repo, id);

-- What a rung was before it was replaced.
CREATE TABLE rung_versions (
    repo          TEXT    NOT NULL REFERENCES repos (name) ON DELETE CASCADE,
    path          TEXT    NOT NULL,
    version       INTEGER NOT NULL,
    summary       TEXT    NOT NULL,
    anchor_commit TEXT,
    author        TEXT    NOT NULL,
    at            INTEGER NOT NULL,
    PRIMARY KEY (repo, path, version)
) STRICT, WITHOUT ROWID;

-- The words of each rung, under its id: split by us, so that both databases find the same. Beside the words stand marks
-- for its repo, its kind and the directories it is below; no word looks like a mark.
CREATE VIRTUAL TABLE rung_words USING fts5 (
    words, content = '', contentless_delete = 1, tokenize = 'ascii'
);
CREATE TRIGGER rung_removed AFTER DELETE ON rungs BEGIN
    DELETE FROM rung_words WHERE rowid = old.id;
END;
