-- The bot asks every second what is left to do; what is over must not slow it down.
CREATE INDEX job_unfinished ON job (id) WHERE state IN ('queued', 'claimed');
CREATE INDEX job_of ON job (investigation, kind);
CREATE INDEX post_unsent ON post (id) WHERE state IN ('queued', 'sending');
CREATE INDEX post_unsent_lane ON post (channel, id) WHERE state IN ('queued', 'sending');
CREATE INDEX post_of ON post (investigation, key);
