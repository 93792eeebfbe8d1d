-- The ledger's tables. Times are milliseconds since the Unix epoch. What is JSON
-- is kept as text: the ledger does not look inside, and text may hold \u0000.
-- +goose Up
CREATE TABLE leads (
    lead_id            TEXT NOT NULL PRIMARY KEY,
    request_id         TEXT NOT NULL UNIQUE,
    generation         INTEGER NOT NULL DEFAULT 1 CHECK (generation >= 1), -- raised by a replay
    settled_generation INTEGER NOT NULL DEFAULT 0,                         -- the last one that was settled
    source             TEXT NOT NULL,
    email_key          TEXT,             -- lead.EmailKey of the address, if there is one
    lead               TEXT NOT NULL,    -- lead.Lead as JSON
    progress           BLOB,             -- what the chain remembers between attempts
    retries            INTEGER NOT NULL DEFAULT 0 CHECK (retries >= 0),
    trail_length       INTEGER NOT NULL DEFAULT 0,
    accepted_at        INTEGER NOT NULL,
    enqueued_at        INTEGER,
    started_at         INTEGER
);
-- The live leads are few beside the settled ones: sweeps read only this index.
CREATE INDEX leads_live ON leads (lead_id) WHERE settled_generation < generation;
CREATE INDEX leads_by_email ON leads (email_key) WHERE email_key IS NOT NULL;

CREATE TABLE outcomes (
    lead_id          TEXT NOT NULL PRIMARY KEY REFERENCES leads ON DELETE CASCADE,
    status           TEXT NOT NULL CHECK (status IN ('enriched', 'partial', 'suppressed', 'rejected')),
    score            INTEGER NOT NULL,   -- lead.Outcome.Score: rises, never falls
    reason           TEXT NOT NULL,
    profile          TEXT NOT NULL,      -- JSON, like the next two
    missing          TEXT NOT NULL,
    provenance       TEXT NOT NULL,
    retries          INTEGER NOT NULL CHECK (retries >= 0),
    fallback         BOOLEAN NOT NULL,   -- settled by the fallback task
    accepted_at      INTEGER NOT NULL,
    started_at       INTEGER,
    first_settled_at INTEGER NOT NULL,
    settled_at       INTEGER NOT NULL
);
CREATE INDEX outcomes_settled ON outcomes (settled_at, lead_id, status);

CREATE TABLE trail (
    lead_id  TEXT NOT NULL REFERENCES leads ON DELETE CASCADE,
    n        INTEGER NOT NULL,           -- the order of recording, from 1
    attempt  INTEGER NOT NULL,
    provider TEXT NOT NULL,
    class    TEXT NOT NULL,
    status   INTEGER NOT NULL,
    detail   TEXT NOT NULL,
    at       INTEGER,
    ms       INTEGER NOT NULL,
    PRIMARY KEY (lead_id, n)
) WITHOUT ROWID; -- a lead's trail lies together

CREATE TABLE circuit_events (
    at         INTEGER NOT NULL,
    provider   TEXT NOT NULL,
    from_state TEXT NOT NULL,
    to_state   TEXT NOT NULL,
    reason     TEXT NOT NULL,
    replica    TEXT NOT NULL
);
CREATE INDEX circuit_events_at ON circuit_events (at);

CREATE TABLE people (
    email_key TEXT NOT NULL PRIMARY KEY,
    email     TEXT NOT NULL,
    profile   TEXT NOT NULL,
    as_of     INTEGER
);

-- +goose Down
DROP TABLE people;
DROP TABLE circuit_events;
DROP TABLE trail;
DROP TABLE outcomes;
DROP TABLE leads;
