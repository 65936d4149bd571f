package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// asProgram returns the variables by which a client takes this test for the program.
func asProgram(t *testing.T) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append(os.Environ(), onTerminal+"=1", "SHARDSH_BINARY="+self, "PYTHONDONTWRITEBYTECODE=1")
}

// takeClientTour runs the tour of a client, which leaves a cluster running: that ends
// with the tour.
func takeClientTour(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append(args, "leave")...)
	cmd.Dir = dir
	cmd.Env = asProgram(t)
	out, err := cmd.CombinedOutput()
	left := regexp.MustCompile(`left mongodb://([\d.:]+)/`).FindSubmatch(out)
	if err != nil || left == nil || !strings.Contains(string(out), "the tour is over") {
		t.Fatalf("%v\n%s", err, out)
	}
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", string(left[1]))
		if err != nil {
			break // nobody listens there any more
		}
		conn.Close()
	}
	if ctx.Err() != nil {
		t.Error("the cluster that was left runs on")
	}
}

func TestNodeClient(t *testing.T) {
	dir, err := installed("testdata/tours/node", "node-driver")
	if err != nil {
		missing(t, "NO TOUR of the client for Node: the driver can't be installed: %v", err)
	}
	tour, err := filepath.Abs("../../clients/node/tour.mjs")
	if err != nil {
		t.Fatal(err)
	}
	takeClientTour(t, dir, "node", tour)
}

func TestPythonClient(t *testing.T) {
	takeClientTour(t, "../../clients/python", pythonWithDriver(t), "tour.py")
}

// A server that was started so ends with its standard input, and well.
func TestServeUntilEOF(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "serve", "--port", "0", "--until-eof")
	cmd.Env = asProgram(t)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, len("mongodb://"))
	if _, err := out.Read(line); err != nil || string(line) != "mongodb://" {
		t.Fatalf("%q, %v", line, err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil || !strings.Contains(errs.String(), "standard input has ended") {
		t.Errorf("%v: %s", err, errs.String())
	}
}
