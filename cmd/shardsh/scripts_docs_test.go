package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// furnishing is what the tasks of docs/scripts.md are tried on.
const furnishing = `sh.stopBalancer(); sh.shardCollection("shop.orders", { customer: 1 });
const shop = db.getSiblingDB("shop"), month = 31 * 86400000;
shop.orders.insertMany(Array.from({ length: 300 }, (_, i) => ({ customer: i, total: i })));
shop.events.insertMany(Array.from({ length: 500 }, (_, i) => ({ at: new Date(Date.now() - (i % 2) * month) })));
for (const customer of [100, 200, 300]) sh.splitAt("shop.orders", { customer });
sh.moveRange("shop.orders", "shard2", { customer: 200 }); 0`

// Every task of docs/scripts.md does what it says, on a mock and in a dry run.
func TestTasksOfDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/scripts.md")
	if err != nil {
		t.Fatal(err)
	}
	tasks := regexp.MustCompile("(?s)\n## (\\d+\\. [^\n]*)\n.*?```js\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	says := []string{"shop.orders", "shop.orders: ", "orders marked: 199", "10 chunks", "250 deleted",
		"they are there", "every shard has every index", `"unbalanced"`}
	if len(tasks) != len(says) {
		t.Fatalf("there are %d tasks", len(tasks))
	}
	for i, task := range tasks {
		args := []string{"--quiet", "--mock=3", "--eval", furnishing, "--file", writeFile(t, "task.js", task[2])}
		if i == len(tasks)-1 {
			args = append(args, "--json")
		}
		for _, args := range [][]string{args, append([]string{"--dry-run"}, args...)} {
			code, stdout, stderr := runProgram(t, "", args...)
			if code != 0 || !strings.Contains(stdout, says[i]) {
				t.Errorf("%s %q lacks %q: exit code %d\n%s%s", task[1], args[0], says[i], code, stdout, stderr)
			}
			if i == len(tasks)-1 && !json.Valid([]byte(stdout)) {
				t.Errorf("no JSON: %s", stdout)
			}
		}
	}
}

// Scripts of others run as they were published, and can be tested.
func TestPublicScripts(t *testing.T) {
	code, stdout, stderr := runProgram(t, "", "test", "testdata/public")
	if code != 0 || !strings.HasSuffix(stdout, "2 passed, 0 failed\n") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// Scripts of others that are not ours to pass on run from where npm puts them:
// one brings a test of its own, one finds its dependencies as packages do.
func TestPublishedScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	dir, err := installed("testdata/snippets", "snippets")
	if err != nil {
		missing(t, "the scripts can't be installed: %v", err)
	}
	const snippets = "node_modules/@mongosh/snippet-"
	compat := filepath.Join(dir, snippets+"mongocompat/test.js")
	if code, _, stderr := runProgram(t, "", "--nodb", "--file", compat); code != 0 || strings.Contains(stderr, "Error") {
		t.Errorf("%s: exit code %d\n%s", compat, code, stderr)
	}
	code, stdout, stderr := runProgram(t, "", "--quiet", "--mock=2", "--file", writeFile(t, "token.js", fmt.Sprintf(`
		load(%q)
		const changes = db.c.watch()
		db.c.insertOne({ _id: 7 })
		const event = changes.next()
		print(decodeResumeToken(event).timestamp.getHighBits() === event.clusterTime.t)
		changes.close()`, filepath.Join(dir, snippets+"resumetoken/index.js"))))
	if code != 0 || stdout != "true\n" {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}
