package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTallerThan(t *testing.T) {
	for _, c := range []struct {
		text          string
		columns, rows int
		want          bool
	}{
		{"a\nb\nc", 80, 3, false},
		{"a\nb\nc", 80, 2, true},
		{"a\n\n\n", 80, 3, false},
		{strings.Repeat("x", 80), 80, 1, false},
		{strings.Repeat("x", 81), 80, 1, true},
		{strings.Repeat("日", 41), 80, 1, true},
		{"\x1b[1;33m" + strings.Repeat("x", 80) + "\x1b[0m", 80, 1, false},
		{"a\nb", 0, 0, false}, // no terminal tells its size
	} {
		if got := exceedsScreen(c.text, c.columns, c.rows); got != c.want {
			t.Errorf("%.20q on %d columns, %d rows: %v", c.text, c.columns, c.rows, got)
		}
	}
}

func TestPagerProgram(t *testing.T) {
	dir := t.TempDir()
	more := filepath.Join(dir, "more")
	if err := os.WriteFile(more, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	for _, c := range []struct {
		set  string
		env  map[string]string
		want []string
	}{
		{"", nil, []string{more}}, // for want of less
		{"less -S", map[string]string{"PAGER": "most"}, []string{"less", "-S"}},
		{"", map[string]string{"PAGER": "most -s"}, []string{"most", "-s"}},
		{"", map[string]string{"PAGER": ""}, nil},
		{"", map[string]string{"PAGER": "cat"}, nil},
	} {
		getenv := func(name string) (string, bool) { text, ok := c.env[name]; return text, ok }
		if got := pagerCommand(c.set, getenv); !slices.Equal(got, c.want) {
			t.Errorf("set %q, %v: %q, want %q", c.set, c.env, got, c.want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	unset := func(string) (string, bool) { return "", false }
	if got := pagerCommand("", unset); len(got) > 0 {
		t.Errorf("without less and more: %q", got)
	}
}
