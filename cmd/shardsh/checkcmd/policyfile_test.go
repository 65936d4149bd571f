package checkcmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shardsh/balancer/check"
	"shardsh/balancer/diagnosis"
	"shardsh/cmd/shardsh/cmdline"
)

const policyText = `# what we expect of our clusters
fail-on: critical
since: 1h
ns: ["shop.*", crm.people]
exclude: "*.tmp_*"
allow: [draining, resharding]
require-collections: true
rules:
  jumbo: {max: 5, severity: critical}
  uneven: {max: 10GiB}
  orphans: on
  versions: off
`

func TestPolicyFile(t *testing.T) {
	p := check.Default()
	if err := LoadPolicy(p, []byte(policyText)); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(p.FailOn, p.MaxFailureAge, p.Namespaces, p.Allow)
	for _, c := range p.Choices {
		if c.On != c.Default || c.Max != check.Rules()[0].Max && c.Name == "jumbo" || c.Name == "uneven" {
			got += fmt.Sprintf(" %s:%v,%s,%s", c.Name, c.On, c.Max, c.Severity)
		}
	}
	want := "critical 1h0m0s {[shop.* crm.people] [*.tmp_*]} [draining resharding]" +
		" jumbo:true,5,critical versions:false,0,warning orphans:true,100000,warning uneven:true,10 GiB,warning" +
		" collections:true,0,critical"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// A mistake names its line, and what was probably meant.
func TestPolicyMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "1: the file is empty",
		"- 1":                                  "1: expected names with values",
		"fail_on: info":                        `1: unknown name "fail_on"; did you mean fail-on?`,
		"\nrules:\n  jumbos: on":               `3: unknown name "jumbos"; did you mean jumbo?`,
		"rules:\n  jumbo: maybe":               `2: the rule jumbo takes on, off, or {max: …, severity: …}, not "maybe"`,
		"rules:\n  jumbo:\n    limit: 5":       `3: unknown name "limit"`,
		"rules:\n  jumbo:\n    max: 5%":        `3: jumbo: "5%" is not a value such as 100`,
		"rules:\n  zones: {max: 5}":            "2: the rule zones has no threshold",
		"rules:\n  zones: {severity: criticl}": `2: there is no severity "criticl"; did you mean critical?`,
		"allow: [drain]":                       `1: there is no work to allow "drain"; there are draining, `,
		"since: never":                         `1: "never" is not a time above 0`,
		"ns: {a: b}":                           "1: expected a string or a list of strings",
		"ns: [[a]]":                            "1: expected a string or a list of strings",
		"ns: a\n\nns: b":                       `3: "ns" is given twice`,
		"ns: &x [a]\nexclude: *x":              "2: aliases are not supported",
		"ns: a\n---\nns: b":                    "2: a policy is one document",
		"ns: [a\nb: {":                         "",
		"require-collections: perhaps":         `1: expected on or off, not "perhaps"`,
		"\tns: a":                              "1: found character that cannot start any token",
	} {
		err := LoadPolicy(check.Default(), []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
	long, bad := filepath.Join(t.TempDir(), "long.yaml"), filepath.Join(t.TempDir(), "bad.yaml")
	for path, text := range map[string]string{long: strings.Repeat("#", maxPolicyBytes+1), bad: "rules:\n  jumbos: on\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		long: "it is too long", "/nowhere/x": "no such file", bad: "bad.yaml:2: unknown name", os.DevNull: "not a regular file",
	} {
		_, err := Options{policyFile: path}.Policy()
		if usage := new(cmdline.UsageError); !errors.As(err, usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", path, err, want)
		}
	}
}

// Options count more than the file.
func TestPolicyAndOptions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(path, []byte(policyText), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{policyFile: path, failOn: "info", since: time.Minute, namespaces: []string{"x.*"},
		maxima: []string{"jumbo=7", "window=2d"}, severities: []string{"orphans=info"}, allowedWork: []string{"defragmenting"}}
	p, err := o.Policy()
	if err != nil {
		t.Fatal(err)
	}
	jumbo, _ := p.Choice("jumbo")
	window, _ := p.Choice("window")
	orphans, _ := p.Choice("orphans")
	if p.FailOn != diagnosis.Info || p.MaxFailureAge != time.Minute || jumbo.Max.Value != 7 ||
		jumbo.Severity != diagnosis.Critical ||
		!window.On || window.Max.String() != "2d" || orphans.Severity != diagnosis.Info ||
		fmt.Sprint(p.Allow, p.Namespaces.Include) != "[defragmenting] [shop.* crm.people x.*]" {
		t.Errorf("%+v", p)
	}
}
