package mock_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
)

const scannedTopology = `{"shards": [{"id": "a", "zones": ["Z"]}, {"id": "b"}], "settings": {"balancer": {"mode": "off"}},
	"databases": [{"name": "db", "primary": "a"}],
	"collections": [{"ns": "db.one", "key": {"x": 1}}, {"ns": "db.two", "key": {"x": 1, "y": 1}}]}`

// scanOf returns the state that the scan has left; nil if it was not done.
func scanOf(t *testing.T, m *model) bson.Raw {
	t.Helper()
	return m.first(t, "config", d("find", "maxKeyZoneScanState"))
}

// When the config servers of 9.0 look for zones that end at MaxKey followed by MinKey, what they
// leave, and what they call one.
func TestZoneScan(t *testing.T) {
	highest, lowest := bson.MaxKey{}, bson.MinKey{}
	whole := d("x", lowest, "y", lowest)
	for _, tt := range []struct {
		name    string
		version catalog.Release
		fcv     string
		off     bool
		ns      string
		max     bson.D
		done    bool
		found   bool
	}{
		{"8.3", catalog.Release83, "", false, "db.two", d("x", highest, "y", lowest), false, false},
		{"9.0 with 8.3", catalog.Release90, "8.3", false, "db.two", d("x", highest, "y", lowest), false, false},
		{"switched off", catalog.Release90, "", true, "db.two", d("x", highest, "y", lowest), false, false},
		{"found", catalog.Release90, "", false, "db.two", d("x", highest, "y", lowest), true, true},
		{"up to the end", catalog.Release90, "", false, "db.two", d("x", highest, "y", highest), true, false},
		{"a value first", catalog.Release90, "", false, "db.two", d("x", 5, "y", lowest), true, false},
		{"a key of one field", catalog.Release90, "", false, "db.one", d("x", highest), true, false},
		{"no such collection", catalog.Release90, "", false, "db.gone", d("x", highest, "y", lowest), true, false},
		{"more fields than the key", catalog.Release90, "", false, "db.one", d("x", highest, "y", lowest), true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			cfg := mock.Config{Release: tt.version, FCV: tt.fcv, Logger: slog.New(slog.NewTextHandler(&log, nil)),
				Parameters: map[string]any{}}
			if tt.version == catalog.Release90 {
				cfg.Parameters["maxKeyZoneScanEnabled"] = false // until the zone is there
			}
			m := newCluster(t, scannedTopology, cfg)
			m.ok(t, "config", d("insert", "tags", "documents", bson.A{d("_id", bson.NewObjectID(), "ns", tt.ns, "min", whole, "max", tt.max, "tag", "Z")}))
			if !tt.off && tt.version == catalog.Release90 {
				if _, err := m.cluster.Parameters().Set("maxKeyZoneScanEnabled", true); err != nil {
					t.Fatal(err)
				}
			}
			if scanOf(t, m) != nil {
				t.Error("it was done before")
			}
			m.ok(t, "admin", d("mockStepDown", 1))
			state := scanOf(t, m)
			if (state != nil) != tt.done {
				t.Fatalf("it has left %s", state)
			}
			if !tt.done {
				return
			}
			checkFields(t, "the state", state, "_id scanStartedAt scanCompletedAt foundBuggyZone alertEmitted binaryVersionAtScan fcvAtScan")
			if state.Lookup("_id").StringValue() != "scanState" || state.Lookup("foundBuggyZone").Boolean() != tt.found ||
				state.Lookup("alertEmitted").Boolean() != tt.found || state.Lookup("fcvAtScan").StringValue() != "9.0" {
				t.Errorf("it has left %s", state)
			}
			m.sleep(time.Minute)
			m.ok(t, "admin", d("mockStepDown", 1))
			if again := scanOf(t, m); !bytes.Equal(again, state) {
				t.Errorf("it was done again: %s", again)
			}
			for id, times := range map[string]int{"id=12829504": map[bool]int{true: 1}[tt.found], "id=12829505": 1, "id=12829503": 1} {
				if n := strings.Count(log.String(), id); n != times {
					t.Errorf("%s was logged %d times, want %d", id, n, times)
				}
			}
		})
	}
}
