package app

import (
	"errors"

	"backstop/lead"
	"backstop/ops"
)

// Eraser makes what erases people; the ledger and Redis must be open.
func (a *App) Eraser() (ops.Eraser, error) {
	store, err := a.Cache(a.Log, nil)
	if err != nil {
		return ops.Eraser{}, err
	}
	return ops.Eraser{Ledger: a.Ledger, Queue: a.Queue, Cache: store, Log: a.Log}, nil
}

// OneAddress checks that text is one email address, and gives it in its normal
// spelling. The error does not quote it.
func OneAddress(text string) (string, error) {
	email, err := lead.NormalizeEmail(text)
	if err != nil || email == "" {
		return "", errors.New("this is not an email address: give one such as ada@example.com")
	}
	return email, nil
}
