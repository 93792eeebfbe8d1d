package testkit

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
)

// redisProgram is findRedis, asked once.
var redisProgram = sync.OnceValues(findRedis)

// findRedis finds redis-server and makes sure that it is new enough.
func findRedis() (string, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return "", errors.New("redis-server is not in PATH: install the Debian package redis-server (make setup does it)")
	}
	said, err := exec.Command(program, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", program, err)
	}
	if err := checkRedisVersion(string(said)); err != nil {
		return "", err
	}
	return program, nil
}

var redisVersion = regexp.MustCompile(`\bv=(\d+)\.(\d+)`)

// checkRedisVersion reads the answer to redis-server --version, such as "Redis
// server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=…". Asynq
// needs 6.2.
func checkRedisVersion(said string) error {
	match := redisVersion.FindStringSubmatch(said)
	if match == nil {
		return fmt.Errorf("redis-server states no version in %q", said)
	}
	major, err := strconv.Atoi(match[1])
	if err != nil {
		return fmt.Errorf("redis-server's version %q: %w", match[0], err)
	}
	minor, err := strconv.Atoi(match[2])
	if err != nil {
		return fmt.Errorf("redis-server's version %q: %w", match[0], err)
	}
	if major < 6 || major == 6 && minor < 2 {
		return fmt.Errorf("redis-server is version %d.%d: 6.2 or newer is needed (Debian 12 has it in the package redis-server)", major, minor)
	}
	return nil
}
