-- What nobody asked for is counted, and held back beyond a bound (workflow.UnaskedMost). Of earlier posts nobody knows; they count as
-- answers.
ALTER TABLE post ADD COLUMN unasked BIGINT NOT NULL DEFAULT 0;
ALTER TABLE post ADD COLUMN topic   TEXT NOT NULL DEFAULT '';
ALTER TABLE post ADD COLUMN settles BIGINT NOT NULL DEFAULT 0;
