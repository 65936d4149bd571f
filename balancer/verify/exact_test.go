package verify

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"
)

// list returns the list of documents of a collection, between those of two others.
func list(t testing.TB, docs []bson.Raw) []byte {
	t.Helper()
	var text []byte
	var err error
	for _, ns := range []string{"db.a", "db.c", "db.z"} {
		if text, err = AppendCollection(text, ns); err != nil {
			t.Fatal(err)
		}
		for _, d := range docs {
			if ns != "db.c" {
				d = doc(t, "_id", "other")
			}
			if text, err = AppendDocumentHash(text, d); err != nil {
				t.Fatal(err)
			}
		}
	}
	return text
}

// readList returns the documents of a range, by a list.
func readList(t testing.TB, text []byte, from, to bson.RawValue, sum Sum) ([]DocumentHash, error) {
	t.Helper()
	reader := NewHashListReader(bytes.NewReader(text))
	if err := reader.SkipToCollection("db.c"); err != nil {
		t.Fatal(err)
	}
	return reader.ReadRange(from, to, sum)
}

// Whatever becomes of however many documents, each is named, and no other.
func TestExactNamesAll(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		docs := some(t, r, rapid.IntRange(1, 200).Draw(rt, "n"))
		before := digest(t, docs)
		var after []bson.Raw
		var want []DifferenceKind
		for i, d := range docs {
			switch {
			case i > 0 && byID(docs[i-1], d) == 0, i+1 < len(docs) && byID(d, docs[i+1]) == 0: // two of one _id stay
				after = append(after, d)
			case r.IntN(5) == 0:
				want = append(want, Lost)
			case r.IntN(5) == 0:
				want = append(want, Changed)
				after = append(after, doc(t, "_id", d.Lookup("_id"), "changed", r.Int()))
			case r.IntN(5) == 0:
				want = append(want, Doubled)
				after = append(after, d, d)
			default:
				after = append(after, d)
			}
		}
		text := list(t, docs)
		listed, err := readList(t, text, bson.RawValue{}, bson.RawValue{}, before.Total())
		if err != nil {
			rt.Fatal(err)
		}
		exact := NewDocumentDiff(listed, nil)
		for _, d := range after {
			exact.Put(d)
		}
		named, verdict := exact.Differing()
		var got []DifferenceKind
		for _, d := range named {
			got = append(got, d.Kind)
			if d.ID.Type == 0 || d.Kind == Lost && d.Before == nil {
				rt.Errorf("%+v", d)
			}
		}
		if !slices.Equal(got, want) || (verdict == Same) != (len(want) == 0) {
			rt.Errorf("%v, %s, want %v", got, verdict, want)
		}
	})
}

// A write explains its own document, and no other of the range.
func TestExactTellsWritesApart(t *testing.T) {
	before := []bson.Raw{doc(t, "_id", 1), doc(t, "_id", 2), doc(t, "_id", 3)}
	var writes Writes
	for _, id := range []int{1, 4} {
		writes.Add(doc(t, "_id", id).Lookup("_id"), id == 4, false)
	}
	for _, c := range []struct {
		name  string
		after []bson.Raw
		want  Verdict
	}{
		{"what was written", []bson.Raw{doc(t, "_id", 1, "w", 1), before[1], before[2], doc(t, "_id", 4)}, Explained},
		{"a change besides", []bson.Raw{doc(t, "_id", 1, "w", 1), before[1], doc(t, "_id", 3, "w", 1)}, Different},
		{"a loss besides", []bson.Raw{doc(t, "_id", 1, "w", 1), before[2], doc(t, "_id", 4)}, Different},
		{"another type", []bson.Raw{before[0], doc(t, "_id", int64(2)), before[2]}, Different},
		{"one that is there twice", []bson.Raw{before[0], doc(t, "_id", 1, "w", 1), before[1], before[2]}, Different},
		{"nothing", before, Same},
	} {
		listed, err := readList(t, list(t, before), bson.RawValue{}, bson.RawValue{}, digest(t, before).Total())
		if err != nil {
			t.Fatal(err)
		}
		exact := NewDocumentDiff(listed, &writes)
		for _, d := range c.after {
			exact.Put(d)
		}
		if _, got := exact.Differing(); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

// A list that was cut off, damaged or is another digest's is not believed.
func TestListIsChecked(t *testing.T) {
	docs := []bson.Raw{doc(t, "_id", 1), doc(t, "_id", 2), doc(t, "_id", 3)}
	sum := digest(t, docs).Total()
	text := list(t, docs[:2])
	if _, err := readList(t, text, bson.RawValue{}, bson.RawValue{}, sum); !errors.Is(err, ErrListMismatch) {
		t.Error(err)
	}
	text = list(t, docs)
	for i := range text {
		damaged := slices.Clone(text)
		damaged[i] ^= 4
		reader := NewHashListReader(bytes.NewReader(damaged))
		err := reader.SkipToCollection("db.c")
		if err == nil {
			var listed []DocumentHash
			listed, err = reader.ReadRange(bson.RawValue{}, bson.RawValue{}, sum)
			for n, d := range listed {
				if err == nil && (len(listed) != 3 || d.ID.Int32() != int32(n+1) || d.Hash != HashOf(docs[n])) {
					t.Errorf("byte %d: %v", i, listed)
				}
			}
		}
		if err != nil && !errors.Is(err, ErrListMismatch) {
			t.Errorf("byte %d: %v", i, err)
		}
	}
	if err := NewHashListReader(strings.NewReader("")).SkipToCollection("db.c"); !errors.Is(err, ErrListMismatch) {
		t.Error(err)
	}
}

// FuzzList reads whatever a file may have.
func FuzzList(f *testing.F) {
	f.Add([]byte{}, int64(0))
	f.Add(list(f, []bson.Raw{doc(f, "_id", 1), doc(f, "_id", 2)}), int64(2))
	f.Fuzz(func(_ *testing.T, text []byte, docs int64) {
		reader := NewHashListReader(bytes.NewReader(text))
		if reader.SkipToCollection("db.c") == nil {
			_, _ = reader.ReadRange(bson.RawValue{}, bson.RawValue{}, Sum{Docs: docs}) // it ends, without a panic
		}
	})
}
