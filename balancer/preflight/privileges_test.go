package preflight

import "testing"

// A privilege counts for what its resource includes, as servers have it.
func TestResources(t *testing.T) {
	for _, tt := range []struct {
		has, on Resource
		want    bool
	}{
		{Resource{Any: true}, Resource{Cluster: true}, true},
		{Resource{Any: true}, Resource{Database: "config", Collection: "system.sessions"}, true},
		{Resource{Cluster: true}, Resource{Cluster: true}, true},
		{Resource{Cluster: true}, Resource{Database: "db", Collection: "c"}, false},
		{Resource{}, Resource{Cluster: true}, false},
		{Resource{}, Resource{Database: "db", Collection: "c"}, true},
		{Resource{}, Resource{Database: "db"}, true},
		{Resource{}, Resource{Database: "config", Collection: "collections"}, false},
		{Resource{}, Resource{Database: "local", Collection: "oplog"}, false},
		{Resource{}, Resource{Database: "db", Collection: "system.buckets.ts"}, false},
		{Resource{Database: "db"}, Resource{Database: "db", Collection: "c"}, true},
		{Resource{Database: "config"}, Resource{Database: "config", Collection: "collections"}, true},
		{Resource{Database: "config"}, Resource{Database: "config", Collection: "system.sessions"}, false},
		{Resource{Database: "db"}, Resource{Database: "other", Collection: "c"}, false},
		{Resource{Collection: "c"}, Resource{Database: "db", Collection: "c"}, true},
		{Resource{Collection: "c"}, Resource{Database: "db", Collection: "d"}, false},
		{Resource{Database: "db", Collection: "c"}, Resource{Database: "db", Collection: "c"}, true},
		{Resource{Database: "db", Collection: "c"}, Resource{Database: "db"}, false},
		{Resource{Database: "db", Collection: "system.buckets.ts"}, Resource{Database: "db", Collection: "system.buckets.ts"}, true},
		{Resource{Buckets: true}, Resource{Database: "db", Collection: "system.buckets.ts"}, true},
		{Resource{Buckets: true}, Resource{Database: "db", Collection: "ts"}, false},
		{Resource{Database: "db", Buckets: true}, Resource{Database: "db", Collection: "system.buckets.ts"}, true},
		{Resource{Database: "db", Buckets: true}, Resource{Database: "other", Collection: "system.buckets.ts"}, false},
		{Resource{Collection: "ts", Buckets: true}, Resource{Database: "db", Collection: "system.buckets.ts"}, true},
		{Resource{Collection: "ts", Buckets: true}, Resource{Database: "db", Collection: "system.buckets.other"}, false},
	} {
		p := Privileges{{Resource: tt.has, Actions: []string{"moveChunk"}}}
		if got := p.Allows(tt.on, "moveChunk"); got != tt.want {
			t.Errorf("%+v counts for %+v: %v", tt.has, tt.on, got)
		}
		if p.Allows(tt.on, "splitChunk") {
			t.Errorf("%+v allows another action on %+v", tt.has, tt.on)
		}
	}
}
