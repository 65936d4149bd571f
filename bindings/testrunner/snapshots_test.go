package testrunner_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/bindings/testrunner"
)

// A snapshot is written once, then compared, and changed only when that is asked for.
func TestSnapshots(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "t_test.js")
	play := func(mode testrunner.SnapshotMode, body string) testrunner.Report {
		t.Helper()
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		return testrunner.Run(t.Context(), testrunner.Options{Files: []string{path}, Snapshots: mode})
	}
	const odd = "it(\"a\", () => { expect(\"one\\n`two` ${x} \\\\n\\n\").toMatchSnapshot(); expect({b: 1}).toMatchSnapshot(\"object\") })"
	changed := strings.Replace(odd, "two", "three", 1)
	for i, step := range []struct {
		mode   testrunner.SnapshotMode
		body   string
		failed int
		counts testrunner.SnapshotCounts
		says   string
	}{
		{testrunner.WriteNone, odd, 1, testrunner.SnapshotCounts{}, "CI is set"},
		{testrunner.WriteNew, odd, 0, testrunner.SnapshotCounts{Written: 2}, ""},
		{testrunner.WriteNew, odd, 0, testrunner.SnapshotCounts{}, ""},
		{testrunner.WriteNone, odd, 0, testrunner.SnapshotCounts{}, ""},
		{testrunner.WriteNew, changed, 1, testrunner.SnapshotCounts{}, "- `two` ${x}"},
		{testrunner.WriteAll, changed, 0, testrunner.SnapshotCounts{Updated: 1}, ""},
		{testrunner.WriteNone, changed, 0, testrunner.SnapshotCounts{}, ""},
		{testrunner.WriteNew, `it("b", () => {})`, 0, testrunner.SnapshotCounts{Obsolete: 2}, ""},
		{testrunner.WriteAll, `it("b", () => {})`, 0, testrunner.SnapshotCounts{Removed: 2}, ""},
	} {
		r := play(step.mode, step.body)
		text := ""
		for _, p := range r.Files[0].Tests[0].Problems {
			text += p.Text
		}
		if r.Counts[testrunner.Failed] != step.failed || r.Snapshots != step.counts || !strings.Contains(text, step.says) {
			t.Errorf("step %d: %+v, %d failed: %s", i, r.Snapshots, r.Counts[testrunner.Failed], text)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "__snapshots__", "t_test.js.snap")); !os.IsNotExist(err) {
		t.Errorf("the file of the snapshots is left without any: %v", err)
	}
}

// A test that names its release runs on the first of several only, and keeps its snapshot.
func TestSnapshotsOnSeveralReleases(t *testing.T) {
	tests := files(t, map[string]string{"t_test.js": `
it("a", { serverVersion: "7.0" }, () => expect("one").toMatchSnapshot())
it("b", () => expect("two").toMatchSnapshot())`})
	for _, want := range []testrunner.SnapshotCounts{{Written: 2}, {}} {
		r := testrunner.Run(t.Context(), testrunner.Options{Files: tests, Snapshots: testrunner.WriteAll,
			Releases: []catalog.Release{catalog.Release80, catalog.Release60}})
		if r.Counts[testrunner.Failed] > 0 || r.Snapshots != want {
			t.Errorf("%+v, %d failed; want %+v", r.Snapshots, r.Counts[testrunner.Failed], want)
		}
	}
}

// With a fault at each command the snapshot is that of the run without.
func TestSnapshotsUnderFaults(t *testing.T) {
	r := run(t, map[string]string{
		"t_test.js": `it("a", () => { const r = run("s.js"); expect(r.exitCode).toBe(0); expect(r.output).toMatchSnapshot() })`,
		"s.js":      `print(db.adminCommand({ ping: 1 }).ok)`,
	}, testrunner.Options{EveryFault: true})
	if r.Counts[testrunner.Passed] != 1 || r.Files[0].Tests[0].Faults != 2 || r.Snapshots.Written != 1 {
		t.Errorf("%+v", r)
	}
}
