INSERT INTO repos (name, public, default_branch, head, origin, created_at, created_by) VALUES
    ('acme/web', 1, 'main', 'c1', 'https://example.com/acme/web.git', 12, 'owner@example.com');
INSERT INTO roles (repo, lane, user_name, role, granted_at, granted_by) VALUES
    ('acme/web', '', 'ann@example.com', 'owner', 13, 'owner@example.com'),
    ('acme/web', 'lane-0000000000', 'ann@example.com', 'coordinator', 14, 'owner@example.com');
