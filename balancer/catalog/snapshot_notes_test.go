package catalog_test

import (
	"strings"
	"testing"

	"shardsh/balancer/catalog"
)

// The global catalog and the shards can differ only where shards own the metadata, or are given
// them, and something is being written.
func TestNotesWhereShardsOwnMetadata(t *testing.T) {
	moving := []catalog.ActiveMigration{{Namespace: "a.b", From: "s0", To: "s1"}}
	for _, tt := range []struct {
		version, fcv, target string
		migrations           []catalog.ActiveMigration
		want                 string
	}{
		{"8.3.1", "8.3", "", moving, ""},
		{"9.0.2", "8.3", "", moving, ""},
		{"9.0.2", "8.3", "9.0", nil, "being copied to the shards"},
		{"9.0.2", "9.0", "", nil, ""},
		{"9.0.2", "9.0", "", moving, "a migration is under way"},
		{"9.0.2", "9.0", "", append(moving, moving...), "2 migrations are under way"},
		{"8.0.23", "7.0", "8.0", moving, ""},
	} {
		server, known := catalog.ReleaseOf(tt.version)
		if !known {
			t.Fatal(tt.version)
		}
		is := catalog.Compatibility{Version: tt.fcv, Target: tt.target}
		s := catalog.NewSnapshot(catalog.SnapshotParts{
			Version: tt.version, Release: is.Release(server), Compatibility: is, Migrations: tt.migrations,
		})
		got := strings.Join(s.ConsistencyNotes(), "\n")
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s, %v: %q, want %q", tt.version, is, got, tt.want)
		}
	}
}
