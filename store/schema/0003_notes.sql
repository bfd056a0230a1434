-- Small things that a routine has to remember between two runs: how far it got, what was turned off by whom.
CREATE TABLE note (
	name    TEXT PRIMARY KEY,
	version BIGINT NOT NULL,
	value   {{bytes}} NOT NULL
);
