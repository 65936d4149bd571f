// Package examples reads the data files of table tests, one example a line: the worked examples of the
// spec and similar cases.
package examples

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// Lines returns the lines of a file, for tests that decode them themselves.
func Lines(t testing.TB, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// Read decodes each line of a file. An unknown field fails the test: otherwise an expectation that no
// test checks would pass.
func Read[T any](t testing.TB, path string) []T {
	t.Helper()
	var cases []T
	for _, line := range Lines(t, path) {
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.DisallowUnknownFields()
		var c T
		if err := decoder.Decode(&c); err != nil {
			t.Fatalf("%s: %s: %v", path, line, err)
		}
		cases = append(cases, c)
	}
	return cases
}
