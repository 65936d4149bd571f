package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// What is typed, what is read, and what is shown of it (spec 04 §1.10).
func TestReadSecret(t *testing.T) {
	interrupted := signalError{os.Interrupt}
	tests := []struct {
		name, typed  string
		secret, echo string
		err          error
	}{
		{"a line", "abc\rrest", "abc", "***", nil},
		{"a line of a pipe", "abc\nrest", "abc", "***", nil},
		{"characters of several bytes", "pä€\r", "pä€", "***", nil},
		{"backspace", "ab\x7f\x08c\r", "c", "**\b \b\b \b*", nil},
		{"backspace takes a whole character", "ä\x7fb\r", "b", "*\b \b*", nil},
		{"backspace on nothing", "\x7fa\r", "a", "*", nil},
		{"Ctrl-U", "ab\x15c\r", "c", "**\b \b\b \b*", nil},
		{"an empty line", "\r", "", "", nil},
		{"the last line need not end", "abc", "abc", "***", nil},
		{"the end of input", "", "", "", io.EOF},
		{"Ctrl-D", "\x04", "", "", io.EOF},
		{"Ctrl-D after something is nothing", "a\x04b\r", "ab", "**", nil},
		{"Ctrl-C", "ab\x03", "", "**", interrupted},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var echo bytes.Buffer
			got, err := readSecret(strings.NewReader(tt.typed), &echo)
			if got != tt.secret || echo.String() != tt.echo {
				t.Errorf("read %q, shown %q; want %q, %q", got, echo.String(), tt.secret, tt.echo)
			}
			if !errors.Is(err, tt.err) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
		})
	}
}

// A line is read, and nothing behind it.
func TestReadSecretLeavesTheRest(t *testing.T) {
	in := strings.NewReader("secret\nuse app\n")
	if _, err := readSecret(in, io.Discard); err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(in); string(rest) != "use app\n" {
		t.Errorf("left %q", rest)
	}
}

// Scripts and the programs they start see no password of the environment.
func TestPasswordLeavesTheEnvironment(t *testing.T) {
	t.Setenv(passwordVariable, "hunter2")
	lookup := takePassword()
	if v, ok := os.LookupEnv(passwordVariable); ok {
		t.Errorf("still there: %q", v)
	}
	if v, ok := lookup(passwordVariable); v != "hunter2" || !ok {
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
