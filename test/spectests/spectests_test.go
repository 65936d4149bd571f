package spectests

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"shardsh/balancer/mock/mocktest"
)

// suite is a program of the driver's tests.
type suite struct {
	name   string   // as .ci/spectests calls it
	folder string   // where it finds its files
	leave  []string // tests that are not run, as they are not about a cluster
	least  int      // so many pass, or something is wrong with the run
}

var suites = []suite{
	{name: "unified", folder: "mongo/integration/unified", least: 700},
	{name: "driver", folder: "mongo/integration", least: 350, leave: []string{
		"TestUnifiedSpecs/transactions", "TestUnifiedSpecs/convenient-transactions", // end the program
		"TestHandshakeProse",                     // fails in a container
		"TestInitialDNSSeedlistDiscoverySpec",    // needs names that the world knows
		"TestSessionsMongocryptdProse",           // needs a mongocryptd
		"TestClientStress",                       // of the driver's pool, for a minute
		"TestCommandLoggingAndMonitoringProse/3", // 10 s of the driver's own time
	}},
}

// TestSpecifications runs the driver's tests.
func TestSpecifications(t *testing.T) {
	if os.Getenv("SPECTESTS") != "1" {
		t.Skip("only when asked for: SPECTESTS=1 go test ./test/spectests")
	}
	fetch := exec.CommandContext(t.Context(), "../../.ci/spectests")
	fetch.Stderr = os.Stderr
	out, err := fetch.Output()
	if err != nil {
		t.Fatalf("the driver's tests can't be fetched: %v", err)
	}
	known := knownFailures(t)
	for _, s := range suites {
		t.Run(s.name, func(t *testing.T) {
			run := s.start(t, strings.TrimSpace(string(out)))
			log := run("-test.skip=" + s.left(known))
			passed, failed := outcomes(log)
			t.Logf("%d tests passed, %d failed", len(passed), len(failed))
			if len(passed) < s.least {
				t.Errorf("only %d tests passed: the run was cut short?\n%s", len(passed), tail(log))
			}
			for _, name := range failed {
				if known[s.name+"/"+name].reason == "" && !passes(run, name) {
					t.Errorf("%s fails:\n%s", name, said(log, name))
				}
			}
			for name, f := range known {
				of, ours := strings.CutPrefix(name, s.name+"/")
				if ours && !f.ends && !slices.Contains(failed, of) {
					t.Errorf("%s does not fail: take it out of testdata/failures.tsv", name)
				}
			}
		})
	}
}

// start starts a mock, and returns how to run tests of the suite against it.
func (s suite) start(t *testing.T, dir string) (run func(which string) (log []byte)) {
	t.Helper()
	var cluster mocktest.Mock
	mocktest.Start(t, 2, mocktest.WithRouters(2), mocktest.WithMock(&cluster),
		mocktest.WithParameter("enableTestCommands", true))
	return func(which string) []byte {
		program := filepath.Join(dir, s.name+".test")
		cmd := exec.CommandContext(t.Context(), program, "-test.v", "-test.timeout=10m", which)
		cmd.Dir = filepath.Join(dir, s.folder)
		cmd.Env = append(os.Environ(), "MONGODB_URI="+together(cluster.Routers()))
		out, err := cmd.CombinedOutput()
		if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) { // some tests fail
			t.Fatal(err)
		}
		return out
	}
}

// passes tries a test again: some tell waits apart that differ by 10 ms, which a machine
// with much to do can't.
func passes(run func(string) []byte, name string) bool {
	for range 3 {
		if passed, _ := outcomes(run("-test.run=" + only(name))); slices.Contains(passed, name) {
			return true
		}
	}
	return false
}

// left is the pattern of the tests that are not run: those that would end the program
// are among them.
func (s suite) left(known map[string]failure) string {
	patterns := slices.Clone(s.leave)
	for name, f := range known {
		if of, ours := strings.CutPrefix(name, s.name+"/"); ours && f.ends {
			patterns = append(patterns, only(of))
		}
	}
	return strings.Join(patterns, "|")
}

// only is the pattern of one test.
func only(name string) string {
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
	}
	return strings.Join(parts, "/")
}

// together makes one connection string of those of several routers.
func together(uris []string) string {
	var addresses []string
	for _, uri := range uris {
		addresses = append(addresses, strings.Trim(strings.TrimPrefix(uri, "mongodb://"), "/"))
	}
	return "mongodb://" + strings.Join(addresses, ",") + "/"
}

var outcome = regexp.MustCompile(`(?m)^ *--- (PASS|FAIL|SKIP): (\S+) \(`)

// outcomes returns the tests that passed and those that failed, but for those that have
// others inside.
func outcomes(log []byte) (passed, failed []string) {
	var all []string
	results := map[string]string{}
	for _, m := range outcome.FindAllSubmatch(log, -1) {
		all = append(all, string(m[2]))
		results[string(m[2])] = string(m[1])
	}
	for _, name := range all {
		inner := func(other string) bool { return strings.HasPrefix(other, name+"/") && results[other] == results[name] }
		switch {
		case slices.ContainsFunc(all, inner):
		case results[name] == "PASS":
			passed = append(passed, name)
		case results[name] == "FAIL":
			failed = append(failed, name)
		}
	}
	return passed, failed
}

// said returns what a test that failed has said.
func said(log []byte, name string) string {
	_, rest, _ := bytes.Cut(log, []byte("=== RUN   "+name+"\n"))
	text, _, _ := bytes.Cut(rest, []byte("=== "))
	return string(bytes.TrimSpace(text))
}

func tail(log []byte) []byte { return log[max(0, len(log)-4000):] }

// failure is a test that is known to fail.
type failure struct {
	reason string
	ends   bool // the whole program, so that it is left out
}

// knownFailures reads the list of tests that fail, with their reasons.
func knownFailures(t *testing.T) map[string]failure {
	t.Helper()
	text, err := os.ReadFile("testdata/failures.tsv")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]failure{}
	for line := range strings.Lines(string(text)) {
		columns := strings.Split(strings.TrimSpace(line), "\t")
		if len(columns) < 2 || len(columns) > 3 || len(columns) == 3 && columns[2] != "ends the program" {
			t.Fatalf("not a test, a reason and perhaps \"ends the program\": %s", line)
		}
		known[columns[0]] = failure{reason: columns[1], ends: len(columns) == 3}
	}
	return known
}

// Each failure has one of the reasons that the docs give.
func TestReasons(t *testing.T) {
	boundary, err := os.ReadFile("../../docs/boundary.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range knownFailures(t) {
		if !bytes.Contains(boundary, []byte("\n| "+f.reason+" | ")) {
			t.Errorf("%s: docs/boundary.md does not say %q", name, f.reason)
		}
	}
}
