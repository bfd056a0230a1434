-- Written once for both databases. {{id}} and {{bytes}} are what each calls a number that it gives itself, and bytes.
-- Times are microseconds since 1970 (0 = none), told by one clock: the database's, where several hosts share it.

CREATE TABLE counter (
	name  TEXT PRIMARY KEY,
	value BIGINT NOT NULL
);
INSERT INTO counter (name, value) VALUES ('investigation', 0);

-- The truth is data: an encoded workflow.Investigation. The other columns are copied from it, to be searched.
CREATE TABLE investigation (
	opened    {{id}},
	id        TEXT NOT NULL UNIQUE,
	version   BIGINT NOT NULL,
	state     TEXT NOT NULL,
	open_key  TEXT NOT NULL,
	team      TEXT NOT NULL,
	channel   TEXT NOT NULL,
	cluster   TEXT NOT NULL,
	job       TEXT NOT NULL,
	requester TEXT NOT NULL,
	summary   {{bytes}} NOT NULL,
	data      {{bytes}} NOT NULL
);
-- Two investigations of one run are never open at the same time.
CREATE UNIQUE INDEX investigation_open_key ON investigation (open_key) WHERE open_key <> '';

CREATE TABLE entry (
	investigation TEXT NOT NULL,
	seq           BIGINT NOT NULL,
	at            BIGINT NOT NULL,
	kind          TEXT NOT NULL,
	from_state    TEXT NOT NULL,
	event         TEXT NOT NULL,
	to_state      TEXT NOT NULL,
	actor         TEXT NOT NULL,
	words         TEXT NOT NULL,
	PRIMARY KEY (investigation, seq)
);

CREATE TABLE job (
	id            {{id}},
	key           TEXT NOT NULL UNIQUE,
	kind          TEXT NOT NULL,
	investigation TEXT NOT NULL,
	payload       {{bytes}} NOT NULL,
	state         TEXT NOT NULL DEFAULT 'queued',
	not_before    BIGINT NOT NULL,
	owner         TEXT NOT NULL DEFAULT '',
	fence         BIGINT NOT NULL DEFAULT 0,
	lease_until   BIGINT NOT NULL DEFAULT 0,
	attempts      BIGINT NOT NULL DEFAULT 0,
	last_error    TEXT NOT NULL DEFAULT '',
	added         BIGINT NOT NULL,
	settled       BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE post (
	id            {{id}},
	investigation TEXT NOT NULL,
	kind          TEXT NOT NULL,
	key           TEXT NOT NULL,
	channel       TEXT NOT NULL,
	thread        TEXT NOT NULL,
	thread_ts     TEXT NOT NULL,
	user_id       TEXT NOT NULL,
	respond       TEXT NOT NULL,
	link_to       TEXT NOT NULL,
	payload       {{bytes}} NOT NULL,
	files         {{bytes}} NOT NULL,
	state         TEXT NOT NULL DEFAULT 'queued',
	not_before    BIGINT NOT NULL DEFAULT 0,
	marked        BIGINT NOT NULL DEFAULT 0,
	attempts      BIGINT NOT NULL DEFAULT 0,
	last_error    TEXT NOT NULL DEFAULT '',
	ts            TEXT NOT NULL DEFAULT '',
	link          TEXT NOT NULL DEFAULT '',
	added         BIGINT NOT NULL,
	settled       BIGINT NOT NULL DEFAULT 0
);
-- A message is said once.
CREATE UNIQUE INDEX post_key ON post (investigation, kind, key)
	WHERE key <> '' AND investigation <> '' AND kind IN ('message', 'files') AND state <> 'undeliverable';
