package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// What the recipes of docs/ci.md are made of: the fields that they use, as the systems
// that read them have them. A parser that meets another one complains.
type (
	workflow struct {
		Name string
		On   any
		Jobs map[string]struct {
			RunsOn  []string `yaml:"runs-on"`
			Minutes int      `yaml:"timeout-minutes"`
			Steps   []struct {
				Name, Uses, If, Run string
				Env, With           map[string]string
			}
		}
	}
	gitlab map[string]struct {
		Rules     []struct{ If string }
		Script    []string
		Artifacts struct {
			When    string
			Reports struct{ JUnit string }
		}
	}
	alerts struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
)

// blocks returns the examples of a page in a language.
func blocks(page, language string) (list []string) {
	for _, found := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(page, -1) {
		list = append(list, found[1])
	}
	return list
}

// recipe decodes the block of a page whose first line is "# name".
func recipe[T any](t *testing.T, page, name string) (r T) {
	t.Helper()
	for _, text := range blocks(page, "yaml") {
		if strings.HasPrefix(text, "# "+name+"\n") {
			d := yaml.NewDecoder(strings.NewReader(text))
			d.KnownFields(true)
			if err := d.Decode(&r); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			return r
		}
	}
	t.Fatalf("docs/ci.md has no %s", name)
	return r
}

// The recipes of docs/ci.md can be read by what they are for, and their commands do what
// they say.
func TestRecipes(t *testing.T) {
	text, err := os.ReadFile("../../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	var commands []string
	for _, name := range []string{".github/workflows/cluster.yaml", ".github/workflows/scripts.yaml"} {
		for _, job := range recipe[workflow](t, page, name).Jobs {
			for _, step := range job.Steps {
				if step.Run != "" {
					commands = append(commands, step.Run)
				}
			}
		}
	}
	for _, job := range recipe[gitlab](t, page, ".gitlab-ci.yml") {
		commands = append(commands, job.Script...)
	}
	for _, found := range regexp.MustCompile(`sh '(shardsh [^']+)'|command_line +\S*/(shardsh .*)`).FindAllStringSubmatch(page, -1) {
		commands = append(commands, found[1]+found[2])
	}
	if len(commands) != 7 {
		t.Fatalf("commands %q", commands)
	}
	address := listen(t, wellTopology)
	here := strings.NewReplacer(`"$MONGODB_URI"`, address, "$ARG1$", address, "--wait 10m", "--wait 1ms")
	writeRecipeFiles(t)
	for _, command := range commands {
		code, stdout, stderr := runProgram(t, "", strings.Fields(here.Replace(command))[1:]...)
		if code != exitOK {
			t.Errorf("%s: exit code %d, %s%s", command, code, stdout, stderr)
		}
	}
	for _, name := range []string{"check.xml", "tests.xml"} {
		if got, err := os.ReadFile(name); err != nil || !bytes.Contains(got, []byte("<testsuite")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	checkAlerts(t, recipe[alerts](t, page, "shardsh-rules.yaml"), address)
}

// writeRecipeFiles makes what the recipes find in a checkout.
func writeRecipeFiles(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.Mkdir("scripts", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"policy.yaml":              "rules:\n  jumbo: {max: 5}\n",
		"scripts/balancer.js":      "print(sh.getBalancerState())\n",
		"scripts/balancer_test.js": `it("tells", () => expect(run("balancer.js").exitCode).toBe(0))` + "\n",
	} {
		if err := os.WriteFile(filepath.FromSlash(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// checkAlerts: alerts ask for what the check tells.
func checkAlerts(t *testing.T, rules alerts, address string) {
	t.Helper()
	_, metrics, _ := runProgram(t, "", "check", address, "--output", "prometheus")
	asked := 0
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			asked++
			if name := regexp.MustCompile(`shardsh_\w+`).FindString(rule.Expr); !strings.Contains(metrics, "\n"+name) {
				t.Errorf("%s asks for %q, which the check does not tell:\n%s", rule.Alert, name, metrics)
			}
		}
	}
	if asked != 2 {
		t.Errorf("%d alerts", asked)
	}
}
