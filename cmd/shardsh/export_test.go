package main

import (
	"strings"
	"testing"
	"time"

	"shardsh/cmd/shardsh/cmdline"
)

func TestExportOnce(t *testing.T) {
	code, page, stderr := runProgram(t, "", "export", "--mock", "--once", "--collections", "1")
	if code != exitOK {
		t.Fatal(code, stderr)
	}
	for _, line := range []string{
		`shardsh_check_up{cluster="mongodb://mock:27017"} 1`, `shardsh_balancer_enabled{cluster="mongodb://mock:27017"} 1`,
		`shardsh_export_targets 1`, `shardsh_export_reads_total{cluster="mongodb://mock:27017"} 1`,
		`shardsh_balance_reachable{cluster="mongodb://mock:27017"} 1`,
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("there is no line %s in\n%s", line, page)
		}
	}
	if n := strings.Count(page, "\nshardsh_collection_compliant{"); n != 1 {
		t.Errorf("%d collections have series of their own", n)
	}
}

// A cluster that can't be reached is a metric, and no reason to end.
func TestExportOfNobody(t *testing.T) {
	code, page, stderr := runProgram(t, "", "export", "mongodb://127.0.0.1:1", "--once")
	if code != exitOK || !strings.Contains(page, `shardsh_check_up{cluster="mongodb://127.0.0.1:1"} 0`+"\n") ||
		!strings.Contains(stderr, "can't reach") {
		t.Errorf("exit code %d, %s\n%s", code, stderr, page)
	}
}

// --forecast 0 leaves out the time to balance.
func TestExportWithoutForecast(t *testing.T) {
	for text, want := range map[string]time.Duration{"0": 0, "10m": 10 * time.Minute} {
		o := new(exportFlags)
		if _, _, _, err := cmdline.Parse(o.groups(), []string{"h:1", "--forecast", text}); err != nil || o.forecast != want {
			t.Errorf("--forecast %s: %s, %v", text, o.forecast, err)
		}
	}
}

func TestExportCommandLine(t *testing.T) {
	password := writeFile(t, "password", "secret\n")
	targets := writeFile(t, "targets.yaml", "clusters: [{name: a, uri: 'mongodb://h:1', labels: {shard: x}}]")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "export needs the address of a cluster, --targets FILE, or --mock"},
		{[]string{"h:1", "h:2"}, "export takes one address"},
		{[]string{"h:1", "--targets", targets}, "--targets FILE names the clusters"},
		{[]string{"--targets", targets}, "a: metrics have a label shard of their own"},
		{[]string{"--targets", "none"}, "--targets: "},
		{[]string{"--targets", password}, password + ":1: "},
		{[]string{"--targets", writeFile(t, "files.yaml", "clusters: [{name: a, from: a.snap}]")}, "a: nothing changes in a file"},
		{[]string{"h:1", "--every", "1ms"}, "--every takes at least 1s"},
		{[]string{"h:1", "--stale", "1s"}, "--stale has to be longer than --every"},
		{[]string{"h:1", "--max", "nonsense=1"}, "--max"},
		{[]string{"h:1", "--auth", "nonsense"}, "--auth takes user:file"},
		{[]string{"h:1", "--auth", "a:none"}, "--auth a: "},
		{[]string{"h:1", "--tls-key", "none"}, "--tls-key needs --tls-cert"},
	} {
		code, _, stderr := runProgram(t, "", append([]string{"export"}, tt.args...)...)
		if code != exitUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("%q: exit code %d, %s, want %s", tt.args, code, stderr, tt.want)
		}
	}
}
