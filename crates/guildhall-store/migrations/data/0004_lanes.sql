INSERT INTO lanes
    (repo, id, title, description, proposer, proposer_user, allow_self_review, created_at, closed_at) VALUES
    ('acme/web', 'lane-0000000000', 'Search', 'Find things', 'ann@example.com[claude]', 'ann@example.com', 0, 15, NULL);
INSERT INTO related_lanes (repo, lane, related, at, by) VALUES
    ('acme/web', '_repo', 'lane-0000000000', 16, 'owner@example.com');
INSERT INTO changesets
    (id, repo, lane, work, author, work_author, base_commit, message, state, reviewed_by, landed_as, created_at) VALUES
    ('changeset-00000000000000000000000000000001', 'acme/web', 'lane-0000000000', 'ask-0000000001',
     'ann@example.com[claude]', 'ann@example.com[claude]', 'c1', 'Add search', 'reviewing', NULL, NULL, 18);
INSERT INTO changeset_files (changeset, path, content, deleted, mode) VALUES
    ('changeset-00000000000000000000000000000001', 'src/search.rs', x'0a', 0, NULL);
INSERT INTO asks
    (repo, id, lane, kind, title, body, depends_on, files, priority, scope, changeset, follows, work, posted_by,
     posted_user, posted_at, changed_at, state, waits, blocked, claimed_by, claimed_at, expires_at, fence, verdict,
     answered_by, answered_at, note, payload) VALUES
    ('acme/web', 'ask-0000000001', 'lane-0000000000', 'work', 'Add search', '', '[]', '[]', 0, 'contributor', NULL,
     NULL, 'ask-0000000001', 'ann@example.com', 'ann@example.com', 16, 18, 'answered', 0, 0,
     'ann@example.com[claude]', 17, 20, 1, 'complete', 'ann@example.com[claude]', 18, NULL, '{}'),
    ('acme/web', 'ask-0000000002', 'lane-0000000000', 'changeset_review', 'Review: Add search', '', '[]', '[]', 0,
     'maintainer', 'changeset-00000000000000000000000000000001', 'ask-0000000001', 'ask-0000000001',
     'ann@example.com[claude]', 'ann@example.com', 18, 18, 'open', 0, 0, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL,
     NULL);
INSERT INTO ask_dependencies (repo, ask, needs) VALUES
    ('acme/web', 'ask-0000000002', 'ask-0000000001');
INSERT INTO ask_files (repo, path, ask) VALUES
    ('acme/web', 'src/search.rs', 'ask-0000000002');
