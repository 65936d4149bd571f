package suite

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"shardsh/balancer/live/suite/proxy"
	"shardsh/balancer/mock/commands"
)

// switches calls every helper, and the commands that change clusters, with --read-only
// and --dry-run: nothing that changes anything goes over the wire, and the cluster
// stays as it is.
func switches(t *testing.T, c *target) {
	c.script("heap.js")
	calls := examples(t, c.shards)
	plan := filepath.Join(t.TempDir(), "plan.json")
	well(t, "plan", c.uri, "--ns", database+".orders", "--goal", "drain="+c.shards[2], "--json", "-o", plan, "--quiet")
	before := fingerprintOf(t, c.client)
	for _, option := range []string{"--read-only", "--dry-run"} {
		for name, args := range map[string][]string{
			"helpers": {"--eval", calls},
			"apply":   {"apply", plan},
			"balance": {"balance", "--ns", database + ".orders", "--take-over"},
		} {
			r, sent := c.overheard(t, append(args, option, "--quiet")...)
			refuses := option == "--read-only" && name != "helpers"
			if r.code == 2 != refuses || option == "--dry-run" && r.code != 0 {
				t.Errorf("%s %s: %v", name, option, r)
			}
			for _, command := range sent {
				t.Errorf("%s %s sends %s", name, option, command)
			}
		}
	}
	for _, line := range before.differences(fingerprintOf(t, c.client)) {
		t.Errorf("changed: %s", line)
	}
}

// overheard runs the program by a proxy that notes which commands are not those of
// somebody who only reads.
func (c *target) overheard(t *testing.T, args ...string) (result ran, sent []string) {
	t.Helper()
	table := commands.ByName()
	var mu sync.Mutex
	p, err := proxy.Listen(c.address(), func(_ int, m proxy.Message) proxy.Verdict {
		command, ok := m.Command()
		if !ok || m.Direction != proxy.ToCluster {
			return proxy.Pass()
		}
		mu.Lock()
		defer mu.Unlock()
		// endSessions says good-bye to sessions of the program's own.
		if m.Name() != "endSessions" && !commands.IsReadOnly(table, command) {
			sent = append(sent, command.String())
		}
		return proxy.Pass()
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	result = shardsh(t, append(args, strings.Replace(c.uri, c.address(), p.Address(), 1))...)
	mu.Lock()
	defer mu.Unlock()
	return result, sent
}

var (
	example = regexp.MustCompile("`(sh\\.[^`]*)`")
	patient = regexp.MustCompile(`\b\d{4,}\b`)
)

// examples makes one script of the examples of docs/sh.md, about the suite's own
// collection: each may fail, and none waits long.
func examples(t *testing.T, shards []string) string {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "sh.md"))
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	n := 0
	names := strings.NewReplacer("shop.", database+".", `"shop"`, `"`+database+`"`, "customer", "k",
		`"shard1"`, `"`+shards[1]+`"`, `"shard2"`, `"`+shards[2]+`"`, `"shard3"`, `"`+shards[2]+`"`)
	for line := range strings.Lines(string(doc)) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		columns := strings.Split(line, " | ")
		for _, found := range example.FindAllStringSubmatch(columns[len(columns)-1], -1) {
			call := patient.ReplaceAllString(names.Replace(found[1]), "200")
			fmt.Fprintf(&script, "try { %s } catch (e) { }\n", call)
			n++
		}
	}
	if n < 40 {
		t.Fatalf("only %d examples were found", n)
	}
	return script.String()
}
