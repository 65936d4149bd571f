package action

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/verify"
)

// startListed makes a digest with a list of its documents.
func (w *verified) startListed() {
	w.Helper()
	_, err := Verify{Namespaces: []string{"db.c"}, Output: w.path("before"), Documents: w.path("list")}.Run(w.Context(), w.cluster(), nil)
	if err != nil {
		w.Fatal(err)
	}
}

// compareListed compares with it, and returns which documents differ: kind and _id.
func (w *verified) compareListed() (VerifyResult, []string) {
	w.Helper()
	o := Verify{Against: w.path("before"), Documents: w.path("list"), Differences: w.path("differences"), Settle: 1}
	result, err := o.Run(w.Context(), w.cluster(), nil)
	if err != nil {
		w.Fatal(err)
	}
	text, err := os.ReadFile(w.path("differences"))
	if err != nil {
		w.Fatal(err)
	}
	var named []string
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var d VerifyDifference
		if line != "" {
			if err := json.Unmarshal([]byte(line), &d); err != nil {
				w.Fatal(err)
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
		for i, kind := range []verify.Kind{verify.Lost, verify.Changed, verify.Changed, verify.Changed} {
			id := bson.Raw(mustMarshal(t, bson.D{{Key: "_id", Value: idOf(20 + 5*i)}})).Lookup("_id")
			want = append(want, string(kind)+" "+string(extended(id)))
		}
		slices.Sort(named)
		slices.Sort(want)
		if result.Verdict != string(verify.Different) || !slices.Equal(named, want) {
			t.Errorf("seed %d: %s, %v, want %v", seed, result.Verdict, named, want)
		}
	}
}

// With a list writes to many documents of a range are told from what nobody wrote: nothing is unknown.
func TestVerifyByListAmongWrites(t *testing.T) {
	for seed := range 6 {
		w := newVerified(t, releases()[seed], uint64(seed))
		w.startListed()
		lost := seed%2 == 1
		if lost { // and no change stream shows it
			verifyFaults()[0].make(w, 41)
			w.forget()
		}
		for i := range verifyDocuments {
			if i != 41 && i%9 == 0 {
				w.update(i, set("s", "written"))
			}
		}
		result, named := w.compareListed()
		c := result.Collections[0]
		want := verify.Explained
		if lost {
			want = verify.Different
		}
		if result.Verdict != string(want) || c.Differing[verify.Written] > 0 || len(c.Notes) > 0 {
			t.Fatalf("seed %d: %+v, %v", seed, result, named)
		}
		if id := `lost "` + idOf(41).(string) + `"`; lost != slices.Contains(named, id) {
			t.Errorf("seed %d: %v", seed, named)
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
	o := Verify{Namespaces: []string{"db.c"}, Output: w.path("again"), Documents: w.path("listed again"), MaxRate: 1}
	for stops := 0; ; stops++ {
		ctx, cancel := context.WithCancelCause(w.Context())
		c := w.cluster()
		stopped := errors.New("stopped")
		if stops < 3 {
			c.Clock = stopAfter{c.Clock, func() { cancel(stopped) }}
		} else {
			o.MaxRate = 0
		}
		_, err := o.Run(ctx, c, nil)
		cancel(nil)
		if err == nil {
			break
		}
		if !errors.Is(err, stopped) {
			t.Fatal(err)
		}
		file, err := os.OpenFile(o.Documents, os.O_WRONLY|os.O_APPEND, 0o600) // more than the progress knows of
		if err != nil {
			t.Fatal(err)
		}
		extra, err := verify.AppendListed(nil, bson.Raw(mustMarshal(t, bson.D{{Key: "_id", Value: "zzz"}})))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write(extra[:len(extra)-stops]); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(o.Documents)
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
	o := Verify{Against: w.path("before"), Documents: w.path("list")}
	text, err := os.ReadFile(o.Documents)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.Documents, text[:1000], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Run(t.Context(), w.cluster(), nil); !errors.Is(err, verify.ErrList) {
		t.Error(err)
	}
	for _, o := range []Verify{
		{Namespaces: []string{"db.c"}, Documents: w.path("list")},
		{Namespaces: []string{"db.c"}, Output: w.path("new"), Documents: w.path("new")},
		{Namespaces: []string{"db.c"}, Output: w.path("new"), Documents: w.path("list")},
	} {
		var wrong *OptionError
		if _, err := o.Run(t.Context(), w.cluster(), nil); !errors.As(err, &wrong) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
