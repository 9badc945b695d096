-- What the tests put into the tables after this migration, for the later ones to meet. Bytes are written x'…'; for
-- PostgreSQL the test rewrites them.
INSERT INTO principals (name, user_name, operator, created_at, created_by, disabled_at) VALUES
    ('owner@example.com', 'owner@example.com', 1, 1, 'owner@example.com', NULL),
    ('ann@example.com', 'ann@example.com', 0, 2, 'owner@example.com', NULL),
    ('ann@example.com[claude]', 'ann@example.com', 0, 3, 'ann@example.com', NULL),
    ('bob@example.com', 'bob@example.com', 0, 4, 'owner@example.com', 5);
INSERT INTO tokens
    (id, hash, principal, created_at, created_by, last_used_at, expires_at, repos, tools, revoked_at) VALUES
    ('tok-1', x'0101010101010101010101010101010101010101010101010101010101010101',
     'ann@example.com[claude]', 6, 'ann@example.com', 7, 4102444800000, '["acme/web"]', '["git_log"]', NULL);
INSERT INTO logins (device, typed, client, created_at, expires_at, principal, denied_at, used_at) VALUES
    (x'02', x'03', 'laptop', 8, 4102444800000, NULL, NULL, NULL);
INSERT INTO once (principal, tool, key, arguments, answer, at) VALUES
    ('ann@example.com', 'ask_post', 'k', x'04', '{}', 9);
