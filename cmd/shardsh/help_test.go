package main

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// linesOfHelp returns the lines of a help text, each no wider than a terminal that is not small.
func linesOfHelp(t *testing.T, args ...string) []string {
	t.Helper()
	code, stdout, stderr := runProgram(t, "", args...)
	if code != exitOK || stderr != "" {
		t.Fatalf("%v: exit code %d, %q", args, code, stderr)
	}
	list := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	for _, line := range list {
		if utf8.RuneCountInString(line) > 100 {
			t.Errorf("%v: %d columns: %s", args, utf8.RuneCountInString(line), line)
		}
	}
	return list
}

// The help of each verb fits a screen: what it does, usage, two examples at least, and
// its own options. What all of them have is on pages of its own.
func TestHelpOfAVerbFitsAScreen(t *testing.T) {
	for _, v := range verbs() {
		lines := linesOfHelp(t, v.name, "--help")
		if len(lines) > 40 {
			t.Errorf("%s has %d lines", v.name, len(lines))
		}
		text := strings.Join(lines, "\n")
		_, examples, _ := strings.Cut(text, "\nExamples:\n")
		if !strings.Contains(text, "\nUsage:\n  shardsh "+v.name) || strings.Count(examples, "shardsh "+v.name) < 2 {
			t.Errorf("%s has no usage, or less than two examples:\n%s", v.name, text)
		}
		if strings.Contains(text, "--tlsCAFile") || !strings.Contains(text, "--help-all") {
			t.Errorf("%s shows options of a page, or not its own:\n%s", v.name, text)
		}
		connects := false
		for _, g := range v.new().groups() {
			connects = connects || g.Page == "connection"
		}
		_, all, _ := runProgram(t, "", v.name, "--help-all")
		if connects != strings.Contains(all, "--tlsCAFile") || connects != strings.Contains(text, "shardsh help connection") {
			t.Errorf("%s: connects: %t; --help-all:\n%s", v.name, connects, all)
		}
	}
}

// The help of the program fits a screen and has each verb; the pages have the options.
func TestTopHelp(t *testing.T) {
	lines := linesOfHelp(t, "--help")
	if len(lines) > 45 {
		t.Errorf("%d lines", len(lines))
	}
	text := strings.Join(lines, "\n")
	for _, v := range verbs() {
		if !regexp.MustCompile(`(?m)^(  |This program: )(.*, )?` + v.name + `( |,|$)`).MatchString(text) {
			t.Errorf("it lacks %s", v.name)
		}
	}
	for page, option := range map[string]string{"connection": "--tlsCAFile", "mock": "--server-version", "pace": "--pause-when",
		"consent": "--audit", "rules": "--policy"} {
		if lines := linesOfHelp(t, "help", page); len(lines) > 40 || !strings.Contains(strings.Join(lines, "\n"), option) {
			t.Errorf("help %s has %d lines:\n%s", page, len(lines), strings.Join(lines, "\n"))
		}
	}
	if all := linesOfHelp(t, "--help-all"); !strings.Contains(strings.Join(all, "\n"), "--tlsCAFile") {
		t.Error("--help-all lacks --tlsCAFile")
	}
}
