package snapdir

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func snapshotAt(at time.Time, id byte) *catalog.Snapshot {
	return catalog.NewSnapshot(catalog.SnapshotParts{Time: at, ClusterID: bson.ObjectID{id}})
}

func names(files []File) (list []string) {
	for _, f := range files {
		list = append(list, filepath.Base(f.Path))
	}
	return list
}

// Snapshots are kept for so long, and what is not one of them is left alone.
func TestSaveAndPrune(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "history", "shop")
	others := []string{"2026-01-01T000000Z.snap.bak", "notes.txt", "2020-01-01.snap", "2026-02-30T000000Z.snap", "2026-1-1T000000Z.snap"}
	var removed []File
	for day := range 6 {
		at := noon.AddDate(0, 0, day)
		saved, gone, err := SaveAndPrune(dir, snapshotAt(at, 1), 3*24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if want := at.Format("2006-01-02") + "T120000Z.snap"; filepath.Base(saved.Path) != want {
			t.Errorf("saved as %s, want %s", saved.Path, want)
		}
		removed = append(removed, gone...)
		if day == 0 {
			for _, name := range others {
				if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Mkdir(filepath.Join(dir, "2020-01-01T000000Z.snap"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	list, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := names(list), []string{"2026-03-04T120000Z.snap", "2026-03-05T120000Z.snap", "2026-03-06T120000Z.snap",
		"2026-03-07T120000Z.snap"}; !slices.Equal(got, want) {
		t.Errorf("kept %q, want %q", got, want)
	}
	if got, want := names(removed), []string{"2026-03-02T120000Z.snap", "2026-03-03T120000Z.snap"}; !slices.Equal(got, want) {
		t.Errorf("removed %q, want %q", got, want)
	}
	for _, name := range append(others, "2020-01-01T000000Z.snap") {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// The newest one stays, however old it is, and also beside one whose clock was wrong.
func TestNewestStays(t *testing.T) {
	dir := t.TempDir()
	for _, at := range []time.Time{noon.AddDate(1, 0, 0), noon} {
		if _, _, err := SaveAndPrune(dir, snapshotAt(at, 1), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	list, err := List(dir)
	if err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
}

func TestOneDirectoryACluster(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := SaveAndPrune(dir, snapshotAt(noon, 1), 0); err != nil {
		t.Fatal(err)
	}
	_, _, err := SaveAndPrune(dir, snapshotAt(noon.Add(time.Hour), 2), time.Minute)
	if !errors.As(err, new(*OtherClusterError)) {
		t.Errorf("%v", err)
	}
	if list, _ := List(dir); len(list) != 1 {
		t.Errorf("%v", list)
	}
}

// Before is the last one that is not newer.
func TestBefore(t *testing.T) {
	if _, _, err := NewestBefore(t.TempDir(), noon); !errors.Is(err, ErrEmpty) {
		t.Error(err)
	}
	base := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(base, "")
		if err != nil {
			t.Fatal(err)
		}
		hours := rapid.SliceOfNDistinct(rapid.IntRange(0, 20), 1, 6, rapid.ID[int]).Draw(t, "hours")
		for _, h := range hours {
			name := noon.Add(time.Duration(h) * time.Hour).Format(fileNameLayout)
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(hours)
		asked := rapid.IntRange(-1, 21).Draw(t, "asked")
		want, there := hours[0], false
		for _, h := range hours {
			if h <= asked {
				want, there = h, true
			}
		}
		f, ok, err := NewestBefore(dir, noon.Add(time.Duration(asked)*time.Hour))
		if err != nil || ok != there || !f.Time.Equal(noon.Add(time.Duration(want)*time.Hour)) {
			t.Fatalf("before %d of %v: %v, %v, %v", asked, hours, f, ok, err)
		}
	})
}
