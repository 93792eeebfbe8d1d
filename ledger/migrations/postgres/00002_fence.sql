-- +goose Up
-- version is the fence: it rises with every record and settlement of a run, and a
-- run that began from an older one has been overtaken. last_write tells a repeated
-- write, whose first answer was lost, from one that was overtaken.
ALTER TABLE leads ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
ALTER TABLE leads ADD COLUMN last_write TEXT NOT NULL DEFAULT '';
-- Leads whose enqueue died half-way are found without a scan of the live ones.
CREATE INDEX leads_unqueued ON leads (lead_id) WHERE enqueued_at IS NULL AND settled_generation < generation;

-- +goose Down
DROP INDEX leads_unqueued;
ALTER TABLE leads DROP COLUMN last_write;
ALTER TABLE leads DROP COLUMN version;
