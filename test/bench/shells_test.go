//go:build unix

package bench

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shells are the two programs, and the mock that both talk to.
type shells struct {
	shardsh, mongosh string // paths; mongosh is "" where there is none
	uri              string
	home             string
}

// newShells builds the program and serves a mock with the documents that works read.
func newShells(b *testing.B) *shells {
	b.Helper()
	s := &shells{shardsh: *program, home: b.TempDir()}
	if s.shardsh == "" {
		s.shardsh = filepath.Join(b.TempDir(), "shardsh")
		if out, err := exec.Command("go", "build", "-o", s.shardsh, "../../cmd/shardsh").CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
	if cache, err := os.UserCacheDir(); err == nil {
		mongosh := filepath.Join(cache, "shardsh-test", "mongosh", "node_modules", ".bin", "mongosh") // .ci/install
		if _, err := os.Stat(mongosh); err == nil {
			s.mongosh = mongosh
		}
	}
	s.uri = s.serve(b) + "bench"
	s.run(b, s.shardsh, s.uri, "--eval", fill("docs", 100_000))
	return s
}

// serve starts a mock with two shards in a process of its own, and returns its
// connection string.
func (s *shells) serve(b *testing.B) string {
	b.Helper()
	cmd := exec.Command(s.shardsh, "serve", "--port", "0", "--shards", "2", "--log-level", "error", "--until-eof")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := errors.Join(stdin.Close(), cmd.Wait()); err != nil {
			b.Error(err)
		}
	})
	uri, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(uri)
}

// run runs a shell until it ends. Its costs are those of the process.
func (s *shells) run(b *testing.B, shell string, args ...string) (cost, string) {
	b.Helper()
	cmd := exec.Command(shell, append([]string{"--quiet", "--norc"}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+s.home, "NO_COLOR=1")
	began := time.Now()
	out, err := cmd.CombinedOutput()
	took := cost{wall: time.Since(began)}
	if err != nil {
		b.Fatalf("%s: %v\n%s", shell, err, out)
	}
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		took.cpu = cpuOf(u)
	}
	if m := peakText.FindSubmatch(out); m != nil {
		kilobytes, err := strconv.ParseInt(string(m[1]), 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		took.memory = kilobytes << 10
	}
	return took, string(out)
}

// peakScript prints the most memory that the process has had, where Linux tells it.
// (What wait tells begins with that of the parent.)
const peakScript = `try { print(require("fs").readFileSync("/proc/self/status", "utf8")) } catch (e) {}`

var peakText = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

var tookText = regexp.MustCompile(`took (\d+)`)

// script runs a program in a shell. Wall time is that of the work alone, without the
// start of the shell and without what is done before.
func (s *shells) script(b *testing.B, shell, before, work string) cost {
	b.Helper()
	took, out := s.run(b, shell, s.uri, "--eval",
		fmt.Sprintf("%s;\nconst began = Date.now();\n%s;\nprint('took ' + (Date.now() - began))", before, work))
	m := tookText.FindStringSubmatch(out)
	if m == nil {
		b.Fatalf("%s printed %s", shell, out)
	}
	ms, err := strconv.Atoi(m[1])
	if err != nil {
		b.Fatal(err)
	}
	took.wall = time.Duration(ms) * time.Millisecond
	return took
}

// fill inserts documents in thousands.
func fill(coll string, documents int) string {
	return fmt.Sprintf(`for (let i = 0; i < %d; i += 1000) {
  const docs = [];
  for (let k = i; k < i + 1000; k++)
    docs.push({
      _id: k, n: k %% 100, name: "customer " + k, at: new Date(k), tags: ["a", "b"], place: { city: "x", zip: k },
    });
  db.%s.insertMany(docs);
}`, documents, coll)
}
