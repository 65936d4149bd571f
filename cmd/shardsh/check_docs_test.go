package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"shardsh/balancer/check"
)

func checkPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/check.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// blocks returns the examples of a page in a language.
func blocks(page, language string) (list []string) {
	for _, found := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(page, -1) {
		list = append(list, found[1])
	}
	return list
}

// TestCheckPage: the table of rules says what the rules are.
func TestCheckPage(t *testing.T) {
	page := checkPage(t)
	row := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (yes)? ?\\| .+ \\| ([^|]*) ?\\| (\\w+) \\|$")
	var rows []string
	for _, found := range row.FindAllStringSubmatch(page, -1) {
		rows = append(rows, strings.Join([]string{found[1], found[2], strings.TrimSpace(found[3]), found[4]}, ","))
	}
	var want []string
	for _, r := range check.Rules() {
		usual, limit := "", ""
		if r.Usual {
			usual = "yes"
		}
		if len(r.Units) > 0 {
			limit = r.Max.String()
		}
		want = append(want, strings.Join([]string{r.Name, usual, limit, r.Severity.String()}, ","))
	}
	if !slices.Equal(rows, want) {
		t.Errorf("the page has\n%s\nthe rules are\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
}

// TestCheckExamples: YAML is YAML, policies load, and the commands do what they say
// on a cluster.
func TestCheckExamples(t *testing.T) {
	page := checkPage(t)
	var commands []string
	for _, block := range blocks(page, "sh") {
		commands = append(commands, strings.Split(strings.TrimSpace(block), "\n")...)
	}
	yamls := blocks(page, "yaml")
	if len(commands) < 4 || len(yamls) != 1 {
		t.Fatalf("%d commands and %d blocks of YAML", len(commands), len(yamls))
	}
	var policy string
	for _, text := range yamls {
		var doc map[string]any
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
		if strings.HasPrefix(text, "# policy.yaml") {
			policy = text
		}
	}
	if err := loadPolicy(check.Default(), []byte(policy)); err != nil {
		t.Error(err)
	}
	address := listen(t, wellTopology)
	dir := t.TempDir()
	snap := filepath.Join(dir, "cluster.snap")
	if code, _, stderr := runProgram(t, "", "snapshot", address, "-o", snap); code != exitOK {
		t.Fatal(stderr)
	}
	if err := os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	here := strings.NewReplacer("mongodb://host:27017", address, "mongodb://a:27017", address,
		"mongodb://b:27017", address, "cluster.snap", snap,
		"--policy policy.yaml", "--policy "+filepath.Join(dir, "policy.yaml"), "'", "")
	for _, line := range commands {
		words := strings.Fields(here.Replace(line))
		if words[0] != "shardsh" {
			continue
		}
		code, stdout, stderr := runProgram(t, "", words[1:]...)
		want := exitOK
		if strings.Contains(line, "--policy") { // which is for shop and crm, of which this cluster has nothing
			want = exitFindings
		}
		if code != want {
			t.Errorf("%s: exit code %d, %s%s", line, code, stdout, stderr)
		}
	}
}

// TestCheckAsAPlugin: Nagios gets its own exit codes, whatever happens.
func TestCheckAsAPlugin(t *testing.T) {
	well, bad := listen(t, wellTopology), listen(t, strings.ReplaceAll(lopsided, "%s", ""))
	for name, c := range map[string]struct {
		args []string
		code int
		line string
	}{
		"well": {[]string{well}, 0, "SHARDSH OK - collections: 1, all is well | findings=0;0;;0"},
		"a warning": {[]string{bad, "--rules", "compliant"}, 1,
			"SHARDSH WARNING - warning: x.y is not balanced (chunksImbalance) | findings=1;0;;0"},
		"critical": {[]string{bad, "--severity", "compliant=critical"}, 2,
			"SHARDSH CRITICAL - 2 findings, the first: critical: x.y is not"},
		"silent":            {[]string{"127.0.0.1:1"}, 3, "SHARDSH UNKNOWN - can't reach mongodb://127.0.0.1:1: "},
		"no address":        {nil, 3, "SHARDSH UNKNOWN - check needs the address of a cluster"},
		"an unknown option": {[]string{"--nope"}, 3, "SHARDSH UNKNOWN - "},
	} {
		for _, format := range [][]string{{"--output=nagios"}, {"--output", "nagios"}} {
			code, stdout, stderr := runProgram(t, "", append(append([]string{"check"}, format...), c.args...)...)
			if code != c.code || !strings.HasPrefix(stdout, c.line) || stderr != "" {
				t.Errorf("%s: exit code %d, %q, %q", name, code, stdout, stderr)
			}
		}
	}
}
