package router_test

import "testing"

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
