package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// exportProgram is "shardsh export" inside the test.
type exportProgram struct {
	*testing.T
	at     string
	log    *lockedBuffer
	cancel context.CancelCauseFunc
	code   chan int
}

func startExport(t *testing.T, args ...string) *exportProgram {
	t.Helper()
	p := &exportProgram{T: t, log: &lockedBuffer{}, code: make(chan int, 1)}
	var ctx context.Context
	ctx, p.cancel = context.WithCancelCause(context.Background())
	env := environment{
		args:    append([]string{"export", "--listen", "0", "--every", "1s"}, args...),
		streams: streams{stdin: strings.NewReader(""), stdout: io.Discard, stderr: p.log},
		getenv:  func(string) (string, bool) { return "", false },
	}
	go func() { p.code <- env.run(ctx) }()
	t.Cleanup(func() { p.cancel(signalError{syscall.SIGTERM}) })
	p.at = p.logged(`msg=listening address=(\S+)`)
	return p
}

// logged waits for a line of the log.
func (p *exportProgram) logged(pattern string) string {
	p.Helper()
	found := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(servePatience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if m := found.FindStringSubmatch(p.log.String()); m != nil {
			return m[len(m)-1]
		}
	}
	p.Fatalf("there is no %s in the log\n%s", pattern, p.log)
	return ""
}

// page fetches the metrics.
func (p *exportProgram) page() string {
	p.Helper()
	r, err := http.NewRequestWithContext(p.Context(), http.MethodGet, "http://"+p.at+"/metrics", nil)
	if err != nil {
		p.Fatal(err)
	}
	r.Close = true
	r.SetBasicAuth("prom", "hunter2")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		p.Fatal(answer.Status, err)
	}
	return string(text)
}

// until waits for a line of the page.
func (p *exportProgram) until(line string) string {
	p.Helper()
	text := ""
	for deadline := time.Now().Add(servePatience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if text = p.page(); strings.Contains(text, line+"\n") {
			return text
		}
	}
	p.Fatalf("there is no line %s in\n%s", line, text)
	return ""
}

// Clusters of a file are read, those of its next version from then on; a version that can't be
// read changes nothing. No password is on the page or in the log, and SIGTERM ends it well.
func TestExportOfTargets(t *testing.T) {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP) // begins a goroutine that stays, whoever is the first
	signal.Stop(caught)
	checkGoroutines(t)
	password := writeFile(t, "password", "hunter2\n")
	eu := startServeParallel(t, "--auth", "monitor:"+password)
	us := startServeParallel(t)
	file := filepath.Join(t.TempDir(), "targets.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first := fmt.Sprintf("{name: eu, uri: 'mongodb://monitor@%s', passwordFile: %s, labels: {team: shop}}", eu.address(), password)
	second := fmt.Sprintf("{name: us, uri: 'mongodb://%s'}", us.address())
	wrong := writeFile(t, "wrong", "hunter3\n")
	write("clusters: [" + first + ", {name: wrong, uri: 'mongodb://monitor@" + eu.address() + "', passwordFile: " + wrong + "}]")
	p := startExport(t, "--targets", file, "--auth", "prom:"+password, "--heat")
	page := p.until(`shardsh_check_up{cluster="eu",team="shop"} 1`)
	if strings.Contains(page, `cluster="us"`) {
		t.Error("a cluster is there before its time")
	}
	p.until(`shardsh_check_up{cluster="wrong"} 0`)
	p.logged(`cluster=wrong error="can't log in`)

	hang := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	write("clusters: [nonsense]")
	hang()
	p.until("shardsh_export_reload_successful 0")
	p.until(`shardsh_check_up{cluster="eu",team="shop"} 1`)
	write("clusters: [" + second + "]")
	hang()
	p.until(`shardsh_check_up{cluster="us"} 1`)
	page = p.until("shardsh_export_reload_successful 1")
	if strings.Contains(page, `cluster="eu"`) || strings.Contains(page+p.log.String(), "hunter") {
		t.Errorf("page and log\n%s\n%s", page, p.log)
	}
	p.cancel(signalError{syscall.SIGTERM})
	if code := <-p.code; code != exitOK {
		t.Errorf("exit code %d: %s", code, p.log)
	}
}
