package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// missing ends a test that needs a program or a library that is not there: it
// is skipped on somebody's machine, and fails where nobody would notice that it
// was skipped.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if inCI(os.Getenv("CI")) {
		t.Fatalf(format+" (CI is set: .ci/install puts there what tests need)", args...)
	}
	t.Skipf(format, args...)
}

// inCI reports whether the value of CI says that these tests run unattended.
func inCI(value string) bool {
	switch strings.ToLower(value) {
	case "", "0", "false":
		return false
	}
	return true
}

func TestInCI(t *testing.T) {
	for value, want := range map[string]bool{"": false, "0": false, "false": false, "1": true, "true": true,
		"True": true} {
		if got := inCI(value); got != want {
			t.Errorf("CI=%s: %v, want %v", value, got, want)
		}
	}
}

// installed installs, outside of the repository, what a package-lock.json
// lists, unless that is done already, and returns the directory.
func installed(from, name string) (dir string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(cache, "shardsh-test", name)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "testdata/npm-install", from, dir).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return dir, nil
}
