-- A digest of what the search index has of the rung; NULL where that is not known. What is as it should be is not indexed
-- again.
ALTER TABLE rungs ADD COLUMN indexed TEXT;
