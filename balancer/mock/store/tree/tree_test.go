package tree

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// pair is an entry of the model: a sorted slice.
type pair struct {
	key    string
	record uint64
}

func comparePairs(a, b pair) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.record, b.record))
}

// keyed is a tree and what it should hold.
type keyed struct {
	tree  *Keys
	model []pair
}

func (k *keyed) set(key string, record uint64) {
	k.tree.Add([]byte(key), record)
	if at, found := slices.BinarySearchFunc(k.model, pair{key, record}, comparePairs); !found {
		k.model = slices.Insert(k.model, at, pair{key, record})
	}
}

func (k *keyed) delete(key string, record uint64) {
	k.tree.Delete([]byte(key), record)
	if at, found := slices.BinarySearchFunc(k.model, pair{key, record}, comparePairs); found {
		k.model = slices.Delete(k.model, at, at+1)
	}
}

func (k *keyed) copy() keyed { return keyed{k.tree.Copy(), slices.Clone(k.model)} }

func collect(seq func(yield func(uint64, []byte) bool)) []pair {
	var list []pair
	for record, key := range seq {
		list = append(list, pair{string(key), record})
	}
	return list
}

func (k *keyed) check(t *rapid.T, probe string) {
	t.Helper()
	if k.tree.Len() != len(k.model) {
		t.Fatalf("%d entries, want %d", k.tree.Len(), len(k.model))
	}
	backward := func(list []pair) []pair {
		list = slices.Clone(list)
		slices.Reverse(list)
		return list
	}
	at, _ := slices.BinarySearchFunc(k.model, pair{probe, 0}, comparePairs)
	for name, walk := range map[string][2][]pair{
		"all":      {collect(k.tree.All()), k.model},
		"from":     {collect(k.tree.From([]byte(probe))), k.model[at:]},
		"backward": {collect(k.tree.Backward()), backward(k.model)},
		"below":    {collect(k.tree.BackwardBelow([]byte(probe))), backward(k.model[:at])},
	} {
		if !slices.Equal(walk[0], walk[1]) {
			t.Fatalf("%s %q: %v, want %v", name, probe, walk[0], walk[1])
		}
	}
	record, ok := k.tree.FirstRecord([]byte(probe))
	has := at < len(k.model) && k.model[at].key == probe
	if ok != has || has && record != k.model[at].record {
		t.Fatalf("record of %q: %d, %v in %v", probe, record, ok, k.model)
	}
}

// A tree of keys is a sorted slice, whatever is done to it and to its copies.
func TestKeysModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trees := []keyed{{tree: NewKeys()}}
		small := rapid.Map(rapid.IntRange(0, 500), func(n int) string { return fmt.Sprintf("%03d", n) })
		large := rapid.Map(small, func(s string) string { return s + string(bytes.Repeat([]byte("x"), maxBytes/3)) })
		key := rapid.OneOf(small, small, small, large)
		record := rapid.Uint64Range(1, 3)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			k := &trees[rapid.IntRange(0, len(trees)-1).Draw(t, "tree")]
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				trees = append(trees, k.copy())
			case 1:
				k.set(key.Draw(t, "key"), record.Draw(t, "record"))
			case 2, 3:
				from, n := rapid.IntRange(0, 500).Draw(t, "from"), rapid.IntRange(1, 300).Draw(t, "n")
				for i := from; i < from+n; i++ {
					k.set(fmt.Sprintf("%03d", i*7%501), 1)
				}
			case 4:
				k.delete(key.Draw(t, "key"), record.Draw(t, "record"))
			case 5:
				from, n := rapid.IntRange(0, 500).Draw(t, "from"), rapid.IntRange(1, 300).Draw(t, "n")
				for i := from; i < from+n; i++ {
					k.delete(fmt.Sprintf("%03d", i), 1)
				}
			}
		}
		for i := range trees {
			trees[i].check(t, key.Draw(t, "probe"))
		}
	})
}

// Records are a map that is walked in order, whatever is done to them and to
// their copies.
func TestRecordsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type numbered struct {
			tree  Records[string]
			model map[uint64]string
		}
		trees := []*numbered{{model: map[uint64]string{}}}
		number := rapid.OneOf(rapid.Uint64Range(1, 200), rapid.Uint64Range(1, 1<<40))
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			n := trees[rapid.IntRange(0, len(trees)-1).Draw(t, "tree")]
			id := number.Draw(t, "record")
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				trees = append(trees, &numbered{n.tree.Copy(), maps.Clone(n.model)})
			case 1, 2, 3:
				n.tree.Set(id, fmt.Sprint(id, len(trees)))
				n.model[id] = fmt.Sprint(id, len(trees))
			case 4, 5:
				was, had := n.tree.Delete(id)
				if want, has := n.model[id]; had != has || was != want {
					t.Fatalf("deleted %q, want %q", was, want)
				}
				delete(n.model, id)
			}
		}
		probe := number.Draw(t, "probe")
		for _, n := range trees {
			if v, ok := n.tree.Get(probe); v != n.model[probe] || ok != (v != "") {
				t.Fatalf("%d: %q, want %q", probe, v, n.model[probe])
			}
			want := slices.Sorted(maps.Keys(n.model))
			var all, from, backward []uint64
			for id, v := range n.tree.All() {
				if v != n.model[id] {
					t.Fatalf("%d: %q, want %q", id, v, n.model[id])
				}
				all = append(all, id)
			}
			for id := range n.tree.From(probe) {
				from = append(from, id)
			}
			for id := range n.tree.Backward() {
				backward = append(backward, id)
			}
			slices.Reverse(backward)
			at, _ := slices.BinarySearch(want, probe)
			if n.tree.Len() != len(want) || !slices.Equal(all, want) || !slices.Equal(from, want[at:]) ||
				!slices.Equal(backward, want) {
				t.Fatalf("%d: all %v, from %v, backward %v, want %v", probe, all, from, backward, want)
			}
		}
	})
}

// A walk that ends early ends everywhere in the tree.
func TestWalksEnd(t *testing.T) {
	keys := NewKeys()
	var records Records[int]
	const n = 5 * maxEntries
	for i := range n {
		keys.Add(binary.BigEndian.AppendUint32(nil, uint32(i)), 1)
		records.Set(uint64(i), i)
	}
	for most := 1; most <= n; most += 7 {
		for name, walk := range map[string]func(yield func(uint64, []byte) bool){
			"forward": keys.All(), "backward": keys.Backward(),
		} {
			seen := 0
			for range walk {
				if seen++; seen == most {
					break
				}
			}
			if seen != most {
				t.Errorf("%s: %d entries, want %d", name, seen, most)
			}
		}
		for name, walk := range map[string]func(yield func(uint64, int) bool){
			"forward": records.All(), "backward": records.Backward(),
		} {
			seen := 0
			for range walk {
				if seen++; seen == most {
					break
				}
			}
			if seen != most {
				t.Errorf("records %s: %d, want %d", name, seen, most)
			}
		}
	}
}

// What a copy has handed out stays, whatever is written to the tree afterwards.
func TestKeysOfCopiesStay(t *testing.T) {
	keys := NewKeys()
	for i := range 1000 {
		keys.Add(fmt.Appendf(nil, "%04d", i), uint64(i+1))
	}
	var kept [][]byte
	for _, key := range keys.Copy().All() {
		kept = append(kept, key)
	}
	for i := range 1000 {
		keys.Delete(fmt.Appendf(nil, "%04d", i), uint64(i+1))
		keys.Add(fmt.Appendf(nil, "%04d", 999-i), 5000)
	}
	for i, key := range kept {
		if want := fmt.Sprintf("%04d", i); string(key) != want {
			t.Fatalf("key %d is %q", i, key)
		}
	}
}

// The last leaf does not keep the room of large keys that are long gone.
func TestRoomOfLargeKeysGoes(t *testing.T) {
	k := NewKeys()
	large := func(i byte) []byte { return append([]byte{0, i}, bytes.Repeat([]byte{1}, 1<<20)...) }
	small := func(i uint64) []byte { return binary.BigEndian.AppendUint64([]byte{1}, i) }
	for i := range byte(4) {
		k.Add(large(i), uint64(i))
	}
	k.Add(small(0), 0)
	for i := range byte(4) {
		k.Delete(large(i), uint64(i))
	}
	for i := range uint64(10_000) {
		k.Add(small(i+1), 0)
	}
	n := k.root
	for n.children != nil {
		n = n.children[len(n.children)-1]
	}
	if cap(n.data) > 4*maxBytes {
		t.Errorf("the last leaf has %d entries of %d bytes in room for %d", n.len(), len(n.data), cap(n.data))
	}
}

// Keys that come in order, from below or above, or at random, leave nodes that
// are not mostly empty.
func TestKeysAreDense(t *testing.T) {
	for name, number := range map[string]func(i int) uint32{
		"ascending": func(i int) uint32 { return uint32(i) }, "descending": func(i int) uint32 { return uint32(-i) },
		"scattered": func(i int) uint32 { return uint32(i) * 2654435761 },
	} {
		keys := NewKeys()
		const n = 20_000
		for i := range n {
			keys.Add(binary.BigEndian.AppendUint32(nil, number(i)), uint64(i+1))
		}
		if bytes := keys.root.bytes(); bytes > 40*n {
			t.Errorf("%s: %d bytes an entry of 12", name, bytes/n)
		}
	}
}

// bytes is what a node and those below it have set aside for entries.
func (n *node) bytes() int {
	sum := cap(n.data) + 4*cap(n.ends) + 8*cap(n.children)
	for _, c := range n.children {
		sum += c.bytes()
	}
	return sum
}
