INSERT INTO streams (stream, length, hash) VALUES
    ('principal:ann@example.com', 1, x'0505050505050505050505050505050505050505050505050505050505050505');
INSERT INTO events (stream, seq, at, actor, kind, repo, lane, ask, session, run, data, hash) VALUES
    ('principal:ann@example.com', 1, 10, 'owner@example.com', 'principal.added', NULL, NULL, NULL, NULL, NULL,
     '{"principal":"ann@example.com"}', x'0505050505050505050505050505050505050505050505050505050505050505');
INSERT INTO seals (number, at, last_tx, last_id, count, hash) VALUES
    (1, 11, 0, 0, 0, x'0606060606060606060606060606060606060606060606060606060606060606');
