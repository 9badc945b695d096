INSERT INTO rungs (repo, path, kind, summary, anchor_commit, anchor_object, author, updated_at, version) VALUES
    ('acme/web', '_repo', 'repo', 'A web site', 'c1', '040000 t1', 'ann@example.com', 15, 2);
INSERT INTO rung_versions (repo, path, version, summary, anchor_commit, author, at) VALUES
    ('acme/web', '_repo', 1, 'A site', 'c1', 'ann@example.com', 14);
