package disk

import (
	"strings"
	"testing"
)

// state is a state with what every one has, and some entries more.
func state(more ...Entry) func(emit func(Entry)) {
	return func(emit func(Entry)) {
		for _, key := range []string{MetaState, MetaParameters} {
			emit(Entry{BucketMeta, []byte(key), []byte(key)})
		}
		for _, e := range more {
			emit(e)
		}
	}
}

// begin makes a state in a directory.
func begin(t *testing.T, dir string, more ...Entry) {
	t.Helper()
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.WriteInitialState(state(more...)); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// A state of a format to come is left alone.
func TestNewerFormat(t *testing.T) {
	dir := t.TempDir()
	begin(t, dir)
	for _, format := range []uint64{FormatVersion, FormatVersion + 1} {
		d, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		d.Add([]Entry{{BucketMeta, []byte(MetaFormat), NumberKey(format)}})
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		d, err = Open(dir)
		newer := err != nil && strings.Contains(err.Error(), "it was written by a newer shardsh")
		if wantNewer := format > FormatVersion; newer != wantNewer {
			t.Errorf("format %d: %v", format, err)
		}
		if err == nil {
			if !d.HasState() {
				t.Errorf("format %d has not begun", format)
			}
			d.Close()
		}
	}
}
