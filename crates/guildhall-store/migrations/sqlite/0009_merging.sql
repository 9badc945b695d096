-- An entry that is replaced leaves a mark in the part of the index where it was, and a part with many marks is written anew
-- without what they stand for. At the usual tenth, replacing all entries of a repo wrote most of the index ten times over.
INSERT INTO rung_words (rung_words, rank) VALUES ('deletemerge', 50);
