package testrunner

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
)

// clusterOptions describes the initial state of the clusters of a suite or a test.
type clusterOptions struct {
	topology   *mock.Topology
	snapshot   string // the name of a file
	release    catalog.Release
	seed       *uint64
	parameters map[string]any
	// fixtures are scripts that prepare a new cluster. ownFixture is the one given in these options, empty
	// for none.
	fixtures   []string
	ownFixture string
	// isNewCluster says that the options describe a new cluster, rather than that of the enclosing
	// suite in a later state.
	isNewCluster bool
	// timeoutMillis is in milliseconds. skipFaults disables the repetition with faults.
	timeoutMillis int64
	skipFaults    bool
}

// optionNames are the options of describe and it.
var optionNames = []string{
	"topology", "shards", "snapshot", "fixture", "serverVersion", "seed", "parameters", "timeout", "everyFault",
}

// readOptions returns the options of a suite or a test, combined with those of the enclosing suites.
func (d *definitions) readOptions(o *goja.Object, word string) *clusterOptions {
	js := d.js
	s := *enclosingOptions(d.current)
	s.ownFixture, s.isNewCluster = "", false
	for _, name := range o.Keys() {
		if !slices.Contains(optionNames, name) {
			js.Throw("Error", "%s takes %s, not %q%s", word, strings.Join(optionNames, ", "), name,
				plaintext.DidYouMean(name, optionNames))
		}
	}
	get := func(name string) goja.Value { return script.Property(o, name) }
	d.readCluster(&s, get, word)
	if v := get("serverVersion"); v != nil {
		if goja.IsNumber(v) { // 7.0 would be 7
			js.Throw("Error", "%s: serverVersion has to be a text such as '7.0', not the number %s", word, v)
		}
		release, err := catalog.ParseRelease(v.String())
		if err != nil {
			js.Throw("Error", "%s: serverVersion: %s", word, err)
		}
		s.release, s.isNewCluster = release, true
	}
	if v := get("seed"); v != nil {
		seed, err := strconv.ParseUint(v.String(), 10, 64)
		if err != nil {
			js.Throw("Error", "%s: seed has to be a whole number, not %s", word, v)
		}
		s.seed, s.isNewCluster = &seed, true
	}
	if v := get("parameters"); v != nil {
		parameters, ok := v.(*goja.Object)
		if !ok {
			js.Throw("Error", "%s: parameters has to be an object, not %s", word, v)
		}
		s.parameters, s.isNewCluster = map[string]any{}, true
		for _, name := range parameters.Keys() {
			s.parameters[name] = parameters.Get(name).Export()
		}
	}
	if v := get("timeout"); v != nil {
		if !goja.IsNumber(v) {
			js.Throw("Error", "%s: timeout has to be a number of milliseconds, not %s", word, v)
		}
		s.timeoutMillis = v.ToInteger()
	}
	if v := get("everyFault"); v != nil {
		s.skipFaults = !v.ToBoolean()
	}
	return &s
}

// readCluster reads the options for the cluster: one of topology, shards and snapshot, and optionally a
// fixture.
func (d *definitions) readCluster(s *clusterOptions, get func(string) goja.Value, word string) {
	js := d.js
	given := 0
	for _, name := range []string{"topology", "shards", "snapshot"} {
		if get(name) != nil {
			given++
		}
	}
	if given > 1 {
		js.Throw("Error", "%s: topology, shards and snapshot exclude each other", word)
	}
	if given > 0 {
		s.topology, s.snapshot, s.fixtures, s.isNewCluster = nil, "", nil, true
	}
	if v := get("topology"); v != nil {
		s.topology = d.readTopology(v, word)
	}
	if v := get("shards"); v != nil {
		n := v.ToInteger()
		if n < 1 || n > 1000 {
			js.Throw("Error", "%s: shards has to be a number from 1 to 1000, not %s", word, v)
		}
		s.topology = mock.DefaultTopology(int(n))
	}
	if v := get("snapshot"); v != nil {
		s.snapshot = besideFile(d.path, v.String())
		d.noteFileRead(s.snapshot)
	}
	if v := get("fixture"); v != nil {
		s.ownFixture = v.String()
		s.fixtures = append(slices.Clone(s.fixtures), s.ownFixture)
	}
}

func (d *definitions) readTopology(v goja.Value, word string) *mock.Topology {
	js := d.js
	if goja.IsString(v) {
		path := besideFile(d.path, v.String())
		d.noteFileRead(path)
		t, err := mock.ReadTopology(path)
		if err != nil {
			js.Throw("Error", "%s: topology: %s", word, err)
		}
		return t
	}
	o, ok := v.(*goja.Object)
	if !ok {
		js.Throw("Error", "%s: topology has to be the name of a file or an object", word)
	}
	text, err := json.Marshal(o)
	if err == nil {
		var t *mock.Topology
		if t, err = mock.ParseTopology(text); err == nil {
			return t
		}
	}
	js.Throw("Error", "%s: topology: %s", word, err)
	return nil
}

// enclosingOptions returns the options for clusters of a suite, or of the nearest suite around it that has some.
func enclosingOptions(s *suite) *clusterOptions {
	for ; s != nil; s = s.parent {
		if s.clusterOptions != nil {
			return s.clusterOptions
		}
	}
	return &clusterOptions{}
}

// options returns the options for the cluster of a test.
func (t *test) options() *clusterOptions {
	if t.clusterOptions != nil {
		return t.clusterOptions
	}
	return enclosingOptions(t.suite)
}

// besideFile returns the path of a file that a test names: it is relative to the test file.
func besideFile(path, name string) string {
	if filepath.IsAbs(name) || strings.HasPrefix(name, script.ShippedPrefix) {
		return name
	}
	return filepath.Join(filepath.Dir(path), name)
}
