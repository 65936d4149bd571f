package doctest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// press is what all pages run with.
type press struct {
	root, tools, dir string
	cache            string // of what .ci/install has installed
	env              []string

	mu     sync.Mutex
	worlds map[mark]func() (string, error)
}

// newPress builds the program, once.
func newPress(t *testing.T) *press {
	t.Helper()
	p := &press{root: root(t), tools: t.TempDir(), dir: t.TempDir(), worlds: map[mark]func() (string, error){}}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	p.cache = filepath.Join(cache, "shardsh-test")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", p.program(), "./cmd/shardsh")
	build.Dir = p.root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	places, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	goes := strings.Fields(string(places))
	p.env = []string{
		"PATH=" + p.tools + ":" + filepath.Join(p.cache, "mongosh", "node_modules", ".bin") + ":" + os.Getenv("PATH"),
		"HOME=" + t.TempDir(), "TZ=UTC", "LANG=C.UTF-8", "TERM=dumb",
		"GOCACHE=" + goes[0], "GOMODCACHE=" + goes[1], "SHARDSH_BINARY=" + p.program(), "PYTHONDONTWRITEBYTECODE=1",
		"SHARDSH_PASSWORD=secret", // of the users in a cluster that nothing is said of
	}
	return p
}

func (p *press) program() string { return filepath.Join(p.tools, "shardsh") }

// ran is how a command ended.
type ran struct {
	code      int
	out, errs string
}

// run runs a program, which may take a minute, in a directory.
func (p *press) run(ctx context.Context, dir string, env []string, name string, args ...string) (r ran, err error) {
	limit := time.Minute
	if filepath.Base(name) == "go" { // a build on a loaded machine
		limit = 5 * time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(env, p.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // without a terminal, wherever the test has one
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	var ended *exec.ExitError
	if err = cmd.Run(); errors.As(err, &ended) && ctx.Err() == nil {
		err = nil
	}
	return ran{cmd.ProcessState.ExitCode(), out.String(), errs.String()}, err
}

// world returns a file with a furnished cluster, and the options that a shell or a
// server needs to play it.
func (p *press) world(cluster mark) (file string, options []string, err error) {
	options = strings.Fields(cluster.of)
	p.mu.Lock()
	made, ok := p.worlds[cluster]
	if !ok {
		name := filepath.Join(p.dir, fmt.Sprintf("%d.mock", len(p.worlds)))
		made = sync.OnceValues(func() (string, error) { return name, p.furnish(name, options, cluster.text) })
		p.worlds[cluster] = made
	}
	p.mu.Unlock()
	file, err = made()
	var stay []string
	for i, o := range options { // the file has the shards
		if o == "--server-version" && i+1 < len(options) {
			stay = append(stay, o, options[i+1])
		}
	}
	return file, stay, err
}

// furnish makes such a file.
func (p *press) furnish(name string, options []string, script string) error {
	args := append([]string{"--quiet", "--mock=4", "--seed=7", "--set-parameter", "orphanCleanupDelaySecs=0"}, options...)
	args = append(args, "--eval", script, "--eval", fmt.Sprintf("mock.save(%q)", name))
	switch r, err := p.run(context.Background(), p.dir, nil, p.program(), args...); {
	case err != nil:
		return err
	case r.code != 0:
		return fmt.Errorf("the cluster can't be furnished: %s%s", r.out, r.errs)
	}
	return nil
}
