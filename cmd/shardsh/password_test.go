package main

import (
	"os"
	"strings"
	"testing"

	"shardsh/cmd/shardsh/target"
)

// Scripts and the programs they start see no password of the environment.
func TestPasswordLeavesTheEnvironment(t *testing.T) {
	t.Setenv(target.PasswordVariable, "hunter2")
	lookup := takePassword()
	if v, ok := os.LookupEnv(target.PasswordVariable); ok {
		t.Errorf("still there: %q", v)
	}
	if v, ok := lookup(target.PasswordVariable); v != "hunter2" || !ok {
		t.Errorf("%q, %v", v, ok)
	}
	if v, _ := lookup("PATH"); v != os.Getenv("PATH") {
		t.Errorf("PATH is %q", v)
	}
}

// Nothing that is printed of a command line or a command tells a password.
func TestNothingPrintsPasswords(t *testing.T) {
	for _, args := range [][]string{
		{"joe:hunter2@h:1"}, {"joe:hun@hunter2@h:1/db"}, {"mongo://joe:hunter2@h"}, {"mongodb:/joe:hunter2@h"},
		{"mongodb+srv//joe:hunter2@h"}, {"mongodb://joe:hunter2@"}, {"mongodb://joe:hunter2@h:x"}, {"--mock", "joe:hunter2@h"},
		{"check", "joe:hunter2@h"}, {"check", "mongodb://h", "joe:hunter2@h"}, {"serve", "joe:hunter2@h"},
		{"--host", "joe:hunter2@h"}, {"--nodb", "--pasword=hunter2"}, {"--nodb", "-phunter2"},
		{"--dry-run", "--eval", `db.createUser({user: "a", pwd: "hunter2", roles: []})`},
		{"--dry-run", "--eval", `db.c.updateOne({}, {$set: {a: {b: [{apiToken: "hunter2"}]}}}); 1`},
		{"--dry-run", "--eval", `db.c.insertOne({uri: "mongodb://joe:hunter2@h"}).acknowledged`},
		{"--dry-run", "--eval", `db.adminCommand({updateUser: "a", pwd: "hunter2"}).ok`},
	} {
		_, stdout, stderr := runProgram(t, "", append([]string{"--quiet"}, args...)...)
		if strings.Contains(stdout+stderr, "hunter2") {
			t.Errorf("%q prints\n%s%s", args, stdout, stderr)
		}
	}
}
