package disk

import (
	"strings"
	"testing"
)

// A state of a format to come is left alone.
func TestNewerFormat(t *testing.T) {
	dir := t.TempDir()
	for _, format := range []uint64{FormatVersion, FormatVersion + 1} {
		d, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		d.Add([]Entry{{BucketMeta, []byte(MetaFormat), NumberKey(format)}})
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if d, err = Open(dir); err != nil {
			t.Fatal(err)
		}
		begun, err := d.Begun()
		newer := err != nil && strings.Contains(err.Error(), "dbpath: "+dir+" was written by a newer shardsh")
		if wantNewer := format > FormatVersion; !begun || newer != wantNewer {
			t.Errorf("format %d: begun %v, %v", format, begun, err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
