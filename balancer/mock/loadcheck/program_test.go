//go:build unix

package loadcheck

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// shards is how many shards a cluster begins with.
const shards = 5

// program is "shardsh serve" as a process.
type program struct {
	t      *testing.T
	binary string
	round  round
	dir    string
	port   int
	log    *logbook

	mu      sync.Mutex
	cmd     *exec.Cmd
	exited  chan struct{}
	started int  // how often
	meant   bool // that it ends is what the test wants
}

func newProgram(t *testing.T, binary string, r round) *program {
	p := &program{t: t, binary: binary, round: r, port: freePorts(t), log: &logbook{begin: time.Now()}}
	if r.disk {
		p.dir = t.TempDir()
	}
	return p
}

// freePorts returns the first of as many free ports in a row as a cluster takes.
func freePorts(t *testing.T) int {
	t.Helper()
	for range 100 {
		first, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := first.Addr().(*net.TCPAddr).Port
		listeners, free := []net.Listener{first}, true
		for i := 1; i < shards+4 && free; i++ {
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+i))
			if free = err == nil; free {
				listeners = append(listeners, l)
			}
		}
		for _, l := range listeners {
			l.Close()
		}
		if free {
			return port
		}
	}
	t.Fatal("there are no free ports")
	return 0
}

func (p *program) arguments() []string {
	// Clients that lose their connections leave cursors behind: with the ten minutes
	// that they usually last, memory would grow for as long.
	args := []string{"serve", "--port", strconv.Itoa(p.port), "--mock-time", p.round.time, "--grace", "2s",
		"--log-level", "warn", "--idle-cursor-timeout", "30s"}
	for _, parameter := range []string{
		"orphanCleanupDelaySecs=1", "rangeDeleterBatchSize=5", "rangeDeleterBatchDelayMS=5", "enableTestCommands=1",
		"balancerMigrationsThrottlingMs=20", "chunkDefragmentationThrottlingMS=1", "autoMergerIntervalSecs=1",
		"autoMergerThrottlingMS=10", "reshardingMinimumOperationDurationMillis=300",
		"minSnapshotHistoryWindowInSeconds=5",
	} {
		args = append(args, "--set-parameter", parameter)
	}
	if p.dir != "" {
		args = append(args, "--dbpath", p.dir)
	} else {
		args = append(args, "--shard-ports")
	}
	if p.started == 0 {
		args = append(args, "--shards", strconv.Itoa(shards))
	}
	return args
}

// start runs the program until it listens.
func (p *program) start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	cmd := exec.Command(p.binary, p.arguments()...)
	cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1", "GORACE=halt_on_error=1")
	cmd.Stderr = p.log
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.started++
	p.cmd, p.exited, p.meant = cmd, make(chan struct{}), false
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "mongodb://") {
		p.t.Errorf("start %d: the program does not listen: %v\n%s", p.started, cmd.Wait(), p.log.tail())
		close(p.exited)
		p.t.FailNow()
	}
	go p.watch(cmd, p.exited)
}

// watch notices when the program ends and nobody wanted it to.
func (p *program) watch(cmd *exec.Cmd, exited chan struct{}) {
	err := cmd.Wait()
	p.mu.Lock()
	meant := p.meant
	p.mu.Unlock()
	if !meant {
		p.t.Errorf("the program has ended: %v\n%s", err, p.log.tail())
	}
	close(exited)
}

// stop sends a signal that ends the program, and waits.
func (p *program) stop(sig syscall.Signal) error {
	p.mu.Lock()
	p.meant = true
	cmd, exited := p.cmd, p.exited
	p.mu.Unlock()
	_ = cmd.Process.Signal(sig) // it may have ended
	select {
	case <-exited:
		return nil
	case <-time.After(patience):
	}
	_ = cmd.Process.Signal(quitSignal) // for where its goroutines are
	select {
	case <-exited:
	case <-time.After(patience):
		_ = cmd.Process.Kill()
		<-exited
	}
	return errors.New("it did not end")
}

// freeze stops the process from running for a while.
func (p *program) freeze(for_ time.Duration) {
	p.mu.Lock()
	cmd := p.cmd
	p.mu.Unlock()
	_ = cmd.Process.Signal(syscall.SIGSTOP)
	time.Sleep(for_)
	_ = cmd.Process.Signal(syscall.SIGCONT)
}

// alive reports whether the program runs.
func (p *program) alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// end ends the program well.
func (p *program) end() {
	if p.cmd == nil {
		return
	}
	if err := p.stop(syscall.SIGTERM); err != nil {
		p.t.Errorf("SIGTERM: %v", err)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 && !p.t.Failed() {
		p.t.Errorf("exit code %d after SIGTERM\n%s", code, p.log.tail())
	}
	for _, line := range p.log.crashes() {
		p.t.Errorf("the program's log has: %s", line)
	}
}

// logbook is what the program writes to its standard error.
type logbook struct {
	begin time.Time

	mu    sync.Mutex
	all   bytes.Buffer
	part  []byte // of a line
	heaps []heap
	bad   []string
}

// heap is how much was live after a collection of garbage.
type heap struct {
	at time.Duration
	mb int
}

// What a line says of the heap, and of what must not happen.
var (
	collected = regexp.MustCompile(`^gc \d+ @.* \d+->\d+->(\d+) MB,`)
	crashed   = regexp.MustCompile(`^panic:|^fatal error:|panicked|DATA RACE|runtime error`)
)

// mostLog is how much of a log is kept: the newest.
const mostLog = 32 << 20

func (b *logbook) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all.Len() > mostLog {
		b.all.Reset()
	}
	b.part = append(b.part, text...)
	for {
		line, rest, whole := bytes.Cut(b.part, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		b.line(string(line))
		b.part = rest
	}
}

func (b *logbook) line(text string) {
	if found := collected.FindStringSubmatch(text); found != nil {
		mb, _ := strconv.Atoi(found[1])
		b.heaps = append(b.heaps, heap{time.Since(b.begin), mb})
		return
	}
	if crashed.MatchString(text) {
		b.bad = append(b.bad, text)
	}
	b.all.WriteString(text + "\n")
}

func (b *logbook) bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.all.Bytes())
}

// tail is the end of the log, for an error.
func (b *logbook) tail() string {
	text := string(b.bytes())
	return text[max(0, len(text)-4000):]
}

func (b *logbook) crashes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bad[:min(len(b.bad), 5)]
}
