//go:build unix

package mongosh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"shardsh/balancer/live/suite/recorded"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

const (
	// between separates what the scenarios print.
	between = "␞"
	// topology has hosts of the kind that the recorder leaves out where they are names of fields.
	topology = `{"shards": [{"id": "shard0", "host": "rs0/127.0.0.1:27120"},
	  {"id": "shard1", "host": "rs1/127.0.0.1:27121"}, {"id": "shard2", "host": "rs2/127.0.0.1:27122"}]}`
)

// The recorded scenarios through the real mongosh against the mock behind a port: neither can tell it from
// the cluster that was recorded. The mock's time runs faster, so that nobody waits for balancing rounds. One
// mongosh, which starts slowly, runs a scenario after the other, each on a mock of its own.
func TestGoldenScenariosThroughMongosh(t *testing.T) {
	program := mongosh(t)
	var scenarios []recorded.Scenario
	var all strings.Builder
	for _, s := range recorded.Scenarios() {
		if s.Routers > 1 || s.UsesMembers {
			continue // there is one router here, and a member a shard
		}
		pace := 40.0
		if s.ActsDuringRound { // a round lasts 10 s: here 5 s, long enough on a loaded machine, too
			pace = 2
		}
		scenarios = append(scenarios, s)
		fmt.Fprintf(&all, "db = connect(%q);\n", serve(t, pace))
		for withLib := range slices.Chunk(s.WriteScripts(t), 2) {
			fmt.Fprintf(&all, "(() => {\n%s\n})();\n", readAll(t, withLib))
		}
		fmt.Fprintf(&all, "print(%q);\n", between)
	}
	script := filepath.Join(t.TempDir(), "all.js")
	if err := os.WriteFile(script, []byte(all.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, "--quiet", "--norc", "--nodb", script)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	printed := strings.Split(out.String(), between)
	if err != nil || len(printed) != len(scenarios)+1 {
		t.Fatalf("mongosh: %v after %d scenarios\n%.1000s\n%.1000s", err, len(printed)-1, printed[len(printed)-1], &errs)
	}
	for i, s := range scenarios {
		t.Run(s.Name, func(t *testing.T) { s.Compare(t, []byte(printed[i]), nil) })
	}
}

// serve serves a mock cluster until the end of the test, and returns its connection string.
func serve(t *testing.T, pace float64) (uri string) {
	t.Helper()
	shards, err := mock.ParseTopology([]byte(topology))
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := mock.New(mock.Config{Topology: shards, ClockSpeed: pace, Parameters: parameters(t)})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	front := router.New(cluster, nil)
	front.SetAddress(listener.Addr().String())
	server := &wire.Server{Handler: front}
	done := make(chan error, 1)
	go func() { done <- server.Serve(context.Background(), listener) }()
	t.Cleanup(func() {
		cluster.Close()
		if err := errors.Join(server.Shutdown(context.Background()), <-done); err != nil {
			t.Error(err)
		}
	})
	return "mongodb://" + listener.Addr().String() + "/"
}

// parameters are those of the cluster that was recorded.
func parameters(t *testing.T) map[string]any {
	t.Helper()
	set := map[string]any{}
	for _, arg := range recorded.ServerParameterArgs() {
		name, value, is := strings.Cut(arg, "=")
		if !is {
			continue // the option
		}
		number, err := strconv.Atoi(value)
		if err != nil {
			t.Fatal(err)
		}
		set[name] = int32(number)
	}
	return set
}

// mongosh installs mongosh, outside of the repository, unless it is there, and returns its path.
func mongosh(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("mongosh is not compared with in short tests")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "shardsh-test", "mongosh")
	const testdata = "../../cmd/shardsh/testdata"
	out, err := exec.CommandContext(t.Context(), testdata+"/npm-install", testdata+"/mongosh", dir).CombinedOutput()
	if err == nil {
		return filepath.Join(dir, "node_modules", ".bin", "mongosh")
	}
	switch strings.ToLower(os.Getenv("CI")) {
	case "", "0", "false":
		t.Skipf("NOT COMPARED with mongosh: it can't be installed: %v: %s", err, out)
	}
	t.Fatalf("mongosh can't be installed: %v: %s (CI is set: .ci/install puts there what tests need)", err, out)
	return ""
}

func readAll(t *testing.T, paths []string) (texts []byte) {
	t.Helper()
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text...)
	}
	return texts
}
