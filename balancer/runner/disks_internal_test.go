package runner

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"shardsh/balancer/catalog"
)

// A collection of which a chunk moves while files are read is read again in the next round, and so are those
// whose reading failed.
func TestFilesOfWhatMovesMeanwhileAreReadAgain(t *testing.T) {
	var asked []string
	var during func() error
	r := &run{namespaces: []string{"x.a", "x.b"}, o: Options{DiskLimit: 0.9,
		ReadVolumes: func(_ context.Context, names []string) (*catalog.Snapshot, error) {
			asked = names
			return catalog.NewSnapshot(catalog.SnapshotParts{}), during()
		}}}
	refused := errors.New("refused")
	for _, round := range []struct {
		name   string
		during func() error
		want   string
		err    error
	}{
		{"all at first", func() error { r.markFilesStale("x.b"); return nil }, "[x.a x.b]", nil},
		{"what moved during the first", func() error { return refused }, "[x.b]", refused},
		{"what was not read", func() error { return nil }, "[x.b]", nil},
		{"nothing", func() error { return nil }, "[]", nil},
	} {
		during = round.during
		if err := r.readDisks(t.Context()); !errors.Is(err, round.err) || fmt.Sprint(asked) != round.want {
			t.Errorf("%s: read %v, %v, want %s", round.name, asked, err, round.want)
		}
	}
}
