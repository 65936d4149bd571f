//go:build linux

package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog/snaptest"
)

// record is one of a million packed ones, the measure that the benchmarks
// give their figures in: what one pass over them takes on this machine now.
type record struct {
	shard uint32
	_     [12]byte
	bytes uint64
	_     [8]byte
}

func onePass(b *testing.B) time.Duration {
	b.Helper()
	records := make([]record, 1_000_000)
	for i := range records {
		records[i] = record{shard: uint32(i % 100), bytes: uint64(i)}
	}
	best := time.Hour
	for range 5 {
		var totals [100]uint64
		started := time.Now()
		for i := range records {
			totals[records[i].shard] += records[i].bytes
		}
		best = min(best, time.Since(started))
		if totals[1] == 0 {
			b.Fatal("nothing was summed")
		}
	}
	return best
}

func reportAnswer(b *testing.B) {
	b.Helper()
	each := b.Elapsed() / time.Duration(b.N)
	b.ReportMetric(float64(each)/float64(onePass(b)), "passes/op")
}

// build makes the program, for what is measured as a process of its own.
func build(b *testing.B) (binary string) {
	b.Helper()
	binary = filepath.Join(b.TempDir(), "shardsh")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// runs measures the program with some arguments, which may end with one of the
// exit codes.
func runs(b *testing.B, binary string, args []string, codes ...int) {
	b.Helper()
	var peak int64
	for b.Loop() {
		cmd := exec.Command(binary, args...)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || !slices.Contains(codes, cmd.ProcessState.ExitCode()) {
			b.Fatalf("%v\n%s", err, out)
		}
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			peak = max(peak, usage.Maxrss)
		}
	}
	b.ReportMetric(float64(peak)/1024, "peak-MB")
	reportAnswer(b)
}

// From nothing to the first result of a script, as a process of its own.
// Expected: under 30 ms and 10 MB of its own. peak-MB has pages of the program's file
// besides, as many as the system likes to map at once: from half of the file to all of it.
func BenchmarkStartUp(b *testing.B) {
	binary := build(b)
	for _, bench := range []struct {
		name string
		args []string
		eval string
	}{
		{"nodb", []string{"--nodb", "--eval"}, "1"},
		{"mock", []string{"--quiet", "--eval"}, "db.getName()"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			runs(b, binary, append(bench.args, bench.eval), exitOK)
			b.ReportMetric(ownMemory(b, binary, append(bench.args, bench.eval)), "own-MB")
		})
	}
}

// ownMemory is what the program has that is not a page of a file, after the script that
// ends the arguments.
func ownMemory(b *testing.B, binary string, args []string) (mb float64) {
	b.Helper()
	last := len(args) - 1
	args = append(args[:last:last], args[last]+`; require("fs").readFileSync("/proc/self/status", "utf8")`)
	out, err := exec.Command(binary, args...).CombinedOutput()
	_, own, found := strings.Cut(string(out), "RssAnon:")
	if _, scanErr := fmt.Sscan(own, &mb); err != nil || !found || scanErr != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return mb / 1024
}

// Answers about a million chunks on a hundred shards, two of which are new, from
// a file, which is opened each time. Expected: under 1.5 s and 200 MB.
func BenchmarkMillionChunks(b *testing.B) {
	binary := build(b)
	scale := snaptest.Million()
	scale.EmptyShards, scale.JumboEvery = 2, 1000
	file := snaptest.LargeFile(b, scale)
	for _, subcommand := range []string{"why", "check", "plan"} {
		b.Run(subcommand, func(b *testing.B) {
			runs(b, binary, []string{subcommand, "--from", file, "--quiet"}, exitOK, exitFindings)
		})
	}
}

// One command through the driver and the in-memory connection.
func BenchmarkCommand(b *testing.B) {
	conn, err := connectMock(environment{}, new(clusterFlags), connectOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer conn.close()
	ctx := context.Background()
	db := conn.client.Database("bench")
	if _, err := db.Collection("c").InsertOne(ctx, bson.D{{Key: "_id", Value: 1}}); err != nil {
		b.Fatal(err)
	}
	for _, bench := range []struct {
		name    string
		command bson.D
	}{
		{"ping", bson.D{{Key: "ping", Value: 1}}},
		{"find", bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{{Key: "_id", Value: 1}}}}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := db.RunCommand(ctx, bench.command).Err(); err != nil {
					b.Fatal(err)
				}
			}
			reportAnswer(b)
		})
	}
}
