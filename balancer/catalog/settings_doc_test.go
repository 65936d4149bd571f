package catalog_test

import (
	"reflect"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
)

// What Doc writes, Load reads back, in every release.
func TestSettingsSurviveTheirDocuments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		release := rapid.SampledFrom(catalog.Releases()).Draw(t, "release")
		want := catalog.DefaultSettingsOf(release)
		want.Mode = rapid.SampledFrom([]catalog.Mode{catalog.ModeFull, catalog.ModeOff}).Draw(t, "mode")
		want.MaxChunkSizeBytes = rapid.Int64Range(1, 1024).Draw(t, "chunk size") << 20
		want.WaitForDelete = rapid.Bool().Draw(t, "wait for delete")
		want.AttemptJumbo = release.FCVAtLeast(catalog.Release44) && rapid.Bool().Draw(t, "jumbo")
		want.AutoMerge = release.AutoMerges() && rapid.Bool().Draw(t, "auto-merge")
		if release.AutoSplits() && release.HasConfigServerBalancer() {
			want.AutoSplit = rapid.Bool().Draw(t, "auto-split")
		}
		window := func() catalog.Window {
			at := rapid.IntRange(0, 1438).Draw(t, "start")
			return catalog.Window{Start: catalog.TimeOfDay(at), Stop: catalog.TimeOfDay(at + 1)}
		}
		switch rapid.IntRange(0, 2).Draw(t, "windows") {
		case 1:
			w := window()
			want.Window = &w
		case 2:
			if release.FCVAtLeast(catalog.Release83) {
				want.Days = []catalog.DayWindow{{Day: time.Monday, Window: window()}, {Day: time.Sunday, Window: window()}}
			}
		}
		concern, err := bson.Marshal(bson.D{{Key: "w", Value: "majority"}})
		if err != nil {
			t.Fatal(err)
		}
		want.SecondaryThrottle = rapid.SampledFrom([]catalog.Throttle{
			{}, {State: catalog.ThrottleOff}, {State: catalog.ThrottleOn}, {State: catalog.ThrottleOn, WriteConcern: concern},
		}).Draw(t, "throttle")

		got := catalog.DefaultSettingsOf(release)
		err = got.Load(func(id string) (bson.Raw, error) {
			doc := want.Doc(id)
			if doc == nil {
				return nil, nil
			}
			return bson.Marshal(doc)
		})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("read back\n%+v\nof\n%+v", got, want)
		}
	})
}
