package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snapfile"
)

const snapshotTopology = `{"shards": [{"id": "alpha"}, {"id": "beta", "zones": ["EU"]}],
 "collections": [{"ns": "shop.orders", "key": {"customer": 1}, "zones": [{"zone": "EU", "min": {"customer": 0},
  "max": {"customer": 10}}],
  "chunks": [{"shard": "alpha", "max": {"customer": 0}, "bytes": "64MiB", "docs": 1024}, {"shard": "beta", "max": {"customer": 10}},
   {"shard": "alpha", "bytes": "2GiB", "docs": 1024}]}]}`

func TestSnapshot(t *testing.T) {
	dir := t.TempDir()
	topology := writeFile(t, "topology.json", snapshotTopology)
	plain, redacted := filepath.Join(dir, "plain.snap"), filepath.Join(dir, "redacted.snap")

	code, _, stderr := runProgram(t, "", "snapshot", "--mock="+topology, "-o", plain)
	if code != exitOK || !strings.Contains(stderr, "2 shards, 1 collection, 3 chunks") {
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	s := openSnapshot(t, plain)
	coll := s.Collection("shop.orders")
	if coll == nil || coll.Table.Len() != 3 || coll.Sizes["alpha"].Bytes != 64<<20+2<<30 {
		t.Errorf("the file has %+v", coll)
	}
	if origin := s.Parts().Source.Origin; origin.Kind != catalog.SourceMock {
		t.Errorf("the origin is %+v", origin)
	}

	code, stdout, stderr := runProgram(t, "", "snapshot", "--from", plain, "--redact", "-o", redacted, "--quiet")
	if code != exitOK || stdout+stderr != "" {
		t.Fatalf("exit code %d, output %q %q", code, stdout, stderr)
	}
	s = openSnapshot(t, redacted)
	if s.Collection("shop.orders") != nil || s.Collections()[0].Table.Len() != 3 {
		t.Errorf("the redacted file has %s", s.Collections()[0].Namespace)
	}

	code, stdout, _ = runProgram(t, "", "snapshot", "--from", plain, "-o", "-")
	if want, err := os.ReadFile(plain); code != exitOK || err != nil || len(stdout) < len(want)/2 {
		t.Errorf("exit code %d, %d bytes on standard output, %v", code, len(stdout), err)
	}
}

func openSnapshot(t *testing.T, path string) *catalog.Snapshot {
	t.Helper()
	s, err := snapfile.Open(path, snapfile.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSnapshotLine(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "x.snap")
	for name, c := range map[string]struct {
		args   []string
		code   int
		stderr string
	}{
		"no cluster":            {[]string{"-o", out}, exitUsage, "needs the address of a cluster, --from FILE, or --mock"},
		"no file":               {[]string{"--mock"}, exitUsage, "needs -o FILE"},
		"two clusters":          {[]string{"--mock", "--from", out, "-o", out}, exitUsage, "--from FILE stands in"},
		"two addresses":         {[]string{"h:1", "h:2", "-o", out}, exitUsage, "takes one address"},
		"file that is none":     {[]string{"--from", "snapshot_test.go", "-o", out}, exitFailure, "not a snapshot"},
		"file that is gone":     {[]string{"--from", out, "-o", out}, exitFailure, "no such file"},
		"no directory":          {[]string{"--mock", "-o", filepath.Join(dir, "no", "x")}, exitFailure, "no such file"},
		"nobody there":          {[]string{"127.0.0.1:1", "-o", out}, exitFailure, "127.0.0.1:1"},
		"what is not an option": {[]string{"--redacted"}, exitUsage, "--redact"},
		"a topology is none":    {[]string{"--mock=" + out, "-o", out}, exitUsage, "--mock"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runProgram(t, "", append([]string{"snapshot"}, c.args...)...)
			if code != c.code || stdout != "" || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit code %d, output %q, errors %q", code, stdout, stderr)
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("a file was left")
			}
		})
	}
}
