package target

import (
	"slices"
	"strings"
	"testing"
)

func TestParseFile(t *testing.T) {
	list, err := ParseFile([]byte(`
targets:
  - name: eu
    address: mongodb://monitor@eu.example:27017/?tls=true
    passwordFile: /etc/eu
    labels: { team: shop, env: prod }
  - { name: us, address: "us.example:27018" }
`))
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[0].Name != "eu" || list[1].Address != "us.example:27018" {
		t.Errorf("got %+v", list)
	}
	if got, want := list[0].Pairs(), []string{"env", "prod", "team", "shop"}; !slices.Equal(got, want) {
		t.Errorf("the labels are %q, want %q", got, want)
	}
	same, err := ParseFile([]byte(`{"targets": [{"name": "us", "address": "us.example:27018"}]}`))
	if err != nil || same[0].Identity() != list[1].Identity() {
		t.Errorf("JSON is read as %+v, %v", same, err)
	}
}

// What is wrong is told by the name of the target, and never with a password.
func TestParseFileRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`targets: [{name: a}]`:        "target a: it needs a name and an address",
		`targets: [{address: "h:1"}]`: "target no. 1: it needs a name",
		`targets: [{name: a, address: "h:1"}, {name: a, address: "h:2"}]`: "two targets have the name a",
		`targets: [{name: a, address: "mongodb://u:hunter2@h:1"}]`:        "target a: the address has a password",
		`targets: [{name: a, address: "mongodb://u@h:1"}]`:                "target a: it needs a passwordFile",
		`targets: [{name: a, address: "u:hunter2@h:1"}]`:                  "the address has a user in it",
		`targets: [{name: a, address: "h:1", labels: {"a-b": c}}]`:        `"a-b" can't be the name of a label`,
		`targets: [{name: a, address: "h:1", labels: {__name__: c}}]`:     "can't be the name of a label",
		`targets: [{name: a, address: "h:1", passwordFile: f}]`:           "needs --username",
		`targets: [{name: a, address: "h:1", password: hunter2}]`:         "password not found",
		`targets: {hunter2: 1}`:                                           "line 1",
		`targets: [{name: a, address: {hunter2: 1}}]`:                     "line 1",
		"targets: hunter2": "line 1",
		"targets: [":       "line 1",
		`targets: [{name: a, address: "mongodb://u@h:1/?authMechanism=MONGODB-X509&nonsense"}]`: "",
	} {
		_, err := ParseFile([]byte(text))
		if err == nil {
			if want != "" {
				t.Errorf("%s is taken", text)
			}
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzParseFile(f *testing.F) {
	f.Add([]byte(`targets: [{name: a, address: "mongodb://u@h:1", passwordFile: f, labels: {b: c}}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := ParseFile(data)
		for _, e := range list {
			if err != nil || e.check() != nil {
				t.Errorf("%+v of %q: %v", e, data, err)
			}
		}
	})
}
