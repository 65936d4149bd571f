package main

import (
	"crypto/tls"
	"encoding/json"
	"strings"
	"testing"

	"shardsh/balancer/live"
)

const twoShards = `{"shards": [{"id": "a"}, {"id": "b"}]}`

// examined runs doctor, which must not repeat the password, and returns its lines by
// name, "grade: text -> remedy".
func examined(t *testing.T, code int, env map[string]string, args ...string) map[string]string {
	t.Helper()
	got, stdout, stderr := program{env: env, args: append([]string{"doctor", "--json"}, args...)}.run(t)
	if got != code || stderr != "" {
		t.Errorf("exit code %d, errors %q: %s", got, stderr, stdout)
	}
	if strings.Contains(stdout, "s3cret") {
		t.Errorf("a password is told: %s", stdout)
	}
	var report struct {
		Grade string
		Lines []struct{ Section, Name, Grade, Text, Remedy string }
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	if (report.Grade == "fail") != (code == exitFailure) {
		t.Errorf("exit code %d, grade %s", code, report.Grade)
	}
	lines := make(map[string]string)
	for _, l := range report.Lines {
		lines[l.Name] = l.Grade + ": " + l.Text + " -> " + l.Remedy
	}
	return lines
}

func wantLines(t *testing.T, lines map[string]string, want map[string]string) {
	t.Helper()
	for name, part := range want {
		if !strings.Contains(lines[name], part) {
			t.Errorf("%s is %q, want %q", name, lines[name], part)
		}
	}
}

func TestDoctorOfTheMock(t *testing.T) {
	lines := examined(t, exitOK, nil)
	wantLines(t, lines, map[string]string{"cluster": "ok: the embedded mock", "mongos": "ok: yes", "version": "ok: 8.0",
		"user": "ok: none: the mock allows everything"})
	code, stdout, _ := runProgram(t, "", "doctor")
	if code != exitOK || !strings.HasPrefix(stdout, "This machine\n  ok    shardsh") || !strings.HasSuffix(stdout, " 0 fail\n") {
		t.Errorf("exit code %d, %s", code, stdout)
	}
}

func TestDoctorOfNobody(t *testing.T) {
	lines := examined(t, exitFailure, nil, "--port", "1")
	wantLines(t, lines, map[string]string{"hosts": "127.0.0.1:1 (from --port", "127.0.0.1:1": "fail: no connection",
		"connection": "fail: not tried: no host answers", "directConnection": "true (from the default)"})
}

// As whom: each user sees which roles are met, and what is missing.
func TestDoctorOfRights(t *testing.T) {
	address := rolesCluster(t, twoShards)
	for _, c := range []struct {
		user string
		code int
		want map[string]string
	}{
		{"root", exitOK, map[string]string{"user": "ok: root of admin", live.RoleReader: "ok: met", live.RoleEngine: "ok: met"}},
		{live.RoleReader, exitOK, map[string]string{live.RoleReader: "ok: met", live.RoleEngine: "warn: not met"}},
		{live.RoleEngine, exitOK, map[string]string{live.RoleEngine: "ok: met",
			live.RoleHelpers: `grantRolesToUser("shardshEngine", ["shardshHelpers"])`}},
		{live.RoleHelpers, exitOK, map[string]string{live.RoleHelpers: "ok: met", "password": "ok: set, not shown (from the address)"}},
	} {
		wantLines(t, examined(t, c.code, nil, address(c.user)), c.want)
	}
	engine := examined(t, exitOK, nil, address(live.RoleReader))[live.RoleEngine]
	for _, part := range []string{"killop, removeShard on the cluster", "moveChunk, splitChunk, splitVector, moveCollection on all collections",
		"update on config.collections", "the role shardshEngine has it"} {
		if !strings.Contains(engine, part) {
			t.Errorf("%q lacks %q", engine, part)
		}
	}
	nobody := strings.Replace(address("x"), "x:pw@", "", 1)
	wantLines(t, examined(t, exitFailure, nil, nobody), map[string]string{"user": "fail: none, but the server requires a login"})
}

func TestDoctorOfLogins(t *testing.T) {
	address := serve(t, twoShards, withUser(t, "joe", "s3cret")).address
	file := writeFile(t, "password", "s3cret\n")
	variable := map[string]string{"SHARDSH_PASSWORD": "s3cret"}
	for name, c := range map[string]struct {
		code int
		env  map[string]string
		args []string
		want map[string]string
	}{
		"a file": {exitFailure, nil, []string{"-u", "joe", "--passwordFile", file}, map[string]string{
			"password": "(from --passwordFile)", "user": "ok: joe of admin", live.RoleReader: "fail: not met"}},
		"a variable": {exitFailure, variable, []string{"-u", "joe"}, map[string]string{
			"password": "ok: set, not shown (from SHARDSH_PASSWORD)"}},
		"the command line": {exitFailure, nil, []string{"-u", "joe", "-p", "s3cret"}, map[string]string{
			"password": "warn: set, not shown (from --password) -> --passwordFile"}},
		"a wrong password": {exitFailure, nil, []string{"-u", "joe", "-p", "s3cretly"}, map[string]string{
			"connection": "fail: can't log in to mongodb://" + address}},
		"the wrong database": {exitFailure, variable, []string{"-u", "joe", "--authenticationDatabase", "shop"}, map[string]string{
			"authSource": "shop (from --authenticationDatabase)", "connection": "looked for the user in the database shop"}},
	} {
		t.Run(name, func(t *testing.T) {
			wantLines(t, examined(t, c.code, c.env, append(c.args, address)...), c.want)
		})
	}
}

func TestDoctorOfTLS(t *testing.T) {
	cert, key := writeCertificate(t)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	secured := serve(t, twoShards, withTLS(&tls.Config{Certificates: []tls.Certificate{pair}})).address
	plain := listen(t, twoShards)
	for name, c := range map[string]struct {
		code int
		args []string
		host string
		want string
	}{
		"it has none":     {exitFailure, []string{"--tls", plain}, plain, "the server may not use TLS"},
		"it wants it":     {exitFailure, []string{"mongodb://" + secured + "/?serverSelectionTimeoutMS=200"}, "connection", "perhaps it wants TLS (--tls)"},
		"who is that":     {exitFailure, []string{"--tls", secured}, secured, "--tlsCAFile"},
		"well":            {exitOK, []string{"--tlsCAFile", cert, secured}, "tls", "true (from another TLS option)"},
		"ends soon":       {exitOK, []string{"--tlsCAFile", cert, secured}, secured, "warn: TLS 1.3, but its certificate expires on"},
		"nobody is asked": {exitOK, []string{"--tls", "--tlsAllowInvalidCertificates", secured}, "tlsAllowInvalidCertificates", "warn: "},
	} {
		t.Run(name, func(t *testing.T) {
			wantLines(t, examined(t, c.code, nil, c.args...), map[string]string{c.host: c.want})
		})
	}
}

func TestDoctorOfAShard(t *testing.T) {
	p := startServe(t, "--shard-ports", "--shards", "1", "--log-level", "warn")
	client := p.driver(p.uri)
	var shards struct {
		Shards []struct{ Host string }
	}
	if err := client.Database("admin").RunCommand(t.Context(), document("listShards", 1)).Decode(&shards); err != nil {
		t.Fatal(err)
	}
	_, host, _ := strings.Cut(shards.Shards[0].Host, "/")
	wantLines(t, examined(t, exitFailure, nil, host), map[string]string{"mongos": "fail: no: this is a member of shard shard0"})
	wantLines(t, examined(t, exitOK, nil, p.uri), map[string]string{"mongos": "ok: yes", "clock": "ok: within",
		"user": "warn: none: authorization is off"})
}

func TestDoctorLine(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		stderr string
	}{
		"two addresses":  {[]string{"a:1", "b:2"}, "doctor takes one address"},
		"unknown option": {[]string{"--jsno"}, "did you mean --json?"},
		"no address":     {[]string{""}, "the address is empty"},
		"a bad one":      {[]string{"mongodb://a:b:c@h"}, "must be percent-encoded"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runProgram(t, "", append([]string{"doctor"}, c.args...)...)
			if code != exitUsage || stdout != "" || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
			}
		})
	}
}
