//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"
	"unicode/utf8"
)

var recordMongosh = flag.Bool("mongosh.record", false, "have mongosh answer all inputs again, and record its answers")

// recording is a session of mongosh: it takes minutes to answer a thousand inputs, and always gives the
// same answers.
type recording struct {
	Version string           `json:"version"` // of mongosh
	Answers []recordedAnswer `json:"answers"`
}

// recordedAnswer is what mongosh printed, without what each run makes again.
type recordedAnswer struct {
	Input   string `json:"input"`
	Printed string `json:"printed"`
}

// recordedAnswers returns what mongosh answers to the inputs of a session, from its recording. With
// -mongosh.record mongosh runs, and the recording is written again.
func recordedAnswers(t *testing.T, session string, inputs []typed, args func(*testing.T) []string) []string {
	t.Helper()
	path := "testdata/mongosh/" + session + ".answers.json"
	if *recordMongosh {
		theirs := answersOfMongosh(t, mongosh(t), inputs, args(t)...)
		writeRecording(t, path, inputs, theirs)
		return theirs
	}
	var rec recording
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &rec); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	const again = "record it again: go test ./cmd/shardsh -run TestAsMongosh -mongosh.record"
	if version := mongoshVersion(t); rec.Version != version {
		t.Fatalf("%s is of mongosh %s, and package.json names %s; %s", path, rec.Version, version, again)
	}
	if len(rec.Answers) != len(inputs) {
		t.Fatalf("%s has %d answers, and the session %d inputs; %s", path, len(rec.Answers), len(inputs), again)
	}
	theirs := make([]string, len(inputs))
	for i, a := range rec.Answers {
		if a.Input != inputs[i].input {
			t.Fatalf("%s has the input %q, and the session %q; %s", path, a.Input, inputs[i].input, again)
		}
		theirs[i] = a.Printed
	}
	return theirs
}

// writeRecording writes the answers to the inputs of a session.
func writeRecording(t *testing.T, path string, inputs []typed, printed []string) {
	t.Helper()
	rec := recording{Version: mongoshVersion(t)}
	for i, in := range inputs {
		if !utf8.ValidString(printed[i]) {
			t.Fatalf("%s: not valid UTF-8, which JSON can't keep: %q", in.input, printed[i])
		}
		rec.Answers = append(rec.Answers, recordedAnswer{in.input, normalized(printed[i])})
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(rec); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// mongoshVersion is the version of mongosh that is compared with.
func mongoshVersion(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/mongosh/package.json")
	if err != nil {
		t.Fatal(err)
	}
	var pkg struct{ Dependencies struct{ Mongosh string } }
	if err := json.Unmarshal(text, &pkg); err != nil {
		t.Fatal(err)
	}
	return pkg.Dependencies.Mongosh
}
