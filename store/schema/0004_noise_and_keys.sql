-- What nobody asked for is counted, and held back beyond a bound (workflow.UnaskedMost). Of earlier posts nobody knows; they count as
-- answers.
ALTER TABLE post ADD COLUMN unasked BIGINT NOT NULL DEFAULT 0;
ALTER TABLE post ADD COLUMN topic   TEXT NOT NULL DEFAULT '';
ALTER TABLE post ADD COLUMN settles BIGINT NOT NULL DEFAULT 0;

-- A number says which case people talk about; the key says which case a button belongs to. {{random}} is another one for every row.
ALTER TABLE investigation ADD COLUMN case_key TEXT NOT NULL DEFAULT '';
UPDATE investigation SET case_key = {{random}};
-- 1 once the highest number is kept outside of the database too.
INSERT INTO counter (name, value) VALUES ('numbers kept', 0);
