package action

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/verify"
)

// startListed makes a digest with a list of its documents.
func (v *verified) startListed() {
	v.Helper()
	_, err := Verify{Namespaces: []string{"db.c"}, Output: v.path("before"), DocumentsFile: v.path("list")}.Run(v.Context(), v.cluster(), nil)
	if err != nil {
		v.Fatal(err)
	}
}

// compareListed compares with it, and returns which documents differ: kind and _id.
func (v *verified) compareListed() (VerifyResult, []string) {
	v.Helper()
	o := Verify{BaselineFile: v.path("before"), DocumentsFile: v.path("list"), DifferencesFile: v.path("differences"), MaxRereads: 1}
	result, err := o.Run(v.Context(), v.cluster(), nil)
	if err != nil {
		v.Fatal(err)
	}
	text, err := os.ReadFile(v.path("differences"))
	if err != nil {
		v.Fatal(err)
	}
	var named []string
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var d VerifyDifference
		if line != "" {
			if err := json.Unmarshal([]byte(line), &d); err != nil {
				v.Fatal(err)
			}
		}
		for _, doc := range d.Documents {
			named = append(named, string(doc.Kind)+" "+string(doc.ID))
		}
	}
	return result, named
}

// With a list of the documents all that differ are named, in one range too; those that were lost as well.
func TestVerifyNamesByList(t *testing.T) {
	for seed := range 4 {
		w := newVerified(t, releases()[seed], uint64(seed))
		w.startListed()
		kinds := verifyFaults()
		for i, n := range []int{0, 2, 3, 4} { // lost, a byte, an ulp, a type
			kinds[n].make(w, 20+5*i)
		}
		w.move()
		w.forget()
		result, named := w.compareListed()
		want := []string{}
		for i, kind := range []verify.DifferenceKind{verify.Lost, verify.Changed, verify.Changed, verify.Changed} {
			id := bson.Raw(mustMarshal(t, bson.D{{Key: "_id", Value: idOf(20 + 5*i)}})).Lookup("_id")
			want = append(want, string(kind)+" "+string(extJSON(id)))
		}
		slices.Sort(named)
		slices.Sort(want)
		if result.Verdict != string(verify.Different) || !slices.Equal(named, want) {
			t.Errorf("seed %d: %s, %v, want %v", seed, result.Verdict, named, want)
		}
	}
}

// With a list the fault of one document shows among writers that change many others of its range before
// and while it is compared, and without one nothing is different or unknown.
func TestVerifyByListAmongWriters(t *testing.T) {
	times := 1
	if *full {
		times = 1000 / len(verifyFaults())
	}
	faults := append(verifyFaults(), verifyFault{name: "none"})
	for n, fault := range faults {
		for seed := range times {
			w := newVerified(t, releases()[(n+seed)%len(releases())], uint64(seed))
			w.startListed()
			at := 2*w.r.IntN(verifyDocuments/2) + 1
			if fault.make != nil { // and no change stream shows it
				fault.make(w, at)
				w.forget()
			}
			work := func() {
				for range 20 {
					w.update(2*w.r.IntN(verifyDocuments/2), bson.D{{Key: "$inc", Value: bson.D{{Key: "w", Value: 1}}}})
				}
			}
			work()
			c := w.cluster()
			c.Clock = busy{stopAfter{inner: w.clock}, work}
			result, err := Verify{BaselineFile: w.path("before"), DocumentsFile: w.path("list"), MaxRereads: 2, RereadPause: time.Second}.Run(t.Context(), c, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := verify.Different
			if fault.make == nil {
				want = verify.Explained
			}
			if got := result.Collections[0]; result.Verdict != string(want) || got.Differing[verify.Written] > 0 || len(got.Notes) > 0 {
				t.Fatalf("%s, seed %d: %+v", fault.name, seed, result)
			}
			id := extJSON(bson.Raw(mustMarshal(t, bson.D{{Key: "_id", Value: idOf(at)}})).Lookup("_id"))
			named := slices.ContainsFunc(result.Collections[0].Differences, func(d VerifyDifference) bool {
				return d.Verdict == verify.Different && slices.ContainsFunc(d.Documents, func(doc VerifyDocument) bool {
					return doc.Kind == fault.kind && string(doc.ID) == string(id)
				})
			})
			if named != (fault.make != nil) {
				t.Errorf("%s, seed %d: %s: %+v", fault.name, seed, id, result.Collections[0].Differences)
			}
		}
	}
}

// A run that is stopped, or whose process dies between a write of the list and of the progress, comes to
// the same list.
func TestVerifyGoesOnWithList(t *testing.T) {
	w := newVerified(t, catalog.Release80, 5)
	w.heavy()
	w.startListed()
	want, err := os.ReadFile(w.path("list"))
	if err != nil {
		t.Fatal(err)
	}
	o := Verify{Namespaces: []string{"db.c"}, Output: w.path("again"), DocumentsFile: w.path("listed again")}
	w.stoppedThrice(o, func(_ VerifyResult, stops int) {
		file, err := os.OpenFile(o.DocumentsFile, os.O_WRONLY|os.O_APPEND, 0o600) // more than the progress knows of
		if err != nil {
			t.Fatal(err)
		}
		extra, err := verify.AppendDocumentHash(nil, bson.Raw(mustMarshal(t, bson.D{{Key: "_id", Value: "zzz"}})))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write(extra[:len(extra)-stops]); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	})
	got, err := os.ReadFile(o.DocumentsFile)
	if err != nil || string(got) != string(want) {
		t.Errorf("the list has %d bytes, want %d, %v", len(got), len(want), err)
	}
}

func mustMarshal(t *testing.T, doc bson.D) []byte {
	t.Helper()
	raw, err := bson.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A list that does not fit the digest, or is in the way, is refused.
func TestVerifyRefusesLists(t *testing.T) {
	w := newVerified(t, catalog.Release80, 3)
	w.startListed()
	verifyFaults()[0].make(w, 7)
	o := Verify{BaselineFile: w.path("before"), DocumentsFile: w.path("list")}
	text, err := os.ReadFile(o.DocumentsFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.DocumentsFile, text[:1000], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Run(t.Context(), w.cluster(), nil); !errors.Is(err, verify.ErrListMismatch) {
		t.Error(err)
	}
	for _, o := range []Verify{
		{Namespaces: []string{"db.c"}, DocumentsFile: w.path("list")},
		{Namespaces: []string{"db.c"}, Output: w.path("new"), DocumentsFile: w.path("new")},
		{Namespaces: []string{"db.c"}, Output: w.path("new"), DocumentsFile: w.path("list")},
	} {
		var wrong *OptionError
		if _, err := o.Run(t.Context(), w.cluster(), nil); !errors.As(err, &wrong) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
