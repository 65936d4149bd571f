package catalog

import "testing"

// Where members differ it is the primary's version that counts, and without it the oldest: in
// an upgrade the primary is the last (upgrade steps in the manual).
func TestVersionOf(t *testing.T) {
	list := []Member{
		{Shard: "a", Host: "1", Version: "8.2.10"}, {Shard: "a", Host: "2", Version: "8.2.9"}, {Shard: "a", Host: "3"},
		{Shard: "b", Host: "4", Version: "8.2.6"}, {Shard: "b", Host: "5", Version: "8.0.20", Primary: true},
		{Shard: "c", Host: "6", Problem: "no answer"},
	}
	for shard, want := range map[ShardID]string{"a": "8.2.9", "b": "8.0.20", "c": "", "d": ""} {
		if got := VersionOf(list, shard); got != want {
			t.Errorf("%s runs %q, want %q", shard, got, want)
		}
	}
}

// The wire versions of 8.0 and later are in rules of the driver (8.0 is 25, 9.0 is 29).
func TestLineOfWire(t *testing.T) {
	for wire, want := range map[int64]string{6: "", 9: "4.4", 21: "7.0", 24: "7.0", 25: "8.0", 26: "8.1", 27: "8.2", 28: "8.3",
		29: "9.0", 40: "9.0"} {
		if got := LineOfWireVersion(wire); got != want {
			t.Errorf("wire %d is %q, want %q", wire, got, want)
		}
	}
}

func TestParseServerVersion(t *testing.T) {
	for text, want := range map[string]ServerVersion{
		"8.0.20": {8, 0, 20}, "8.0": {8, 0, 0}, "8.3.0-rc1": {8, 3, 0}, "8.0.12-4": {8, 0, 12},
	} {
		if got, err := ParseServerVersion(text); err != nil || got != want {
			t.Errorf("%s is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "8", "8.0.x", "8.0.1.2", "-8.0", "8.0.70000", "new"} {
		if got, err := ParseServerVersion(text); err == nil {
			t.Errorf("%s is %v", text, got)
		}
	}
}
