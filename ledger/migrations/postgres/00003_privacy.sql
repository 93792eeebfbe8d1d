-- A person column holds the keyed hash of lead.PersonKey, "" where it cannot be told
-- who it is, and NULL in rows of before this migration until Open has filled them.
-- +goose Up
ALTER TABLE leads ADD COLUMN person TEXT COLLATE "C";
ALTER TABLE leads ADD COLUMN credits TEXT NOT NULL DEFAULT '{}'; -- what its calls cost, by provider, as JSON
CREATE INDEX leads_by_person ON leads (person) WHERE person IS NOT NULL;
DROP INDEX leads_by_email; -- an address is looked for among its person's leads
CREATE INDEX leads_unkeyed ON leads (lead_id) WHERE person IS NULL;

-- The person of the profile's address, "" where that is the lead's own.
ALTER TABLE outcomes ADD COLUMN person TEXT COLLATE "C";
ALTER TABLE outcomes ADD COLUMN trail_expired BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX outcomes_by_person ON outcomes (person) WHERE person <> '';
CREATE INDEX outcomes_unkeyed ON outcomes (lead_id) WHERE person IS NULL;
-- What retention has to look at for trails: not all that lost theirs long ago.
CREATE INDEX outcomes_with_trail ON outcomes (settled_at, lead_id) WHERE NOT trail_expired;

ALTER TABLE people ADD COLUMN person TEXT COLLATE "C";
CREATE INDEX people_by_person ON people (person) WHERE person IS NOT NULL;
CREATE INDEX people_unkeyed ON people (email_key) WHERE person IS NULL;

ALTER TABLE trail ADD COLUMN credits DOUBLE PRECISION NOT NULL DEFAULT 0;
ALTER TABLE trail ADD COLUMN conflicts TEXT NOT NULL DEFAULT ''; -- JSON; "" for none

-- Who asked not to be processed; nothing else is kept of them.
CREATE TABLE suppressions (
    person TEXT COLLATE "C" PRIMARY KEY,
    at     BIGINT NOT NULL,
    reason TEXT NOT NULL CHECK (reason IN ('provider', 'request'))
);

-- Whom providers named for a lead, by an address that may not have been taken. By it
-- the leads are found whose trail or progress names somebody.
CREATE TABLE sightings (
    person  TEXT COLLATE "C" NOT NULL,
    lead_id TEXT COLLATE "C" NOT NULL REFERENCES leads ON DELETE CASCADE,
    PRIMARY KEY (person, lead_id)
);
CREATE INDEX sightings_by_lead ON sightings (lead_id);

-- Keys that belong to this ledger. The one of the persons' hashes is here so that a
-- suppression holds as long as the ledger does.
CREATE TABLE secrets (
    name  TEXT COLLATE "C" PRIMARY KEY,
    value BYTEA NOT NULL
);

CREATE TABLE spending (
    provider TEXT COLLATE "C" NOT NULL,
    day      TEXT COLLATE "C" NOT NULL, -- of the calls, YYYY-MM-DD in UTC
    credits  DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (provider, day)
);

-- +goose Down
DROP TABLE spending;
DROP TABLE secrets;
DROP TABLE sightings;
DROP TABLE suppressions;
ALTER TABLE trail DROP COLUMN conflicts;
ALTER TABLE trail DROP COLUMN credits;
DROP INDEX people_unkeyed;
DROP INDEX people_by_person;
ALTER TABLE people DROP COLUMN person;
DROP INDEX outcomes_with_trail;
DROP INDEX outcomes_unkeyed;
DROP INDEX outcomes_by_person;
ALTER TABLE outcomes DROP COLUMN trail_expired;
ALTER TABLE outcomes DROP COLUMN person;
DROP INDEX leads_unkeyed;
CREATE INDEX leads_by_email ON leads (email_key) WHERE email_key IS NOT NULL;
DROP INDEX leads_by_person;
ALTER TABLE leads DROP COLUMN credits;
ALTER TABLE leads DROP COLUMN person;
