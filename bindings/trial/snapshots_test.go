package trial_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shardsh/bindings/trial"
)

// A snapshot is written once, then compared, and changed only when that is asked for.
func TestSnapshots(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "t_test.js")
	play := func(mode trial.SnapshotMode, body string) trial.Report {
		t.Helper()
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		return trial.Run(t.Context(), trial.Options{Files: []string{path}, Snapshots: mode})
	}
	const odd = "it(\"a\", () => { expect(\"one\\n`two` ${x} \\\\n\\n\").toMatchSnapshot(); expect({b: 1}).toMatchSnapshot(\"object\") })"
	changed := strings.Replace(odd, "two", "three", 1)
	for i, step := range []struct {
		mode   trial.SnapshotMode
		body   string
		failed int
		counts trial.SnapshotCounts
		says   string
	}{
		{trial.WriteNone, odd, 1, trial.SnapshotCounts{}, "CI is set"},
		{trial.WriteNew, odd, 0, trial.SnapshotCounts{Written: 2}, ""},
		{trial.WriteNew, odd, 0, trial.SnapshotCounts{}, ""},
		{trial.WriteNone, odd, 0, trial.SnapshotCounts{}, ""},
		{trial.WriteNew, changed, 1, trial.SnapshotCounts{}, "- `two` ${x}"},
		{trial.WriteAll, changed, 0, trial.SnapshotCounts{Updated: 1}, ""},
		{trial.WriteNone, changed, 0, trial.SnapshotCounts{}, ""},
		{trial.WriteNew, `it("b", () => {})`, 0, trial.SnapshotCounts{Obsolete: 2}, ""},
		{trial.WriteAll, `it("b", () => {})`, 0, trial.SnapshotCounts{Removed: 2}, ""},
	} {
		r := play(step.mode, step.body)
		text := ""
		for _, p := range r.Files[0].Tests[0].Problems {
			text += p.Text
		}
		if r.Counts[trial.Failed] != step.failed || r.Snapshots != step.counts || !strings.Contains(text, step.says) {
			t.Errorf("step %d: %+v, %d failed: %s", i, r.Snapshots, r.Counts[trial.Failed], text)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "__snapshots__", "t_test.js.snap")); !os.IsNotExist(err) {
		t.Errorf("the file of the snapshots is left without any: %v", err)
	}
}

// With a fault at each command the snapshot is that of the run without.
func TestSnapshotsUnderFaults(t *testing.T) {
	r := run(t, map[string]string{
		"t_test.js": `it("a", () => { const r = run("s.js"); expect(r.exitCode).toBe(0); expect(r.output).toMatchSnapshot() })`,
		"s.js":      `print(db.adminCommand({ ping: 1 }).ok)`,
	}, trial.Options{EveryFault: true})
	if r.Counts[trial.Passed] != 1 || r.Files[0].Tests[0].Faults != 2 || r.Snapshots.Written != 1 {
		t.Errorf("%+v", r)
	}
}
