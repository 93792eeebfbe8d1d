package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// A redisServer is a Redis that keeps nothing on disk.
type redisServer struct {
	cmd *exec.Cmd
	dir string
	url string
}

func startRedis() (*redisServer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return nil, fmt.Errorf("free the port: %w", err)
	}
	dir, err := os.MkdirTemp("", "bench-gate")
	if err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	cmd := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", fmt.Sprint(port), "--dir", dir, "--save", "", "--appendonly", "no")
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start redis-server: %w", err)
	}
	s := &redisServer{cmd: cmd, dir: dir, url: fmt.Sprintf("redis://127.0.0.1:%d/0", port)}
	rdb, err := connect(s.url)
	if err != nil {
		return nil, err
	}
	defer closeClient(rdb)
	deadline := time.Now().Add(10 * time.Second)
	for rdb.Ping(context.Background()).Err() != nil {
		if time.Now().After(deadline) {
			s.end()
			return nil, errors.New("redis-server gives no answer")
		}
	}
	return s, nil
}

func (s *redisServer) signal(sig syscall.Signal) error {
	if err := s.cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("send %v to redis-server: %w", sig, err)
	}
	return nil
}

// end kills the server. It holds nothing that could be lost.
func (s *redisServer) end() {
	if err := s.cmd.Process.Kill(); err != nil {
		fmt.Fprintln(os.Stderr, "end redis-server:", err)
	}
	_ = s.cmd.Wait() // it says that the process was killed
	if err := os.RemoveAll(s.dir); err != nil {
		fmt.Fprintln(os.Stderr, "remove its folder:", err)
	}
}

func connect(url string) (*redis.Client, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("redis address: %w", err)
	}
	return redis.NewClient(o), nil
}

func closeClient(rdb *redis.Client) {
	if err := rdb.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "close the connection to Redis:", err)
	}
}
