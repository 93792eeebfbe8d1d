package app

import (
	"io"
	"time"

	"github.com/rs/zerolog"

	"backstop/config"
)

// newLog makes the log of one process: JSON lines, or text for people.
func newLog(c config.Log, w io.Writer) (zerolog.Logger, error) {
	level, err := zerolog.ParseLevel(c.Level)
	if err != nil {
		return zerolog.Logger{}, Usagef("log.level: %w", err)
	}
	if c.Format == "console" {
		w = zerolog.ConsoleWriter{Out: w, TimeFormat: "15:04:05.000"}
	}
	return zerolog.New(w).Level(level).Hook(timestamp{}), nil
}

// timestamp gives every line its time with milliseconds. zerolog's own has them only
// by a global variable.
type timestamp struct{}

func (timestamp) Run(e *zerolog.Event, _ zerolog.Level, _ string) {
	e.Str(zerolog.TimestampFieldName, time.Now().UTC().Format("2006-01-02T15:04:05.000Z07:00"))
}
