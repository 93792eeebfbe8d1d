package app

import "backstop/ops"

// Eraser makes what erases people; the ledger and Redis must be open.
func (a *App) Eraser() (ops.Eraser, error) {
	store, err := a.Cache(a.Log, nil)
	if err != nil {
		return ops.Eraser{}, err
	}
	return ops.Eraser{Ledger: a.Ledger, Queue: a.Queue, Cache: store, Log: a.Log}, nil
}
