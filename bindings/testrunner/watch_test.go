package testrunner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"shardsh/bindings/testrunner"
)

// errOver ends a watch.
var errOver = errors.New("over")

// Whatever a test depends on, a change of it runs that test again and no other.
func TestWatch(t *testing.T) {
	tests := files(t, map[string]string{
		"a_test.js": `it("a", { topology: "t.json" }, () => { run("s.js"); run("later.js") })`,
		"b_test.js": `it("b", () => {})`,
		"s.js":      `load(__dirname + "/lib.js")`,
		"lib.js":    `1`,
		"t.json":    `{"shards": [{"id": "x"}]}`,
	})
	dir := filepath.Dir(tests[0])
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	change := func(name string) func() error {
		return func() error {
			at = at.Add(time.Second)
			path := filepath.Join(dir, name)
			if _, err := os.Stat(path); err != nil {
				return os.WriteFile(path, []byte(`it("c", () => {})`), 0o600)
			}
			return os.Chtimes(path, at, at)
		}
	}
	steps := []func() error{
		func() error { return nil }, change("lib.js"), change("t.json"), change("b_test.js"), change("later.js"),
		change("c_test.js"),
	}
	var ran []string
	var changed sync.Once
	o := testrunner.Options{OnTest: func(string, string, int) { // during the first run
		changed.Do(func() {
			if err := change("b_test.js")(); err != nil {
				t.Error(err)
			}
		})
	}}
	err := testrunner.Watch(t.Context(), o, testrunner.WatchHooks{
		FindFiles: func() ([]string, error) { return testrunner.Find([]string{dir}) },
		Wait: func(context.Context) error {
			if len(steps) == 0 {
				return errOver
			}
			step := steps[0]
			steps = steps[1:]
			return step()
		},
		OnBegin: func(files []string) {
			for i := range files {
				files[i] = filepath.Base(files[i])
			}
			ran = append(ran, fmt.Sprint(files))
			for i := range files {
				files[i] = filepath.Join(dir, files[i])
			}
		},
		OnEnd: func(testrunner.Report) {},
	})
	want := []string{"[a_test.js b_test.js]", "[b_test.js]", "[a_test.js]", "[a_test.js]", "[b_test.js]", "[a_test.js]", "[c_test.js]"}
	if err != nil || !slices.Equal(ran, want) {
		t.Errorf("%v, %v; want %v", ran, err, want)
	}
}
