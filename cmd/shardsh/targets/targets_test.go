package targets

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"shardsh/cmd/shardsh/target"
)

const fleet = `defaults:
  username: monitor
  passwordFile: secrets/monitor
  labels: {team: data, env: production}
clusters:
  - name: shop-eu
    uri: mongodb://a.example.net:27017,b.example.net:27017/?tls=true
    labels: {region: eu}
  - name: shop-us
    uri: mongodb+srv://own@us.example.net
    passwordFile: /run/secrets/us
    labels: {region: us, env: staging}
  - {name: old, from: old.snap}
  - {name: toy, mock: 5}
`

func TestParse(t *testing.T) {
	list, err := Parse([]byte(fleet), "/etc/fleet")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range list {
		got = append(got, fmt.Sprint(one.Name, " ", one.URI, one.MetadataFile, one.Mock, " ", one.Username, " ", one.PasswordFile, " ",
			one.LabelText()))
	}
	want := []string{
		"shop-eu mongodb://a.example.net:27017,b.example.net:27017/?tls=true monitor /etc/fleet/secrets/monitor " +
			"env=production,region=eu,team=data",
		"shop-us mongodb+srv://own@us.example.net monitor /run/secrets/us env=staging,region=us,team=data",
		"old /etc/fleet/old.snap   env=production,team=data",
		"toy 5   env=production,team=data",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What the file says of a cluster goes before the options, which are for all.
func TestServer(t *testing.T) {
	all := target.ConnectionFlags{Username: "me", PasswordFile: "mine", Address: "x"}
	for _, tt := range []struct {
		of                              Target
		address, username, passwordFile string
	}{
		{Target{URI: "mongodb://a"}, "mongodb://a", "me", "mine"},
		{Target{URI: "mongodb://a", Username: "u", PasswordFile: "f"}, "mongodb://a", "u", "f"},
	} {
		got := tt.of.ConnectionFlags(all)
		if got.Address != tt.address || got.Username != tt.username || got.PasswordFile != tt.passwordFile {
			t.Errorf("%+v gives %+v", tt.of, got)
		}
	}
}

// A mistake names its line and what to do, and repeats no password.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "1: the file is empty",
		"clusters: []":              "1: clusters: expected a list of clusters",
		"cluster: []":               `1: unknown name "cluster"; did you mean clusters?`,
		"clusters:\n- {name: a}":    "2: a: exactly one of uri, from and mock",
		"clusters:\n- {from: a}":    "2: the cluster has no name",
		"clusters:\n- {name: ../a}": "2: name: expected letters",
		"clusters:\n- {name: a, from: a, mock: 3}":              "2: a: exactly one of uri, from and mock",
		"clusters:\n- {name: a, mock: 3}\n- {name: a, from: b}": `3: there is a cluster "a" already, in line 2`,
		"clusters:\n- {name: a, uri: 'joe:hunter2@h'}":          "2: uri: expected one that begins with mongodb://",
		"clusters:\n- {name: a, uri: 'mongodb://joe:hunter2@h'}": "2: uri: a password does not belong in this file: " +
			"put it in a file that only you may read, and name that with passwordFile",
		"clusters:\n- {name: a, uri: 'mongodb://joe:hun/ter2@h'}": "2: uri: the user name or password",
		"clusters:\n- {name: a, uri: 'mongodb://h/?tlsCertificateKeyFilePassword=hunter2'}": "2: uri: " +
			"tlsCertificateKeyFilePassword does not belong in this file",
		"clusters:\n- {name: a, uri: 'mongodb://h/?authMechanismProperties=AWS_SESSION_TOKEN:hunter2'}": "2: uri: " +
			"authMechanismProperties does not belong",
		"clusters:\n- {name: a, uri: 'mongodb://h', passwordFile: f}":      "2: a: passwordFile needs username",
		"clusters:\n- {name: a, uri: 'mongodb://h', labels: {cluster: x}}": "2: a label can't be called cluster",
		"clusters:\n- {name: a, uri: 'mongodb://h', labels: {a-b: x}}":     "2: the name of a label is a letter, then letters",
		"clusters:\n- {name: a, password: hunter2}":                        "2: a password does not belong in this file",
	} {
		_, err := Parse([]byte(text), "")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v\nwant %s", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s\ntells the password: %v", text, err)
		}
	}
}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fleet.yaml")
	if err := os.WriteFile(path, []byte("clusters:\n- {name: a, from: a.snap}\n- {}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || err.Error() != path+":3: the cluster has no name" {
		t.Error(err)
	}
}

func TestSelector(t *testing.T) {
	list, err := Parse([]byte(fleet), "")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"env=production":      "shop-eu old toy",
		"env==production":     "shop-eu old toy",
		"env!=production":     "shop-us",
		"region":              "shop-eu shop-us",
		"region!=eu":          "shop-us old toy",
		"region=eu,team=data": "shop-eu",
		"region=eu,team=shop": "",
		"region = eu":         "error",
		"":                    "error",
		"=eu":                 "error",
	} {
		s, err := ParseSelector(text)
		got := strings.Join(Names(Select(list, s)), " ")
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q selects %q, want %q", text, got, want)
		}
	}
	if all := Select(list, nil); len(all) != len(list) {
		t.Errorf("no condition selects %v", Names(all))
	}
}

// No file makes the reader panic, and no error tells a password.
func FuzzParse(f *testing.F) {
	f.Add(fleet)
	f.Add("clusters:\n- {name: a, uri: 'mongodb://joe:hunter2@h'}")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Parse([]byte(text), "")
		for _, one := range list {
			if one.Name == "" || one.Location() == "" {
				t.Errorf("%+v", one)
			}
		}
		if (err == nil) != (len(list) > 0) {
			t.Errorf("%d targets, %v", len(list), err)
		}
	})
}
