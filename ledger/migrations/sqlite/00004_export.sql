-- An export goes over the outcomes in an order that an outcome that rises does not
-- leave, so that it need not keep a transaction open.
-- +goose Up
CREATE INDEX outcomes_first_settled ON outcomes (first_settled_at, lead_id);

-- +goose Down
DROP INDEX outcomes_first_settled;
