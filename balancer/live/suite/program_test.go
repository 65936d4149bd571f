package suite

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long a test waits for what has to come: more than a machine
// with too much to do needs.
const patience = 2 * time.Minute

// sideBySide is how many tests run at once: they wait for others most of the time.
const sideBySide = "8"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", sideBySide); err != nil {
		panic(err)
	}
	code := m.Run()
	if dir := binaryDir(); dir != "" {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

var (
	building  sync.Mutex
	builtFile string
)

func binaryDir() string {
	building.Lock()
	defer building.Unlock()
	if builtFile == "" {
		return ""
	}
	return filepath.Dir(builtFile)
}

// binary is the program, made once.
func binary(t testing.TB) string {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	if builtFile != "" {
		return builtFile
	}
	dir, err := os.MkdirTemp("", "shardsh-suite-")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "shardsh")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", file, "shardsh/cmd/shardsh")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the program can't be built: %v\n%s", err, out)
	}
	builtFile = file
	return file
}

// asProcesses leaves a test out under the race detector: what it runs are processes
// without it.
func asProcesses(t testing.TB) {
	t.Helper()
	if underRace {
		t.Skip("what is tested runs as processes of its own, without the race detector")
	}
}

// ran is how a run of the program ended.
type ran struct {
	args           []string
	code           int // -1 when a signal ended it
	stdout, stderr string
}

func (r ran) String() string {
	return fmt.Sprintf("shardsh %q: exit code %d\n%s%s", r.args, r.code, r.stdout, r.stderr)
}

// shardsh runs the program to its end, in a folder of its own.
func shardsh(t testing.TB, args ...string) ran {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p := start(ctx, t, args...)
	return p.wait()
}

// process is a run of the program.
type process struct {
	*exec.Cmd
	t      testing.TB
	out    lockedLog
	errors lockedLog
}

// says waits until a run has said something on its standard error.
func (p *process) says(t testing.TB, text string) {
	t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(p.errors.String(), text); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("it does not say %q: %s", text, p.errors.String())
		}
	}
}

// start begins a run, which ends with ctx the hard way.
func start(ctx context.Context, t testing.TB, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.CommandContext(ctx, binary(t), args...), t: t}
	p.Stdout, p.Stderr = &p.out, &p.errors
	p.Dir = t.TempDir()
	p.Env = append(os.Environ(), "HOME="+p.Dir)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// wait returns how the run ended.
func (p *process) wait() ran {
	p.t.Helper()
	err := p.Wait()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		p.t.Fatalf("%q: %v", p.Args, err)
	}
	return ran{p.Args[1:], p.ProcessState.ExitCode(), p.out.String(), p.errors.String()}
}

// well runs the program, which must end with exit code 0.
func well(t testing.TB, args ...string) ran {
	t.Helper()
	r := shardsh(t, args...)
	if r.code != 0 {
		t.Fatal(r)
	}
	return r
}
