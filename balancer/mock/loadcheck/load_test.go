//go:build unix

// Package loadcheck holds a mock cluster under load and looks whether anything
// is lost: clients that remember what was acknowledged, readers beside them, all
// administration commands, all faults, and kills, at the same time and over the
// wire, on "shardsh serve" as a process of its own.
//
//	go test ./balancer/mock/loadcheck -v -load.for 60m -timeout 2h
//	go test ./balancer/mock/loadcheck -v -load.seed 7 -load.round disk
//
// Every choice comes from the seed, which is in the output; what happens between
// the choices is up to the two schedulers, so a seed repeats a run only roughly.
package loadcheck

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	lasting = flag.Duration("load.for", 0, "how long the load lasts in all; 0 is as long as \"go test ./...\" can afford")
	seed    = flag.Uint64("load.seed", 0, "seed of the choices; 0 takes one of the time")
	only    = flag.String("load.round", "", "only the rounds whose names have this in them")
)

// round is one cluster under load.
type round struct {
	name  string
	time  string // --mock-time
	disk  bool   // with --dbpath
	kills bool
}

func rounds() []round {
	return []round{
		{name: "memory", time: "real"},
		{name: "disk and kills", time: "real", disk: true, kills: true},
		{name: "memory, 60 times as fast", time: "60x"},
		{name: "disk and kills, 60 times as fast", time: "60x", disk: true, kills: true},
	}
}

// defaultDuration is how long the load lasts without -load.for: the gate's step of its own has it
// last a minute.
func defaultDuration() time.Duration {
	if testing.Short() {
		return 4 * time.Second
	}
	return 8 * time.Second
}

// Nothing that was acknowledged is lost, nothing is there twice, metadata stay
// whole, nothing panics or gets stuck, and memory stays as it is.
func TestLoad(t *testing.T) {
	total := *lasting
	if total == 0 {
		total = defaultDuration()
	}
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	binary := build(t)
	var chosen []round
	for _, r := range rounds() {
		if strings.Contains(r.name, *only) && !(testing.Short() && r.time != "real") {
			chosen = append(chosen, r)
		}
	}
	for i, r := range chosen {
		t.Run(r.name, func(t *testing.T) {
			t.Logf("again: -load.seed %d -load.round %q -load.for %v", *seed, *only, total)
			run(t, binary, r, *seed+uint64(i), total/time.Duration(len(chosen)))
		})
	}
}

// build makes the program, with the race detector if the test has it.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "shardsh")
	args := []string{"build", "-ldflags=-s -w", "-o", binary}
	if underRace {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "shardsh/cmd/shardsh")...).CombinedOutput(); err != nil {
		t.Fatalf("the program can't be built: %v\n%s", err, out)
	}
	return binary
}

// run holds one cluster under load and inspects what is left.
func run(t *testing.T, binary string, r round, seed uint64, lasting time.Duration) {
	p := newProgram(t, binary, r)
	p.start()
	defer p.end()
	l := newLoad(t, p, seed)
	defer l.close()
	l.prepare()
	l.work(lasting)
	l.settle()
	l.inspect()
	l.summary()
	if t.Failed() {
		keep(t, p)
	}
}

// keep leaves the program's log where it can be read after the test.
func keep(t *testing.T, p *program) {
	name := filepath.Join(os.TempDir(), fmt.Sprintf("loadcheck-%d.log", os.Getpid()))
	if err := os.WriteFile(name, p.log.bytes(), 0o600); err == nil {
		t.Logf("the program's log is in %s", name)
	}
}

// patience is how long a test waits for what has to come: more than a machine
// with too much to do needs.
const patience = 2 * time.Minute

func patiently() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience)
}
