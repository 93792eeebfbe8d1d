package app

import (
	"errors"

	"backstop/lead"
	"backstop/tasks"
)

// Eraser makes what erases people; the ledger and Redis must be open.
func (a *App) Eraser() (tasks.Eraser, error) {
	store, err := a.Answers(a.Log, nil)
	if err != nil {
		return tasks.Eraser{}, err
	}
	return tasks.Eraser{Ledger: a.Ledger, Queue: a.Queue, ForgetAnswers: store.Forget, Log: a.Log}, nil
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
