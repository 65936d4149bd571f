package plan_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/plan"
)

// samples are plans with all kinds of steps and findings.
func samples(t testing.TB) []*plan.Plan {
	t.Helper()
	s := snaptest.SnapshotOf(3, collection(t, "db.c", 3, 128*mib, repeat(0, 12)...), collection(t, "db.d", 3, mib, 0, 0, 1, 0, 2, 2))
	zones := zoned(t, zoned(t, s, "db.c", "EU", 1500, 3000, 2), "db.d", "US", 0, 10, 99)
	drain := goal(plan.Drain, "db.*")
	drain.Goal.Shard, drain.Seed = "s00", 7
	return []*plan.Plan{
		mustMake(t, s, plan.Options{}),
		mustMake(t, zones, goal(plan.Zones)),
		mustMake(t, s, goal(plan.Defragment, "db.d")),
		mustMake(t, s, goal(plan.Consolidate)),
		mustMake(t, s, drain),
		mustMake(t, s, plan.Options{Limits: plan.Limits{Moves: 1, Bytes: 1 << 40, Rounds: 9, Time: 1e12}}),
		mustMake(t, snaptest.SnapshotOf(1), plan.Options{}),
	}
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestRead(t *testing.T) {
	for _, p := range samples(t) {
		text := marshal(t, p)
		var indented bytes.Buffer
		if err := json.Indent(&indented, text, "", "  "); err != nil {
			t.Fatal(err)
		}
		for _, form := range [][]byte{text, indented.Bytes()} {
			again, err := plan.Read(bytes.NewReader(form))
			if err != nil {
				t.Fatalf("%v of %s", err, text)
			}
			if got := marshal(t, again); !bytes.Equal(got, text) {
				t.Errorf("%s comes back as %s", text, got)
			}
		}
	}
}

// Whatever is changed in a plan is noticed, but for prose.
func TestChangesAreNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	for _, p := range samples(t) {
		var whole any
		if err := json.Unmarshal(marshal(t, p), &whole); err != nil {
			t.Fatal(err)
		}
		changes := 0
		alter(whole, "", func(path string) {
			changes++
			text := marshal(t, whole)
			if _, err := plan.Read(bytes.NewReader(text)); (err == nil) != prose.MatchString(path) {
				t.Errorf("a change of %s: %v in %s", path, err, text)
			}
		})
		if changes < 20 {
			t.Errorf("only %d changes were tried", changes)
		}
	}
}

// prose matches what a plan has to be read by people.
var prose = regexp.MustCompile(`^\.(steps\[\]\.why|left\[\]\.(sentence|remedy|commands\[\]))$`)

// A plan that was kept from the time when prose was part of its id is read; one of
// which more than that has changed is not.
func TestOldID(t *testing.T) {
	text, err := os.ReadFile("testdata/prose-counted.json")
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Read(bytes.NewReader(text))
	if err != nil || len(p.Left) == 0 || len(p.Steps) == 0 {
		t.Fatal(err)
	}
	if now := samples(t)[1]; now.ID == p.ID {
		t.Error("its id has not changed: the file is not of that time")
	}
	for _, change := range []string{`"why": "`, `"sentence": "`, `"hash": "`} {
		changed := strings.Replace(string(text), change, change+"1", 1)
		if _, err := plan.Read(strings.NewReader(changed)); !errors.Is(err, plan.ErrEdited) {
			t.Errorf("%s: %v", change, err)
		}
	}
}

// alter changes one value after the other, and back.
func alter(v any, path string, changed func(path string)) {
	each := func(value any, path string, set func(any)) {
		switch x := value.(type) {
		case map[string]any, []any:
			alter(x, path, changed)
			return
		case string:
			set(x + "1")
		case float64:
			set(x + 1)
		case bool:
			set(!x)
		case nil:
			set("x")
		}
		changed(path)
		set(value)
	}
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			each(value, path+"."+name, func(to any) { v[name] = to })
		}
	case []any:
		for i, value := range v {
			each(value, path+"[]", func(to any) { v[i] = to })
		}
	}
}

func TestReadRefuses(t *testing.T) {
	text := string(marshal(t, samples(t)[0]))
	for name, c := range map[string]struct{ text, want string }{
		"nothing":         {"", "not a JSON object"},
		"something else":  {`{"a": 1}`, "not a plan"},
		"a later format":  {strings.Replace(text, `"format":1`, `"format":2`, 1), "its format is 2"},
		"an unknown name": {strings.Replace(text, `"goal"`, `"aim"`, 1), "aim"},
		"two plans":       {text + text, "not a JSON object"},
		"cut short":       {text[:len(text)/2], "not a JSON object"},
		"another step":    {strings.Replace(text, `"number":2,`, `"number":3,`, 1), "step 3 is at position 2"},
		"another round":   {strings.Replace(text, `"round":2,`, `"round":7,`, 1), "round 7 follows round 1"},
		"another kind":    {strings.Replace(text, `"kind":"move"`, `"kind":"drop"`, 1), `"drop" is not a valid kind of step`},
		"a shard twice":   {strings.Replace(text, `"to":"s01"`, `"to":"s00"`, 1), "a move needs another shard"},
		"another basis":   {strings.Replace(text, `"hash":"`, `"hash":"1`, 1), plan.ErrEdited.Error()},
		"another key": {strings.Replace(text, `"min":[{"$minKey":1}]`, `"min":[{"$minKey":1},{"$numberInt":"1"}]`, 1),
			"is not a valid key of"},
	} {
		if _, err := plan.Read(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := plan.Read(failing{}); !errors.Is(err, errFailing) {
		t.Error(err)
	}
}

var errFailing = errors.New("no more")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errFailing }

// Whatever is read gives a plan that is read the same again, or an error.
func FuzzRead(f *testing.F) {
	for _, p := range samples(f) {
		f.Add(marshal(f, p))
	}
	f.Add([]byte(`{"format": 1, "steps": [{"number": 1, "points": [[]]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := plan.Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		form := marshal(t, p)
		again, err := plan.Read(bytes.NewReader(form))
		if err != nil || !bytes.Equal(marshal(t, again), form) {
			t.Errorf("%s comes back with %v", form, err)
		}
	})
}
