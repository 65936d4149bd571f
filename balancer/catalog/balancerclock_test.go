package catalog_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// logged is an entry as a server writes it.
func logged(t *testing.T, what, id, server, shard string, at time.Time) catalog.LogEntry {
	t.Helper()
	doc := bson.D{{Key: "_id", Value: id}, {Key: "server", Value: server}}
	if shard != "" {
		doc = append(doc, bson.E{Key: "shard", Value: shard})
	}
	raw, err := bson.Marshal(append(doc, bson.E{Key: "time", Value: at}, bson.E{Key: "what", Value: what}))
	if err != nil {
		t.Fatal(err)
	}
	return catalog.ParseLogEntry(raw)
}

// The clock is that of the newest entry of a config server, in the forms in which
// releases write it; those of shards say nothing of it.
func TestClockOfLogs(t *testing.T) {
	at := time.Date(2026, 3, 2, 14, 5, 0, 0, time.UTC)
	const oid = "-6b049f1990b60ad9021444fa"
	for name, tt := range map[string]struct {
		what, id, server, shard string
		want                    string
	}{
		"recorded on 8.0": {"balancer.round", "vm-2026-11-23T20:16:25.429+00:00" + oid, "vm", "config", "UTC"},
		"recorded server with its addresses": {"balancer.start",
			`vm:{ remote: "127.0.0.1:34956", local: "127.0.0.1:27119" }-2026-11-23T20:20:49.985+05:30` + oid,
			`vm:{ remote: "127.0.0.1:34956", local: "127.0.0.1:27119" }`, "config", "+05:30"},
		"west":           {"balancer.round", "cfg-1:27019-2026-03-02T06:05:00.123-08:00" + oid, "cfg-1:27019", "config", "-08:00"},
		"before 4.4":     {"balancer.round", "cfg-1:27019-2026-03-02T06:05:00.123-0800" + oid, "cfg-1:27019", "config", "-08:00"},
		"other server":   {"balancer.round", "cfg-1-2026-03-02T06:05:00.123-08:00" + oid, "cfg-1:27019", "config", "-08:00"},
		"no shard named": {"balancer.round", "cfg-2026-03-02T06:05:00.123-0800" + oid, "cfg", "", "-08:00"},
		"of a shard":     {"moveChunk.from", "a-2026-03-02T06:05:00.123-08:00" + oid, "a", "shard0", ""},
		"of nobody":      {"moveChunk.from", "a-2026-03-02T06:05:00.123-0800" + oid, "a", "", ""},
		"without offset": {"balancer.round", "cfg-2026-03-02T06:05:00-534c0b6d9e4b5d7d4f000001", "cfg", "config", ""},
		"in UTC":         {"balancer.round", "cfg-2026-03-02T06:05:00.123Z" + oid, "cfg", "config", ""},
		"not a text":     {"balancer.round", "", "", "config", ""},
	} {
		clock := catalog.ClockFromLogs([]catalog.LogEntry{logged(t, tt.what, tt.id, tt.server, tt.shard, at)})
		got := ""
		if clock.Location != nil {
			got = clock.Location.String()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	older := logged(t, "balancer.round", "c-2026-03-02T06:05:00.123-08:00"+oid, "c", "config", at)
	newer := logged(t, "addShard", "c-2026-03-02T16:05:00.123+01:00"+oid, "c", "config", at.Add(time.Hour))
	if clock := catalog.ClockFromLogs([]catalog.LogEntry{older}, []catalog.LogEntry{newer}); clock.Location.String() != "+01:00" {
		t.Errorf("the newest entry counts, not %s", clock)
	}
}

// A window opens by the clock of the config servers. Where that is not known, or
// daylight saving may have changed it, both ends of what is possible are told.
func TestOpening(t *testing.T) {
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) // 04:00 in Los Angeles
	west := time.FixedZone("-08:00", -8*3600)
	angeles, err := catalog.ParseTimeZone("America/Los_Angeles")
	if err != nil {
		t.Skip(err)
	}
	hours := func(n float64) time.Duration { return time.Duration(n * float64(time.Hour)) }
	for name, tt := range map[string]struct {
		clock            catalog.BalancerClock
		window           *catalog.Window
		earliest, latest time.Duration
		text             string
	}{
		"none":        {catalog.BalancerClock{}, nil, 0, 0, ""},
		"open there":  {catalog.BalancerClock{west, noon}, &catalog.Window{Start: 180, Stop: 300}, 0, 0, "03:00-05:00 -08:00"},
		"open as UTC": {catalog.BalancerClock{west, noon}, &catalog.Window{Start: 660, Stop: 780}, hours(7), hours(7), "11:00-13:00 -08:00"},
		"named":       {catalog.BalancerClock{Location: angeles}, &catalog.Window{Start: 360, Stop: 420}, hours(2), hours(2), "06:00-07:00 America/Los_Angeles"},
		"unknown": {catalog.BalancerClock{}, &catalog.Window{Start: 22 * 60, Stop: 6 * 60}, 0, hours(15.75),
			"22:00-06:00 in an unknown time zone"},
		"old, an hour of doubt": {catalog.BalancerClock{west, noon.AddDate(0, -5, 0)}, &catalog.Window{Start: 270, Stop: 360},
			0, hours(1.5), "04:30-06:00 -08:00 (as of 2025-10-02)"},
		"old, open whatever it is": {catalog.BalancerClock{west, noon.AddDate(0, -5, 0)}, &catalog.Window{Start: 120, Stop: 360},
			0, 0, "02:00-06:00 -08:00 (as of 2025-10-02)"},
	} {
		settings := catalog.DefaultSettings()
		settings.Window = tt.window
		s := catalog.NewSnapshot(catalog.SnapshotParts{Time: noon, Settings: settings, Clock: tt.clock})
		o := s.NextOpening()
		if o.Never || o.Earliest.Sub(noon) != tt.earliest || o.Latest.Sub(noon) != tt.latest || s.WindowText() != tt.text {
			t.Errorf("%s: %s to %s, %q", name, o.Earliest.Sub(noon), o.Latest.Sub(noon), s.WindowText())
		}
	}
}
