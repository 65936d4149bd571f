package router_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/routertest"
)

// Queries are analyzed from 7.0 on.
func TestAnalyzersSince70(t *testing.T) {
	for release, want := range map[catalog.Release]int{catalog.Release60: 59, catalog.Release70: 26} {
		x := routertest.New(t, mock.Config{Release: release})
		if code := x.Code("admin", d("analyzeShardKey", "x.none", "key", d("k", 1))); code != want {
			t.Errorf("%s: analyzeShardKey fails with %d, want %d", release, code, want)
		}
		if code := x.Code("admin", d("configureQueryAnalyzer", "x.none", "mode", "off")); (code == 59) != (want == 59) {
			t.Errorf("%s: configureQueryAnalyzer ends with %d", release, code)
		}
	}
}

// A release has the stages that its servers have.
func TestStagesByRelease(t *testing.T) {
	for _, tt := range []struct {
		stage         string
		before, since catalog.Release
	}{
		{"$listSampledQueries", catalog.Release60, catalog.Release70},
		{"$listClusterCatalog", catalog.Release70, catalog.Release80},
	} {
		aggregate := d("aggregate", 1, "pipeline", bson.A{d(tt.stage, d())}, "cursor", d())
		if code := routertest.New(t, mock.Config{Release: tt.before}).Code("admin", aggregate); code != 40324 {
			t.Errorf("%s in %s: code %d", tt.stage, tt.before, code)
		}
		routertest.New(t, mock.Config{Release: tt.since}).OK("admin", aggregate)
	}
}

// What commands answer in releases from 8.0.10 on, line by line. The form is that of spec03_test.go.
func TestReleasesAfter80(t *testing.T) {
	for _, c := range readSpecCases(t, "testdata/releases.jsonl") {
		if len(c.Releases) == 0 {
			t.Errorf("%s names no releases", c.ID)
		}
		releases := c.Releases
		if testing.Short() {
			releases = releases[:min(1, len(releases))]
		}
		for _, c.Release = range releases {
			t.Run(c.ID+"/"+c.Release, func(t *testing.T) { newSpecTester(t, c).play(c) })
		}
	}
}
