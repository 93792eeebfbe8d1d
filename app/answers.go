package app

import (
	"time"

	"github.com/rs/zerolog"

	"backstop/answers"
	"backstop/config"
)

// leaseMargin is what a call may take beyond its time-out and the wait at the
// gate until others stop waiting for its answer: the way to Redis and back.
const leaseMargin = 2 * time.Second

// Answers makes a replica's access to the kept answers; Redis must be open.
// notKept is told of each answer that should have been kept and was not; it may
// be nil.
func (a *App) Answers(log zerolog.Logger, notKept func(provider string)) (*answers.Store, error) {
	secret, err := a.Config.AnswersSecret()
	if err != nil {
		return nil, Usage(err)
	}
	s, err := answers.New(a.Redis, answers.Options{
		Prefix: a.Config.Redis.Prefix, Secret: []byte(secret), Providers: agesOf(a.Config),
		Logger: log, NotKept: notKept,
	})
	if err != nil {
		return nil, Usage(err)
	}
	return s, nil
}

func agesOf(c config.Config) map[string]answers.Ages {
	all := map[string]answers.Ages{}
	for _, name := range used(c) {
		p := c.Providers[name]
		all[name] = answers.Ages{
			Positive: p.Answers.Positive, Negative: p.Answers.Negative,
			Lease: p.Patience + p.Timeout + leaseMargin,
		}
	}
	return all
}
