package buildinfo

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

func TestLine(t *testing.T) {
	a := About{Version: "1.2.3", Go: "go1.26", Platform: "linux/arm64"}
	if got := a.Line(); got != "shardsh 1.2.3 go1.26 linux/arm64" {
		t.Error(got)
	}
	a.Commit, a.Date, a.Dirty = "0123456789abcdef", "2026-01-01T00:00:00Z", true
	if got := a.Line(); got != "shardsh 1.2.3 (0123456789ab, changed, 2026-01-01T00:00:00Z) go1.26 linux/arm64" {
		t.Error(got)
	}
}

func TestVersionOf(t *testing.T) {
	for recorded, want := range map[string]string{"": unknownVersion, "(devel)": unknownVersion, "v1.2.3": "1.2.3",
		"v0.0.0-20260101000000-0123456789ab+dirty": "0.0.0-20260101000000-0123456789ab+dirty"} {
		if got := versionOf(&debug.BuildInfo{Main: debug.Module{Version: recorded}}); got != want {
			t.Errorf("%q: %q, want %q", recorded, got, want)
		}
	}
}

func TestBill(t *testing.T) {
	b := newBill(&debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "shardsh", Version: "v1.2.3"},
		Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "vcs.time", Value: "2026-01-01T00:00:00Z"}},
		Deps: []*debug.Module{{Path: "example.org/a", Version: "v1.0.0+incompatible", Sum: "h1:x="},
			{Path: "example.org/b", Version: "v1", Replace: &debug.Module{Path: "example.org/c", Version: "v2.0.0"}}}})
	var names []string
	for _, c := range b.Components {
		names = append(names, c.PURL)
	}
	want := []string{"pkg:golang/std@1.26.8", "pkg:golang/example.org/a@v1.0.0+incompatible", "pkg:golang/example.org/c@v2.0.0"}
	if !slices.Equal(names, want) || !slices.Equal(b.Dependencies[0].DependsOn, want) {
		t.Errorf("%q, %q", names, b.Dependencies)
	}
	program := b.Metadata.Component
	if program.Ref != "pkg:golang/shardsh@1.2.3" || b.Dependencies[0].Ref != program.Ref || b.Metadata.Timestamp == "" ||
		!slices.Contains(program.Properties, Property{"go:build:GOOS", "linux"}) {
		t.Errorf("%+v", program)
	}
}

// A program in a file has what this one has, which is the same. (The record of a test
// has no modules but the main one: TestReleaseRepeats sees a whole one.)
func TestBillOfFile(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	own, err := ReadSBOM("")
	if err != nil {
		t.Fatal(err)
	}
	read, err := ReadSBOM(self)
	if err != nil || !reflect.DeepEqual(read, own) || len(own.Components) < 1 {
		t.Errorf("%d and %d components, %v", len(own.Components), len(read.Components), err)
	}
	none := filepath.Join(t.TempDir(), "none")
	if err := os.WriteFile(none, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSBOM(none); err == nil || !strings.Contains(err.Error(), none) {
		t.Error(err)
	}
}
