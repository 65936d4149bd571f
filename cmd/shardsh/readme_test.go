package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeTour types the README's tour and compares what comes, with time
// standing still so that the balancer does not join in.
func TestReadmeTour(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, tour, found := strings.Cut(string(readme), "```text\n$ shardsh --quiet\n")
	if !found {
		t.Fatal("the README has no tour")
	}
	tour, _, _ = strings.Cut(tour, "```")
	typed := regexp.MustCompile(`(?m)^(\[mock: mongos\] \w+> )(.+)\n`)
	var input strings.Builder
	for _, line := range typed.FindAllStringSubmatch(tour, -1) {
		input.WriteString(line[2] + "\n")
	}
	want := typed.ReplaceAllString(tour, "$1") + "[mock: mongos] test> "
	code, got, stderr := runProgram(t, input.String(), "--quiet", "--interactive", "--mock", "--mock-time=virtual")
	if code != 0 || got != want || stderr != "" {
		t.Errorf("exit code %d, stderr %q, output\n%s\nwant\n%s", code, stderr, got, want)
	}
}
