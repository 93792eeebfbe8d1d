package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/redis/go-redis/v9"
)

// A counter counts the commands of a client, and the scripts that callers run:
// those of the gate's housekeeping are in pipelines, or on the key of replicas.
type counter struct{ n, scripts atomic.Int64 }

// DialHook implements redis.Hook.
func (*counter) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook implements redis.Hook.
func (c *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.n.Add(1)
		if args := cmd.Args(); cmd.Name() == "evalsha" && len(args) > 3 && args[3] != "backstop:gate:replicas" {
			c.scripts.Add(1)
		}
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements redis.Hook.
func (c *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.n.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}

// print writes the figures as tables in Markdown.
func (f Figures) print(w io.Writer) {
	fmt.Fprintf(w, "%s, %s\n\n", f.At.Format(time.DateOnly), f.Machine)
	fmt.Fprintf(w, "A good call of an unlimited provider: %d ns and %d Redis commands in %d calls.\n\n",
		f.GoodCall.Nanoseconds, f.GoodCall.Commands, f.GoodCall.Calls)

	t := table.NewWriter()
	t.AppendHeader(table.Row{"circuit", "calls/s", "of the ideal", "errors", "trips", "calls after the trip", "the last one so late", "most calls half-open", "told of the first trip", "longest block, Redis halted", "errors then"})
	for _, b := range f.Breakers {
		row := table.Row{b.Name, fmt.Sprintf("%.1f", b.PerSecond), fmt.Sprintf("%.1f %%", 100*b.Ideal), b.Errors}
		if b.Name == nameNone {
			t.AppendRow(row)
			continue
		}
		blocked, errs := fmt.Sprintf("%.0f ms", b.BlockedMillis), fmt.Sprint(b.HaltedErrors)
		if b.BlockedMillis < 0 {
			blocked, errs = "", ""
		}
		t.AppendRow(append(row, b.Trips, b.AfterTrip, fmt.Sprintf("%.2f ms", b.LatestMillis), b.Probes, b.TripsToldTo, blocked, errs))
	}
	fmt.Fprintf(w, "%s\n\n", t.RenderMarkdown())

	t = table.NewWriter()
	t.AppendHeader(table.Row{"limiter at 10/s", "processes", "used", "scripts for each call", "with housekeeping", "most calls in one second", "longest wait", "calls by process"})
	for _, l := range f.Limiters {
		t.AppendRow(table.Row{l.Name, l.Processes, fmt.Sprintf("%.1f %%", 100*l.Used), fmt.Sprintf("%.2f", l.Scripts), fmt.Sprintf("%.2f", l.All), l.MostInOne,
			fmt.Sprintf("%.1f s", l.LongestWait), fmt.Sprint(l.Shares)})
	}
	fmt.Fprintln(w, t.RenderMarkdown())
}
