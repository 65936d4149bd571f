package live

import (
	"strings"
	"testing"

	"shardsh/balancer/catalog"
)

// Too many databases are a gap.
func TestUnshardedOfTooManyDatabases(t *testing.T) {
	r := causeReader{&reading{parts: catalog.SnapshotParts{Databases: make([]catalog.Database, maxProbedDatabases+1)}}}
	if err := r.readUnsharded(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(r.gaps) != 1 || !strings.Contains(r.gaps[0].Text(), "there are 201 databases") {
		t.Error(r.gaps)
	}
}
