UPDATE tokens SET session = 'myproject-1', role = 'ai' WHERE id = 'tok-1';
INSERT INTO team_sessions
    (id, project, slot, namespace, repo, root, branch, owner, created_at, created_by, stopped_at) VALUES
    ('myproject-1', 'myproject', 1, 'default', 'acme/web', '/work', 'main', 'ann@example.com', 15, 'ann@example.com', NULL);
INSERT INTO team_roles
    (session, role, position, status, stopped, holder, held_by, paused_at, agent, task, summary, seen_at, worktree, branch,
     pane, last_number, waiting) VALUES
    ('myproject-1', 'orchestrator', 0, 'active', 0, 'ann@example.com[claude]', NULL, NULL, 'claude', NULL, NULL, 16,
     NULL, NULL, NULL, 0, 0),
    ('myproject-1', 'ai', 1, 'busy', 0, 'ann@example.com[claude]', NULL, NULL, 'claude', 't1', 'Reading', 16, '/work/ai',
     'myproject-1/ai', '%1', 1, 1);
INSERT INTO team_seen (session, role, at) VALUES ('myproject-1', 'ai', 17);
INSERT INTO team_tasks
    (session, id, role, state, summary, next_action, files, priority, made_at, made_by, changed_at) VALUES
    ('myproject-1', 't1', 'ai', 'open', 'Review', NULL, '["a.rs"]', 'normal', 18, 'orchestrator', 18);
INSERT INTO team_history
    (id, session, at, role, event, status, summary, validation, next_action, task, by) VALUES
    ('rep-1', 'myproject-1', 19, 'ai', 'report', 'ack', 'Reading', NULL, NULL, 't1', 'ann@example.com[claude]');
INSERT INTO team_messages
    (session, role, number, id, kind, sender, body, task, requested_action, importance, reply_to, at, delivered_at, read_at,
     acknowledged_at) VALUES
    ('myproject-1', 'ai', 1, 'msg-1', 'dispatch', 'orchestrator', 'Review', 't1', NULL, NULL, NULL, 18, NULL, NULL, NULL);
