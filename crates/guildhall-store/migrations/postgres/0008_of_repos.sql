-- A key goes with the repo that its call was about: a repo of the same name later is another one.
ALTER TABLE once ADD COLUMN repo TEXT;
CREATE INDEX once_of_repo ON once (repo) WHERE repo IS NOT NULL;

-- What is acknowledged counts as read.
CREATE INDEX team_messages_unread ON team_messages (session, role, number) WHERE read_at IS NULL;
