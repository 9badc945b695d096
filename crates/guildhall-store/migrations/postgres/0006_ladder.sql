CREATE TABLE rungs (
    -- Never used again, for the search index knows a rung by it.
    id            BIGINT  PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    repo          TEXT    NOT NULL REFERENCES repos (name) ON DELETE CASCADE,
    -- In the order of bytes, as SQLite has it.
    path          TEXT    COLLATE "C" NOT NULL,
    kind          TEXT    NOT NULL,
    summary       TEXT    NOT NULL,
    -- The commit it was written at, and what stood at the path there: `<mode> <id>`, or the commit of a tag.
    anchor_commit TEXT,
    anchor_object TEXT,
    author        TEXT    NOT NULL,
    updated_at    BIGINT  NOT NULL,
    version       BIGINT  NOT NULL,
    UNIQUE (repo, path)
);
CREATE INDEX rungs_of_repo ON rungs (repo, id);

-- What a rung was before it was replaced.
CREATE TABLE rung_versions (
    repo          TEXT    NOT NULL REFERENCES repos (name) ON DELETE CASCADE,
    path          TEXT    COLLATE "C" NOT NULL,
    version       BIGINT  NOT NULL,
    summary       TEXT    NOT NULL,
    anchor_commit TEXT,
    author        TEXT    NOT NULL,
    at            BIGINT  NOT NULL,
    PRIMARY KEY (repo, path, version)
);

-- The words of each rung, under its id: split by us, so that both databases find the same. Beside the words stand marks
-- for its repo, its kind and the directories it is below; no word looks like a mark.
CREATE TABLE rung_words (
    rung  BIGINT   PRIMARY KEY REFERENCES rungs (id) ON DELETE CASCADE,
    repo  TEXT     NOT NULL,
    words TSVECTOR NOT NULL
);
CREATE INDEX rung_words_by_word ON rung_words USING gin (words);
CREATE INDEX rung_words_of_repo ON rung_words (repo);
