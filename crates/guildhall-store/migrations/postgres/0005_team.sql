-- A token can be bound to one role of one session.
ALTER TABLE tokens ADD COLUMN session TEXT;
ALTER TABLE tokens ADD COLUMN role TEXT;
CREATE INDEX tokens_of_session ON tokens (session) WHERE session IS NOT NULL;

CREATE TABLE team_sessions (
    -- `<project>-<slot>`.
    id         TEXT    NOT NULL PRIMARY KEY,
    project    TEXT    NOT NULL,
    slot       BIGINT  NOT NULL,
    namespace  TEXT    NOT NULL,
    -- `owner/name`; whoever is a contributor there sees the session.
    repo       TEXT,
    -- The checkout its worktrees belong to, and the branch they began at, on the machine of who made it.
    root       TEXT,
    branch     TEXT,
    -- The person it belongs to.
    owner      TEXT    NOT NULL REFERENCES principals (name),
    created_at BIGINT  NOT NULL,
    created_by TEXT    NOT NULL,
    stopped_at BIGINT
);
CREATE INDEX team_sessions_of_owner ON team_sessions (owner, created_at);
CREATE INDEX team_sessions_of_project ON team_sessions (project, slot);

CREATE TABLE team_roles (
    session     TEXT    NOT NULL REFERENCES team_sessions (id) ON DELETE CASCADE,
    role        TEXT    NOT NULL,
    -- The order of the session.
    position    BIGINT  NOT NULL,
    -- NULL until the role is active.
    status      TEXT,
    stopped     BIGINT  NOT NULL DEFAULT 0,
    -- Who speaks for it, and the person who took it over.
    holder      TEXT,
    held_by     TEXT,
    paused_at   BIGINT,
    -- The agent's command line: `claude`, `codex`.
    agent       TEXT,
    task        TEXT,
    summary     TEXT,
    seen_at     BIGINT,
    worktree    TEXT,
    branch      TEXT,
    pane        TEXT,
    -- The number of its newest message, and how many it has not been shown; the row that a sender locks.
    last_number BIGINT  NOT NULL DEFAULT 0,
    waiting     BIGINT  NOT NULL DEFAULT 0,
    PRIMARY KEY (session, role)
);
CREATE INDEX team_roles_of_holder ON team_roles (holder) WHERE holder IS NOT NULL;

-- When an agent last asked for anything: apart from the role, so that noting it waits for no sender.
CREATE TABLE team_seen (
    session TEXT    NOT NULL,
    role    TEXT    NOT NULL,
    at      BIGINT  NOT NULL,
    PRIMARY KEY (session, role)
);

CREATE TABLE team_tasks (
    session     TEXT    NOT NULL,
    id          TEXT    NOT NULL,
    role        TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    summary     TEXT    NOT NULL,
    next_action TEXT,
    -- A JSON array of paths.
    files       TEXT,
    priority    TEXT    NOT NULL,
    made_at     BIGINT  NOT NULL,
    made_by     TEXT    NOT NULL,
    changed_at  BIGINT  NOT NULL,
    PRIMARY KEY (session, id)
);
CREATE INDEX team_tasks_of_role ON team_tasks (session, role, made_at);

-- Status reports, and what else became of a role.
CREATE TABLE team_history (
    id          TEXT    NOT NULL PRIMARY KEY,
    session     TEXT    NOT NULL,
    at          BIGINT  NOT NULL,
    role        TEXT    NOT NULL,
    event       TEXT    NOT NULL,
    status      TEXT,
    summary     TEXT,
    validation  TEXT,
    next_action TEXT,
    task        TEXT,
    by          TEXT    NOT NULL
);
CREATE INDEX team_history_of_session ON team_history (session, at);

CREATE TABLE team_messages (
    session          TEXT    NOT NULL,
    -- The recipient, and the message's number in its inbox.
    role             TEXT    NOT NULL,
    number           BIGINT  NOT NULL,
    id               TEXT    NOT NULL UNIQUE,
    kind             TEXT    NOT NULL,
    -- A role, or a person by name.
    sender           TEXT    NOT NULL,
    body             TEXT    NOT NULL,
    task             TEXT,
    requested_action TEXT,
    importance       TEXT,
    reply_to         TEXT,
    at               BIGINT  NOT NULL,
    delivered_at     BIGINT,
    read_at          BIGINT,
    acknowledged_at  BIGINT,
    PRIMARY KEY (session, role, number)
);
CREATE INDEX team_messages_open ON team_messages (session, role, number) WHERE acknowledged_at IS NULL;
CREATE INDEX team_messages_of_sender ON team_messages (session, sender, at);
