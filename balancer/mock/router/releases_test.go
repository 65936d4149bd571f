package router_test

import "testing"

// What commands answer in releases after 8.0.10, with the section of the list of differences
// before each line's name. The form is that of spec03_test.go.
func TestReleasesAfter80(t *testing.T) {
	for _, c := range readSpecCases(t, "testdata/releases.jsonl") {
		if len(c.Releases) == 0 {
			t.Errorf("%s names no releases", c.ID)
		}
		for _, c.Release = range c.Releases {
			t.Run(c.ID+"/"+c.Release, func(t *testing.T) { newSpecTester(t, c).play(c) })
		}
	}
}
