package app

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"backstop/testkit"
)

func TestARedisURLNames(t *testing.T) {
	for url, want := range map[string]string{
		"redis://127.0.0.1:6379/0":            "[127.0.0.1:6379] db 0",
		"redis://redis":                       "[redis:6379] db 0",
		"redis://redis/3":                     "[redis:6379] db 3",
		"redis://:pw@h:1":                     `[h:1] db 0 ":pw"`,
		"redis://app:p%40ss%2Fw@h:1/2":        `[h:1] db 2 "app:p@ss/w"`,
		"redis://[::1]:7000/1":                "[[::1]:7000] db 1",
		"redis://[fd00::2]":                   "[[fd00::2]:6379] db 0",
		"redis://a:1,b,c:3":                   "[a:1 b:6379 c:3] db 0",
		"rediss://r.example:6380/0":           "[r.example:6380] db 0 TLS for r.example",
		"rediss://:pw@a:1,b:2":                `[a:1 b:2] db 0 ":pw" TLS for a`,
		"redis-sentinel://s1,s2:7/1?master=m": "[s1:26379 s2:7] db 1 master m",
		"redis-sentinel://u:pw@s1?master=m":   `[s1:26379] db 0 "u:pw" master m sentinels "u:pw"`,

		"redis-sentinel://s1": "error: names no master",
		"http://h":            "error: unknown scheme",
		"h:6379":              "error: is not a URL",
		"":                    "error: is not a URL",
		"redis://h/x":         "error: not a number",
		"redis://h/-1":        "error: not a number",
		"redis://a,b/1":       "error: only database 0",
		"redis://:p%zz@h":     "error: is not a URL",
	} {
		t.Run(url, func(t *testing.T) {
			o, err := redisOptions(url)
			if text, wantErr := strings.CutPrefix(want, "error: "); wantErr {
				if err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "p%zz") {
					t.Errorf("got %v, want %q", err, text)
				}
				return
			}
			testkit.NoError(t, err)
			got := fmt.Sprintf("%v db %d", o.Addrs, o.DB)
			if o.Username+o.Password != "" {
				got += fmt.Sprintf(" %q", o.Username+":"+o.Password)
			}
			if o.TLSConfig != nil {
				got += " TLS for " + o.TLSConfig.ServerName
			}
			if o.MasterName != "" {
				got += " master " + o.MasterName
			}
			if o.SentinelUsername+o.SentinelPassword != "" {
				got += fmt.Sprintf(" sentinels %q", o.SentinelUsername+":"+o.SentinelPassword)
			}
			if got != want || !o.ContextTimeoutEnabled {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestVersionsOfRedisAreComparedByNumber(t *testing.T) {
	for version, enough := range map[string]bool{
		"6.2.0": true, "6.2": true, "6.10.1": true, "7.0.15": true, "10.0": true, "8": true,
		"6.0.16": false, "5.0.14": false, "6": false, "": false, "redis": false,
	} {
		if got := atLeast(version, minRedis); got != enough {
			t.Errorf("%q: got %t", version, got)
		}
	}
}

func TestARedisThatMayEvictTasksIsWarnedOf(t *testing.T) {
	for policy, warned := range map[string]bool{"allkeys-lru": true, "noeviction": false} {
		t.Run(policy, func(t *testing.T) {
			server := testkit.RedisServer(t, testkit.WithMaxMemory(100<<20, policy))
			var log bytes.Buffer
			a := newApp(t, &log, "BACKSTOP_REDIS__URL="+server.URL())
			testkit.NoError(t, a.OpenRedis(t.Context()))
			if got := strings.Contains(log.String(), `"level":"warn"`) && strings.Contains(log.String(), policy); got != warned {
				t.Errorf("warned: %t; %s", got, log.String())
			}
		})
	}
}
