package action

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/plan"
)

// nightly has eight chunks on a, and config servers in Los Angeles, where it is four in
// the morning: noon in UTC.
func nightly(window string) string {
	text := `{"timeZone": "America/Los_Angeles", "shards": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
		"settings": {"balancer": {"activeWindow": ` + window + `}},
		"collections": [{"ns": "db.c", "key": {"x": 1}, "chunks": [`
	for i := range 8 {
		text += comma(i) + `{"shard": "a", "bytes": 104857600, "docs": 102400`
		if i < 7 {
			text += `, "max": {"x": ` + string(rune('1'+i)) + `000}`
		}
		text += "}"
	}
	return text + "]}]}"
}

// silent is such a cluster whose logs are empty: they are capped, and nothing was logged
// for long.
func silent(t *testing.T, window string, release catalog.Release) *world {
	t.Helper()
	parts := newWorld(t, strings.Replace(nightly(window), `"balancer": {`, `"balancer": {"stopped": true, `, 1), release, 1).snapshot().Parts()
	parts.Changes, parts.Actions, parts.Clock = nil, nil, catalog.BalancerClock{}
	for i, doc := range parts.Config["settings"] {
		var fields bson.D
		if err := bson.Unmarshal(doc, &fields); err != nil {
			t.Fatal(err)
		}
		fields = slices.DeleteFunc(fields, func(e bson.E) bool { return e.Key == "stopped" })
		parts.Config["settings"][i], _ = bson.Marshal(fields)
	}
	w := &world{TB: t, release: release}
	w.cluster, w.client = mocktest.New(t, "", mock.Config{
		Release: release, Metadata: catalog.NewSnapshot(parts), Seed: 1, Location: time.FixedZone("-08:00", -8*3600),
	})
	return w
}

// quiet is a reporter that nobody reads.
type quiet struct{}

func (quiet) Report(Event) {}

// applyIn applies a plan, or rehearses it: the first lease of a cluster creates a
// database, which the config servers log.
func (w *world) applyIn(zone string, dryRun bool) error {
	p := w.plan(plan.Goal{Kind: plan.Balance})
	_, err := Apply{Plan: p, RunOptions: RunOptions{
		NoJournal: true, DryRun: dryRun, Pace: Pace{Parallel: DefaultParallel, TimeZone: zone},
	}}.Run(context.Background(), w.actionCluster(), quiet{})
	return err
}

// The window is open in Los Angeles, and shut in UTC: nothing is done beside it. What
// the balancer logs shows its clock; where it has logged nothing nobody guesses.
func TestNothingBesideAWindowElsewhere(t *testing.T) {
	for _, release := range []catalog.Release{catalog.Release42, catalog.Release80} {
		for name, tt := range map[string]struct {
			window, zone     string
			logs             bool
			refused, unknown bool
		}{
			"open there":             {`{"start": "03:00", "stop": "05:00"}`, "", true, true, false},
			"shut there, UTC's open": {`{"start": "11:00", "stop": "13:00"}`, "", true, false, false},
			"nothing logged":         {`{"start": "11:00", "stop": "13:00"}`, "", false, true, true},
			"named, open":            {`{"start": "03:00", "stop": "05:00"}`, "America/Los_Angeles", false, true, false},
			"named, shut":            {`{"start": "11:00", "stop": "13:00"}`, "-08:00", false, false, false},
		} {
			t.Run(release.String()+" "+name, func(t *testing.T) {
				w := silent(t, tt.window, release)
				if tt.logs {
					w = newWorld(t, nightly(tt.window), release, 1)
				}
				err := w.applyIn(tt.zone, tt.unknown)
				works, busy := errors.AsType[*apply.BalancerConflictError](err)
				if busy != tt.refused || !busy && err != nil {
					t.Fatalf("%v", err)
				}
				if busy && (works.UnresolvedWindow != "") != tt.unknown {
					t.Errorf("%v", err)
				}
				if tt.unknown && !strings.Contains(err.Error(), `timeZone: "Europe/Berlin"`) {
					t.Errorf("%v", err)
				}
			})
		}
	}
}

// What looks says the window with its zone, or that this is unknown.
func TestLooksSayTheZone(t *testing.T) {
	const morning = `{"start": "06:00", "stop": "08:00"}`
	logs, w := newWorld(t, nightly(morning), catalog.Release80, 1), silent(t, morning, catalog.Release80)
	source := Source{Client: w.client, Clock: w.cluster.Clock()}
	window := func(v Why) diagnosis.Finding {
		t.Helper()
		answer, err := v.Run(t.Context(), source, quiet{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range answer.Answer.Causes {
			if f.Code == diagnosis.WindowShut || f.Code == diagnosis.WindowTimeZoneUnknown {
				return f
			}
		}
		t.Fatalf("no window in %+v", answer.Answer.Causes)
		return diagnosis.Finding{}
	}
	if f := window(Why{}); f.Code != diagnosis.WindowTimeZoneUnknown ||
		!strings.Contains(f.Sentence, "06:00-08:00 in an unknown time zone") ||
		!strings.Contains(f.Sentence, "may be open now, or open in up to 21h4") {
		t.Errorf("%s", f.Sentence)
	}
	made, err := Plan{}.Run(t.Context(), source, quiet{})
	if err != nil || len(made.Steps) == 0 || made.Steps[0].Start > 0 || !strings.Contains(made.Note, "unknown time zone") {
		t.Errorf("%v, %+v", err, made)
	}
	unsure, err := Forecast{}.Run(t.Context(), source, quiet{})
	if err != nil || unsure.High-unsure.Low < 20*3600e9 || !strings.Contains(strings.Join(unsure.Basis, " "), "unknown") {
		t.Errorf("%v, %s to %s, %q", err, unsure.Low, unsure.High, unsure.Basis)
	}
	source.Client = logs.client
	for _, v := range []Why{{}, {TimeZone: "America/Los_Angeles"}} {
		if f := window(v); f.Code != diagnosis.WindowShut || !strings.Contains(f.Sentence, ", at Monday 06:00") {
			t.Errorf("%s", f.Sentence)
		}
	}
	if made, err = (Plan{}).Run(t.Context(), source, quiet{}); err != nil || strings.Contains(made.Note, "window") || made.Steps[0].Start < 3600e9 {
		t.Errorf("%v, %+v", err, made)
	}
}
