package verify

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/keyorder"
)

var full = flag.Bool("full", false, "a thousand faults and more documents, not a few")

func doc(t testing.TB, fields ...any) bson.Raw {
	t.Helper()
	d := bson.D{}
	for i := 0; i < len(fields); i += 2 {
		d = append(d, bson.E{Key: fields[i].(string), Value: fields[i+1]})
	}
	raw, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// some returns documents with _ids of several types, in order.
func some(t testing.TB, r *rand.Rand, n int) (docs []bson.Raw) {
	t.Helper()
	for i := range n {
		var id any
		switch i % 4 {
		case 0:
			id = float64(i) + 0.5
		case 1:
			id = int64(i)
		case 2:
			id = fmt.Sprintf("s%08d", i)
		default:
			id = bson.ObjectID{byte(i >> 16), byte(i >> 8), byte(i), byte(r.IntN(256))}
		}
		docs = append(docs, doc(t, "_id", id, "d", r.Float64(), "n", int32(i), "s", "text"))
	}
	slices.SortFunc(docs, byID)
	return docs
}

func byID(a, b bson.Raw) int { return keyorder.Compare(a.Lookup("_id"), b.Lookup("_id")) }

func put(t testing.TB, s *Scan, docs []bson.Raw) {
	t.Helper()
	for _, d := range docs {
		if err := s.Put(d); err != nil {
			t.Fatal(err)
		}
	}
}

func digest(t testing.TB, docs []bson.Raw) Digest {
	t.Helper()
	s := NewScan()
	put(t, s, docs)
	return s.Finish()
}

func digestLike(t testing.TB, d Digest, docs []bson.Raw) Digest {
	t.Helper()
	s := NewScanLike(d)
	put(t, s, docs)
	return s.Finish()
}

// The vectors are those of FIPS 180-2 for "abc" and for no bytes at all.
func TestHashIsSHA256(t *testing.T) {
	for text, want := range map[string]string{
		"abc": "ba7816bf8f01cfea414140de5dae2223", "": "e3b0c44298fc1c149afbf4c8996fb924",
	} {
		if got := HashOf(bson.Raw(text)).String(); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestHashArithmetic(t *testing.T) {
	all := Hash{math.MaxUint64, math.MaxUint64}
	if got := all.plus(Hash{0, 1}); got != (Hash{}) {
		t.Error("2^128-1 and 1 are", got)
	}
	if got := (Hash{0, math.MaxUint64}).plus(Hash{0, 1}); got != (Hash{1, 0}) {
		t.Error("no carry:", got)
	}
	if got := (Hash{}).minus(Hash{0, 1}); got != all {
		t.Error("0 less 1 is", got)
	}
}

// fault is something that may happen to documents, and which documents a Namer names then.
type fault struct {
	name string
	make func(t testing.TB, r *rand.Rand, docs []bson.Raw, i int) []bson.Raw
	kind DifferenceKind
}

func faults() []fault {
	change := func(field func(r *rand.Rand, d bson.D) bson.D) func(testing.TB, *rand.Rand, []bson.Raw, int) []bson.Raw {
		return func(t testing.TB, r *rand.Rand, docs []bson.Raw, i int) []bson.Raw {
			var d bson.D
			if err := bson.Unmarshal(docs[i], &d); err != nil {
				t.Fatal(err)
			}
			raw, err := bson.Marshal(field(r, d))
			if err != nil {
				t.Fatal(err)
			}
			docs[i] = raw
			return docs
		}
	}
	return []fault{
		{"lost", func(_ testing.TB, _ *rand.Rand, docs []bson.Raw, i int) []bson.Raw {
			return slices.Delete(docs, i, i+1)
		}, Lost},
		{"doubled", func(_ testing.TB, _ *rand.Rand, docs []bson.Raw, i int) []bson.Raw {
			return slices.Insert(docs, i, docs[i])
		}, Doubled},
		{"added", func(t testing.TB, r *rand.Rand, docs []bson.Raw, i int) []bson.Raw {
			docs = append(docs, doc(t, "_id", fmt.Sprintf("s%08d-", i), "x", r.Int64()))
			slices.SortStableFunc(docs, byID)
			return docs
		}, Added},
		{"a byte", change(func(r *rand.Rand, d bson.D) bson.D {
			d[3].Value = "tex" + string(rune('a'+r.IntN(19)))
			return d
		}), Changed},
		{"an ulp", change(func(_ *rand.Rand, d bson.D) bson.D {
			d[1].Value = math.Nextafter(d[1].Value.(float64), 2)
			return d
		}), Changed},
		{"a type", change(func(_ *rand.Rand, d bson.D) bson.D {
			d[2].Value = int64(d[2].Value.(int32))
			return d
		}), Changed},
		{"the order of fields", change(func(_ *rand.Rand, d bson.D) bson.D {
			d[1], d[2] = d[2], d[1]
			return d
		}), Changed},
		{"the type of the _id", change(func(_ *rand.Rand, d bson.D) bson.D {
			if n, is := d[0].Value.(int64); is {
				d[0].Value = float64(n)
			} else {
				d[3].Value = bson.Symbol("text")
			}
			return d
		}), Changed},
	}
}

// Each fault shows in exactly one range, and the document is named.
func TestFaultsAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	times := uint64(20)
	if *full {
		times = 1000
	}
	for _, f := range faults() {
		for seed := range times {
			r := rand.New(rand.NewPCG(seed, 7))
			before := some(t, r, 200+r.IntN(600))
			i := r.IntN(len(before))
			d := digest(t, before)
			after := f.make(t, r, slices.Clone(before), i)
			now := digestLike(t, d, after)
			list := DifferingRanges(d, now)
			if len(list) != 1 {
				t.Fatalf("%s, seed %d: %d ranges differ", f.name, seed, len(list))
			}
			named := name(d, now, list[0], after)
			if len(named) != 1 || named[0].Kind != f.kind {
				t.Fatalf("%s, seed %d: named %+v", f.name, seed, named)
			}
			if named[0].Before != nil && *named[0].Before != HashOf(before[i]) {
				t.Fatalf("%s, seed %d: it was not %v", f.name, seed, named[0].Before)
			}
			if f.kind != Lost && f.kind != Added && keyorder.Compare(named[0].ID, before[i].Lookup("_id")) != 0 {
				t.Fatalf("%s, seed %d: named %v", f.name, seed, named[0].ID)
			}
		}
	}
}

// named runs a Namer over small documents, all in one range. Writes are "i7" for an insert,
// "u7" for an update or deletion of _id 7, "e7" for one from while the digest was made.
func named(t *testing.T, before, after []bson.Raw, writes ...string) *DifferenceFinder {
	t.Helper()
	d := digest(t, before)
	var w Writes
	for _, text := range writes {
		w.Add(doc(t, "_id", int64(text[1]-'0')).Lookup("_id"), text[0] == 'i', text[0] == 'e')
	}
	n := NewDifferenceFinder(d.Ranges[0].Sum, digestLike(t, d, after).Ranges[0].Sum, &w)
	for _, d := range after {
		n.Put(d)
	}
	return n
}

func TestWritesExplainTheirDocumentsAlone(t *testing.T) {
	numbered := func(values ...int) (docs []bson.Raw) {
		for i, v := range values {
			if v != 0 {
				docs = append(docs, doc(t, "_id", int64(i), "v", int32(v)))
			}
		}
		return docs
	}
	before := numbered(1, 1, 1, 1)
	for _, c := range []struct {
		name   string
		after  []bson.Raw
		writes string
		want   Verdict
	}{
		{"nothing", before, "", Same},
		{"an update", numbered(1, 2, 1, 1), "u1", Explained},
		{"an update of another", numbered(1, 2, 1, 1), "u2", Different},
		{"a change without a write", numbered(1, 2, 1, 1), "", Different},
		{"an insert", numbered(1, 1, 1, 1, 1), "i4", Explained},
		{"a deletion", numbered(1, 0, 1, 1), "u1", Explained},
		{"an insert and its deletion, and a loss", numbered(1, 0, 1, 1), "i4", Different},
		{"two updates", numbered(2, 2, 1, 1), "u0 u1", Written},
		{"an update and a loss", numbered(2, 1, 0, 1), "u0", Different},
		{"an update and a loss, and the update was early", numbered(2, 1, 0, 1), "u0 e3", Written},
		{"a deletion and a loss", numbered(0, 0, 1, 1), "u0", Different},
		{"an insert and a loss", numbered(1, 0, 1, 1, 1), "i4", Different},
		{"an insert while it was read", numbered(1, 1, 1, 1, 1), "e4", Explained},
		{"an update, and a document that comes twice", append(numbered(2, 1, 1, 1), numbered(0, 0, 0, 1)...), "u0", Different},
		{"an update, and the document comes twice", append(numbered(2), numbered(2, 1, 1, 1)...), "u0", Different},
		// What only the documents themselves could tell.
		{"an update and a change without a write", numbered(2, 2, 1, 1), "u0", Written},
	} {
		if got := named(t, before, c.after, strings.Fields(c.writes)...).Verdict(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// name names documents of a range.
func name(before, after Digest, i int, docs []bson.Raw) []DifferingDocument {
	n := NewDifferenceFinder(before.Ranges[i].Sum, after.Ranges[i].Sum, nil)
	from, to := before.Ranges[i].From, before.RangeEnd(i)
	for _, d := range docs {
		id := d.Lookup("_id")
		if (from.Type == 0 || keyorder.Compare(id, from) >= 0) && (to.Type == 0 || keyorder.Compare(id, to) < 0) {
			n.Put(d)
		}
	}
	return n.Differing()
}

// A document that comes three times leaves the XOR as it is.
func TestTwiceMoreIsSeen(t *testing.T) {
	docs := some(t, rand.New(rand.NewPCG(1, 1)), 100)
	d := digest(t, docs)
	after := slices.Insert(slices.Clone(docs), 10, docs[10], docs[10])
	now := digestLike(t, d, after)
	if list := DifferingRanges(d, now); len(list) != 1 || now.Ranges[list[0]].XOR != d.Ranges[list[0]].XOR {
		t.Error(list)
	}
}

// What differs in several documents of a range is not put down to one of them.
func TestSeveralChangesAreNotNamed(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	docs := some(t, r, 50)
	d := digest(t, docs)
	after := slices.Clone(docs)
	for _, f := range faults() {
		if f.name == "an ulp" {
			after = f.make(t, r, f.make(t, r, after, 3), 20)
		}
	}
	now := digestLike(t, d, after)
	if list := DifferingRanges(d, now); len(list) != 1 || len(name(d, now, 0, after)) != 0 {
		t.Error(list)
	}
	lostAndAdded := append(slices.Clone(docs[1:]), docs[0])
	lostAndAdded[len(docs)-1] = doc(t, "_id", bson.MaxKey{})
	now = digestLike(t, d, lostAndAdded)
	for _, n := range name(d, now, 0, lostAndAdded) {
		if n.Kind != Changed { // one document in the place of another: told by its _id
			t.Errorf("%+v", n)
		}
	}
}

// Wherever a run is killed, another one goes on from what was kept, and comes to the same.
func TestResumeComesToTheSame(t *testing.T) {
	docs := some(t, rand.New(rand.NewPCG(5, 5)), 3000)
	whole := digest(t, docs)
	like := digest(t, slices.DeleteFunc(slices.Clone(docs), func(d bson.Raw) bool { return d.Lookup("n").AsInt64()%7 == 0 }))
	wholeLike := digestLike(t, like, docs)
	rapid.Check(t, func(rt *rapid.T) {
		bounds, want, s := (*Digest)(nil), whole, NewScan()
		if rapid.Bool().Draw(rt, "like another") {
			bounds, want, s = &like, wholeLike, NewScanLike(like)
		}
		next := 0
		for range rapid.IntRange(0, 6).Draw(rt, "kills") {
			goOn(rt, s, docs, next, rapid.IntRange(0, 900).Draw(rt, "documents"))
			kept := Collection{Namespace: "db.c", Digest: s.State()}
			text, _, err := (&File{Collections: []Collection{kept}}).Marshal()
			if err != nil {
				rt.Fatal(err)
			}
			f, _, err := Parse(text)
			if err != nil {
				rt.Fatal(err)
			}
			if s, err = Resume(f.Collections[0].Digest, bounds); err != nil {
				rt.Fatal(err)
			}
			from := f.Collections[0].NextID()
			next = slices.IndexFunc(docs, func(d bson.Raw) bool {
				return from.Type == 0 || keyorder.Compare(d.Lookup("_id"), from) >= 0
			})
			if next < 0 {
				next = len(docs)
			}
		}
		goOn(rt, s, docs, next, len(docs))
		if got := s.Finish(); !reflect.DeepEqual(got, want) {
			rt.Errorf("%d ranges, want %d; %+v, want %+v", len(got.Ranges), len(want.Ranges), got.Total(), want.Total())
		}
	})
}

func goOn(t *rapid.T, s *Scan, docs []bson.Raw, from, n int) {
	for _, d := range docs[from:min(len(docs), from+n)] {
		if err := s.Put(d); err != nil {
			t.Fatal(err)
		}
	}
}

// Documents of several shards with one _id, or with _ids that compare equal, stay in one
// range: the range that is read again has all of them.
func TestEqualIDsStayTogether(t *testing.T) {
	s := NewScan()
	for i := range 3 * initialDocsPerRange { // in threes, of which no range has a whole number when it is full
		put(t, s, []bson.Raw{doc(t, "_id", int64(i), "on", "a"), doc(t, "_id", float64(i), "on", "b"),
			doc(t, "_id", int32(i), "on", "c")})
	}
	d := s.Finish()
	if len(d.Ranges) < 3 {
		t.Fatal("no ranges:", len(d.Ranges))
	}
	for i, r := range d.Ranges {
		if r.Docs%3 != 0 {
			t.Errorf("range %d has %d documents", i, r.Docs)
		}
	}
}

func TestOrderIsChecked(t *testing.T) {
	s := NewScan()
	put(t, s, []bson.Raw{doc(t, "_id", "a"), doc(t, "_id", "a")})
	if err := s.Put(doc(t, "_id", int64(5))); !errors.Is(err, ErrOrder) {
		t.Error("a number after a string:", err)
	}
	if err := s.Put(doc(t, "x", 1)); err == nil {
		t.Error("no _id")
	}
}

// Long _ids begin no range: the digest stays small.
func TestLongIDsBeginNoRange(t *testing.T) {
	var docs []bson.Raw
	for i := range 10 * initialDocsPerRange {
		docs = append(docs, doc(t, "_id", fmt.Sprintf("%0600d", i)))
	}
	if d := digest(t, docs); len(d.Ranges) != 1 || d.Ranges[0].Docs != 10*initialDocsPerRange {
		t.Error(len(d.Ranges))
	}
}

// A digest of millions of documents has no more ranges than a small one, and takes no more
// memory.
func TestMemoryIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	documents, perRange := 1_200_000, int64(64*2*2) // joined at 64 * 8192 documents, and at twice as many
	if *full {
		documents, perRange = 10_000_000, 64<<5 // and so on, five times
	}
	raw := []byte(doc(t, "_id", int64(0), "text", "some text to make it longer"))
	s := NewScan()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range documents {
		for b := range 8 {
			raw[9+b] = byte(i >> (8 * b))
		}
		if err := s.Put(raw); err != nil {
			t.Fatal(err)
		}
	}
	d := s.Finish()
	runtime.ReadMemStats(&after)
	if n := len(d.Ranges); n > maxRanges || n < maxRanges/2 {
		t.Errorf("%d ranges", n)
	}
	for i, r := range d.Ranges[:len(d.Ranges)-1] {
		if r.Docs != perRange {
			t.Fatalf("range %d has %d documents, want %d", i, r.Docs, perRange)
		}
	}
	if total := d.Total(); total.Docs != int64(documents) || total.Bytes != int64(documents*len(raw)) {
		t.Errorf("%+v", total)
	}
	if all := after.TotalAlloc - before.TotalAlloc; all > 8<<20 {
		t.Errorf("it took %d bytes all in all", all)
	}
	text, _, err := (&File{Collections: []Collection{{Namespace: "a.b", Digest: d}}}).Marshal()
	if err != nil || len(text) > 3<<20 {
		t.Error("a file of", len(text), err)
	}
}

func file(t testing.TB) *File {
	d := digest(t, some(t, rand.New(rand.NewPCG(9, 9)), 500))
	return &File{AgainstChecksum: "ab", Collections: []Collection{
		{Namespace: "db.c", UUID: "0f", Since: bson.Timestamp{T: 7, I: 2}, Until: bson.Timestamp{T: 9, I: 1}, Began: time.Unix(5, 0).UTC(),
			Ended: time.Unix(6, 0).UTC(), Digest: d},
		{Namespace: "db.d", Digest: NewScan().State()},
	}}
}

func TestFileIsReadAsWritten(t *testing.T) {
	f := file(t)
	text, sum, err := f.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	got, again, err := Parse(text)
	if err != nil || again != sum || !reflect.DeepEqual(got, f) {
		t.Errorf("%v\n%+v\n%+v", err, got, f)
	}
	if got.Finished() || got.Collection("db.c") == nil || got.Collection("db.x") != nil {
		t.Error("not what was written")
	}
}

func TestDamageIsSeen(t *testing.T) {
	text, _, err := file(t).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(text, []byte(`"docs":`)) + len(`"docs":`)
	for name, damaged := range map[string][]byte{
		"one digit": append(append(slices.Clone(text[:at]), text[at]^1), text[at+1:]...),
		"cut off":   text[:len(text)/2],
		"nothing":   nil,
		"other":     []byte(`{"format": "another"}`),
		"newer":     bytes.Replace(text, []byte(`"version":1`), []byte(`"version":2`), 1),
	} {
		if _, _, err := Parse(damaged); err == nil {
			t.Error(name, "is not seen")
		}
	}
}

// sealed returns a body as a file with the right checksum.
func sealed(body string) []byte {
	return fmt.Appendf(nil, `{"format":%q,"version":1,"checksum":%q,"body":%s}`, fileFormat, checksumOf([]byte(body)), body)
}

func TestImpossibleFilesAreRefused(t *testing.T) {
	sum := `"xor":"00000000000000000000000000000000","add":"00000000000000000000000000000000"`
	for name, body := range map[string]string{
		"no ranges":     `{"collections":[{"ns":"a.b","finished":true,"ranges":[]}]}`,
		"negative":      `{"collections":[{"ns":"a.b","finished":true,"ranges":[{"docs":-1,"bytes":0,` + sum + `}]}]}`,
		"no bound":      `{"collections":[{"ns":"a.b","finished":true,"ranges":[{"docs":1,"bytes":0,` + sum + `},{"docs":1,"bytes":0,` + sum + `}]}]}`,
		"a short hash":  `{"collections":[{"ns":"a.b","finished":true,"ranges":[{"docs":1,"bytes":0,"xor":"00","add":"00"}]}]}`,
		"bound of none": `{"collections":[{"ns":"a.b","finished":true,"ranges":[{"docs":1,"bytes":0,` + sum + `},{"from":"BQAAAAA=","docs":1,"bytes":0,` + sum + `}]}]}`,
	} {
		if _, _, err := Parse(sealed(body)); err == nil {
			t.Error(name, "is not seen")
		}
	}
	if _, _, err := Parse(sealed(`{"collections":[]}`)); err != nil {
		t.Error("the test seals wrongly:", err)
	}
}

// Whatever can be parsed can be written and gone on with.
func FuzzParse(f *testing.F) {
	text, _, err := file(f).Marshal()
	if err != nil {
		f.Fatal(err)
	}
	var parts fileParts
	parts.read(f, text)
	f.Add(parts.body)
	f.Add(`{"collections":[{"ns":"a.b","ranges":[{}]}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		got, _, err := Parse(sealed(body))
		if err != nil {
			return
		}
		text, _, err := got.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := Parse(text)
		if err != nil || len(again.Collections) != len(got.Collections) {
			t.Fatal(err)
		}
		for _, c := range got.Collections {
			_ = c.Total()
			s, err := Resume(c.Digest, nil)
			if err == nil {
				_ = s.Put(doc(t, "_id", bson.MaxKey{}))
				s.Finish()
			}
			put(t, NewScanLike(c.Digest), []bson.Raw{doc(t, "_id", bson.MinKey{}), doc(t, "_id", bson.MaxKey{})})
		}
	})
}

type fileParts struct{ body string }

func (p *fileParts) read(t testing.TB, text []byte) {
	_, rest, found := bytes.Cut(text, []byte(`"body":`))
	if !found {
		t.Fatal("no body")
	}
	p.body = string(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte("}")))
}

// BenchmarkScan is what a digest costs besides reading, for documents of 500 bytes.
func BenchmarkScan(b *testing.B) {
	raw := []byte(doc(b, "_id", int64(0), "text", string(bytes.Repeat([]byte("x"), 460))))
	b.SetBytes(int64(len(raw)))
	s := NewScan()
	for i := range b.N {
		for n := range 8 {
			raw[9+n] = byte(i >> (8 * n))
		}
		if err := s.Put(raw); err != nil {
			b.Fatal(err)
		}
	}
}
