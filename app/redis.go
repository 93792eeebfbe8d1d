package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/rs/zerolog"

	"backstop/config"
)

// minRedis is the oldest Redis with all commands that asynq and the gate use.
const minRedis = "6.2"

// NewRedis makes a client of redis://, rediss:// or redis-sentinel:// URLs;
// several addresses separated by commas are a cluster, or the sentinels, whose
// master is named by the query parameter "master".
func NewRedis(s string) (redis.UniversalClient, error) {
	o, err := redisOptions(s)
	if err != nil {
		return nil, fmt.Errorf("redis.url: %w", err)
	}
	return redis.NewUniversalClient(o), nil
}

func redisOptions(s string) (*redis.UniversalOptions, error) {
	u, err := config.ParseURL(s)
	if err != nil {
		return nil, errors.New("is not a URL: write it as redis://127.0.0.1:6379/0")
	}
	o := &redis.UniversalOptions{
		MasterName:            u.Query().Get("master"),
		ContextTimeoutEnabled: true,
		DialTimeout:           3 * time.Second,
		// Notifications of managed services about maintenance; others answer with
		// an error that would be logged at every connection.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	for _, addr := range strings.Split(u.Host, ",") {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			host, port = strings.Trim(addr, "[]"), "6379"
			if u.Scheme == "redis-sentinel" {
				port = "26379"
			}
		}
		o.Addrs = append(o.Addrs, net.JoinHostPort(host, port))
	}
	o.Username = u.User.Username()
	o.Password, _ = u.User.Password()
	if db := strings.Trim(u.Path, "/"); db != "" {
		if o.DB, err = strconv.Atoi(db); err != nil || o.DB < 0 {
			return nil, errors.New("the database after the slash is not a number: write it as redis://127.0.0.1:6379/0")
		}
	}
	switch u.Scheme {
	case "redis":
	case "rediss":
		host, _, _ := net.SplitHostPort(o.Addrs[0]) // joined above
		o.TLSConfig = &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	case "redis-sentinel":
		if o.MasterName == "" {
			return nil, errors.New("names no master: add ?master=NAME")
		}
		o.SentinelUsername, o.SentinelPassword = o.Username, o.Password
	default:
		return nil, errors.New("has an unknown scheme: use redis://, rediss:// or redis-sentinel://")
	}
	if len(o.Addrs) > 1 && o.MasterName == "" && o.DB != 0 {
		return nil, errors.New("a cluster has only database 0")
	}
	return o, nil
}

// checkRedis makes sure that Redis answers and is new enough, and warns when it is
// set to throw queued tasks away.
func checkRedis(ctx context.Context, rdb redis.UniversalClient, log zerolog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := rdb.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("no Redis can be reached: %w; start one, set BACKSTOP_REDIS__URL, or try worker run --embedded", err)
	}
	info, err := rdb.Info(ctx, "server").Result()
	if err != nil {
		log.Debug().Err(err).Str("event", "redis").Msg("the version of Redis could not be read")
	} else if v := infoField(info, "redis_version"); v != "" && !atLeast(v, minRedis) {
		return fmt.Errorf("the version of Redis is %s: use %s or newer", v, minRedis)
	}
	policy, err := rdb.ConfigGet(ctx, "maxmemory-policy").Result()
	switch {
	case err != nil: // managed services forbid CONFIG
		log.Debug().Err(err).Str("event", "redis").Msg("maxmemory-policy could not be read; it should be noeviction")
	case policy["maxmemory-policy"] != "" && policy["maxmemory-policy"] != "noeviction":
		log.Warn().Str("event", "redis").Str("maxmemory_policy", policy["maxmemory-policy"]).
			Msg("this Redis may evict queued tasks; set maxmemory-policy to noeviction. Leads are not lost, but they are late")
	}
	return nil
}

func infoField(info, name string) string {
	for _, line := range strings.Split(info, "\n") {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return v
		}
	}
	return ""
}

// atLeast compares versions by their first two numbers.
func atLeast(version, least string) bool {
	number := func(s string, i int) int {
		parts := strings.Split(s, ".")
		if i >= len(parts) {
			return 0
		}
		n, _ := strconv.Atoi(parts[i]) // a part that is no number counts as 0
		return n
	}
	if a, b := number(version, 0), number(least, 0); a != b {
		return a > b
	}
	return number(version, 1) >= number(least, 1)
}
