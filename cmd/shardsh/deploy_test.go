package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// deployed returns the command lines of shardsh in the files of deploy: those of containers,
// of units, and of steps.
func deployed(t *testing.T) map[string][]string {
	t.Helper()
	lines := make(map[string][]string)
	for _, pattern := range []string{"manifests/*.yaml", "systemd/*.service", "github/*.yml", "gitlab/*.yml"} {
		files, err := filepath.Glob("../../deploy/" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file)
			for _, found := range regexp.MustCompile(`(?m)(?:^ExecStart=/usr/bin/|^\s+(?:- )?)shardsh (.*)$`).FindAllSubmatch(text, -1) {
				lines[name] = append(lines[name], string(found[1]))
			}
			for doc := range strings.SplitSeq(string(text), "\n---\n") {
				var of any
				if err := yaml.Unmarshal([]byte(doc), &of); err == nil {
					lines[name] = append(lines[name], argsIn(of)...)
				}
			}
		}
	}
	return lines
}

// argsIn returns the arguments of all containers in a document.
func argsIn(of any) (lines []string) {
	switch of := of.(type) {
	case []any:
		for _, v := range of {
			lines = append(lines, argsIn(v)...)
		}
	case map[string]any:
		if args, is := of["args"].([]any); is {
			var words []string
			for _, a := range args {
				words = append(words, a.(string))
			}
			lines = append(lines, strings.Join(words, " "))
		}
		for _, v := range of {
			lines = append(lines, argsIn(v)...)
		}
	}
	return lines
}

// What is deployed runs: each command line is one of this program, and does its work on a
// cluster in place of the example's.
func TestDeployedCommandLines(t *testing.T) {
	lines := deployed(t)
	want := map[string]int{
		"manifests/exporter.yaml": 1, "manifests/check.yaml": 1, "manifests/drain.yaml": 1, "systemd/shardsh-export.service": 1,
		"systemd/shardsh-check.service": 1, "github/action.yml": 2, "gitlab/shardsh.gitlab-ci.yml": 2,
	}
	for name, n := range want {
		if len(lines[name]) != n {
			t.Errorf("%s has %q", name, lines[name])
		}
	}
	address := serve(t, wellTopology).address
	password := writeFile(t, "password", "secret\n")
	clusters := writeFile(t, "clusters.yaml", "clusters: [{name: main, uri: 'mongodb://"+address+"'}]\n")
	writeRecipeFiles(t)
	here := strings.NewReplacer(
		"/etc/shardsh/clusters/clusters.yaml", clusters, "/etc/shardsh/clusters.yaml", clusters,
		"mongodb://mongos.default.svc:27017", address, " --username=shardsh", "", " --passwordFile=/etc/shardsh/passwords/main", "",
		"--wait 10m", "--wait 1ms", `"$SHARDSH_URI"`, address, `"$MONGODB_URI"`, address, `"$SHARDSH_SCRIPTS"`, "scripts", ` "${more[@]}"`, "",
		"/etc/shardsh/auth/password", password, "--shard=shard3", "--shard=a",
		"--work-for=720h", "--work-for=0",
	)
	for name, of := range lines {
		for _, line := range of {
			line = here.Replace(line)
			if strings.HasPrefix(line, "export ") {
				line = strings.Replace(line, "0.0.0.0:", "127.0.0.1:", 1) + " --once"
			}
			if code, stdout, stderr := runProgram(t, "", strings.Fields(line)...); code != exitOK {
				t.Errorf("%s: shardsh %s ends with %d: %s%s", name, line, code, stdout, stderr)
			}
		}
	}
}
