INSERT INTO once (principal, tool, key, arguments, answer, at, repo) VALUES
    ('ann@example.com', 'ask_post', 'k8', x'0000000000000000000000000000000000000000000000000000000000000000', '{}', 18, 'acme/web');
