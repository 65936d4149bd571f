package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

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
		if r.Default {
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
