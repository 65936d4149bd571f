package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"shardsh/balancer/mock/mocktest"
)

// fleetFile is a file of an unbalanced cluster, a balanced one, one that is down, and one whose
// password nobody knows.
func fleetFile(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	uneven := strings.ReplaceAll(unbalanced, `"noBalance": true, `, "")
	if err := os.WriteFile(filepath.Join(dir, "uneven.json"), []byte(uneven), 0o600); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`clusters:
  - {name: well, uri: %q, labels: {env: production, region: eu}}
  - {name: uneven, mock: uneven.json, labels: {env: production}}
  - {name: down, uri: "mongodb://%s", labels: {env: test}}
  - {name: locked, uri: "mongodb://joe@%[2]s", labels: {env: test}}
`, mocktest.Start(t, 2), closedPort(t))
	path := filepath.Join(dir, "fleet.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// closedPort is an address where nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// Each verb has a line for each cluster, the worst first, and the exit code of the worst.
func TestFleet(t *testing.T) {
	t.Parallel()
	path := fleetFile(t)
	page := filepath.Join(t.TempDir(), "fleet.html")
	kept := t.TempDir()
	for name, c := range map[string]struct {
		args string
		code int
		want string // of stdout and stderr, a pattern
	}{
		"check": {"check --targets F", 3, `(?s)^FAILED +uneven +shop\.odd is not balanced \(chunksImbalance\)
UNKNOWN +down +can't reach .*
UNKNOWN +locked +a fleet asks for no passwords: .*
OK +well
4 clusters: 1 FAILED, 2 UNKNOWN, 1 OK
$`},
		"check, quiet":     {"check --targets F --select region=eu --quiet", 0, `^$`},
		"check of a label": {"check --targets F --select region=eu", 0, `(?s)^OK.*\n1 cluster: 1 OK\n$`},
		"check of some":    {"check --targets F --select env=test", 1, `(?s)^UNKNOWN +down.*2 clusters: 2 UNKNOWN\n$`},
		"check of one":     {"check --targets F --cluster uneven", 3, `(?s)^shop\.odd +NOT balanced: chunksImbalance\nshop\.even +balanced\nFAILED`},
		"check, long":      {"check --targets F --select env=production --long", 3, `(?s)^well\n.*\nuneven\nshop\.odd`},
		"check, junit":     {"check --targets F --output junit", 3, `<testsuite name="well"`},
		"check, metrics":   {"check --targets F --output prometheus", 3, `shardsh_check_ok\{cluster="uneven"\} 0`},
		"why":              {"why --targets F", 1, `(?s)^unknown +down.*unknown +locked.*info +uneven +shop.odd.*fine +well +nothing is wrong\n4 clusters`},
		"why, not of test": {"why --targets F --select env!=test", 0, `(?s)^info +uneven.*2 clusters: 1 info, 1 fine\n$`},
		"why of one":       {"why --targets F --cluster uneven --ns shop.odd", 0, `shop\.odd is not balanced`},
		"report":           {"report --targets F -o " + page, 1, `fleet\.html: 4 clusters: 2 unknown, 1 info, 1 fine`},
		"snapshot":         {"snapshot --targets F --keep 1d --into " + kept, 1, `(?s)unknown  down .*saved +well .*/well/20.*Z\.snap: 2 shards`},
		"watch":            {"watch --targets F --once", 1, `(?s)^4 clusters: 2 unknown, 1 info, 1 fine.*\ninfo     uneven .*\nfine +well `},

		"no such cluster":    {"why --targets F --cluster wel", 2, `has no cluster "wel"; did you mean well\?`},
		"no such label":      {"why --targets F --select env=none", 2, "none of the 4 clusters of .* has such labels"},
		"no selector":        {"why --targets F --select =", 2, "is not label=value"},
		"an address as well": {"why --targets F mongodb://h", 2, "leave the address, --from and --mock out"},
		"both":               {"why --targets F --select env --cluster well", 2, "--select and --cluster exclude each other"},
		"no file":            {"why --cluster well", 2, "--targets FILE"},
		"part of many":       {"why --targets F --ns shop.odd", 2, "add --cluster NAME"},
		"waits for many":     {"check --targets F --wait 1m", 2, "add --cluster NAME"},
		"no directory":       {"snapshot --targets F -o x.snap", 2, "use --into DIR"},
		"none at a time":     {"why --targets F --parallel 0", 2, "at least 1"},
		"heat of many":       {"watch --targets F --heat", 2, "add --cluster NAME"},
		"redacted":           {"report --targets F --redact -o x.html", 2, "add --cluster NAME"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(strings.ReplaceAll(c.args, " F", " "+path))
			code, stdout, stderr := runProgram(t, "", args...)
			if code != c.code || !regexp.MustCompile(c.want).MatchString(stdout+stderr) {
				t.Errorf("exit code %d, want %d\n%s%s\nwant %s", code, c.code, stdout, stderr, c.want)
			}
		})
	}
}

// Programs read an array, in which each cluster has its name, and what is wrong with the asking.
func TestFleetJSON(t *testing.T) {
	t.Parallel()
	path := fleetFile(t)
	for verb, answer := range map[string]string{"check": "rules", "why": "why", "report": "report", "watch --once": "report"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			_, stdout, _ := runProgram(t, "", append(strings.Fields(verb), "--targets", path, "--json")...)
			var list []map[string]json.RawMessage
			if err := json.Unmarshal([]byte(stdout), &list); err != nil || len(list) != 4 {
				t.Fatalf("%v in %s", err, stdout)
			}
			for _, one := range list {
				var name string
				_ = json.Unmarshal(one["cluster"], &name)
				has, failed := one[answer] != nil, one["error"] != nil
				if ok := name == "well" || name == "uneven"; has != ok || failed == ok || one["address"] == nil || one["labels"] == nil {
					t.Errorf("%s has %v", name, one)
				}
			}
		})
	}
}

// Passwords of a fleet are in nothing that is written.
func TestFleetTellsNoPasswords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("clusters:\n- {name: a, uri: 'mongodb://%s', username: joe, passwordFile: secret}\n", closedPort(t))
	path := filepath.Join(dir, "fleet.yaml")
	for _, file := range []string{text, text + "- {name: b, uri: 'mongodb://joe:hunter2@h'}\n", text + "- {name: b, password: hunter2}\n"} {
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, verb := range []string{"check", "check --json", "why", "why --json", "report -o -", "watch --once", "snapshot --into " + dir} {
			_, stdout, stderr := runProgram(t, "", append(strings.Fields(verb), "--targets", path)...)
			if strings.Contains(stdout+stderr, "hunter2") {
				t.Errorf("%s prints\n%s%s", verb, stdout, stderr)
			}
		}
	}
}

// A cluster that accepts connections and says nothing does not slow the others, and has its
// time only.
func TestFleetHangs(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	path := writeFile(t, "fleet.yaml", fmt.Sprintf("clusters:\n- {name: mute, uri: 'mongodb://%s'}\n- {name: toy, mock: 2}\n", l.Addr()))
	began := time.Now()
	code, stdout, _ := runProgram(t, "", "why", "--targets", path, "--timeout", "1s")
	if took := time.Since(began); code != 1 || took > 20*time.Second || !strings.Contains(stdout, "fine     toy") ||
		!regexp.MustCompile(`unknown  mute +\S`).MatchString(stdout) {
		t.Errorf("exit code %d after %s\n%s", code, took, stdout)
	}
}
