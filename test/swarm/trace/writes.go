package trace

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/anishathalye/porcupine"
)

// counterInput is an operation on a key: an increment or a read.
type counterInput struct{ inc bool }

// counterOutput is the result: the read number, or unknown.
type counterOutput struct {
	number  int64
	unknown bool
}

// counter is a model of a number that increments and reads access in some sequential order.
var counter = porcupine.NondeterministicModel{
	Init: func() []any { return []any{int64(0)} },
	Step: func(state, input, output any) []any {
		number, out := state.(int64), output.(counterOutput)
		switch {
		case input.(counterInput).inc && out.unknown:
			return []any{number, number + 1}
		case input.(counterInput).inc:
			return []any{number + 1}
		case out.unknown || out.number == number:
			return []any{number}
		}
		return nil
	},
	Equal: func(a, b any) bool { return a == b },
}

// CheckWrites checks that no acknowledged write is lost or applied twice: the writers' operations on a
// key and their results are consistent with some sequential order. It also checks M9: no scan returns a
// key twice.
func CheckWrites(t Trace) (found []Violation) {
	histories := map[string]*writeHistory{}
	of := func(ns string) *writeHistory {
		if histories[ns] == nil {
			histories[ns] = &writeHistory{
				keys: map[int64][]porcupine.Operation{}, last: map[int64]int{}, open: map[int]Event{},
			}
		}
		return histories[ns]
	}
	for _, e := range t {
		switch e.Kind {
		case OpBegin:
			of(e.NS).open[e.Op] = e
		case OpEnd:
			found = append(found, of(e.NS).end(e)...)
		}
	}
	model := counter.ToModel()
	for _, ns := range slices.Sorted(maps.Keys(histories)) {
		h := histories[ns]
		h.addUnanswered()
		for _, key := range slices.Sorted(maps.Keys(h.keys)) {
			if !porcupine.CheckOperations(model, h.keys[key]) {
				text := fmt.Sprintf("%s: no sequential order explains the operations on key %d", ns, key)
				found = append(found, Violation{"writes", text, []int{h.last[key]}})
			}
		}
	}
	return found
}

// writeHistory is the history of the writers' operations on a collection.
type writeHistory struct {
	keys map[int64][]porcupine.Operation
	last map[int64]int // the event that ended the last operation on a key
	open map[int]Event // by Op
}

func (h *writeHistory) end(e Event) (found []Violation) {
	begin, known := h.open[e.Op]
	if !known {
		return nil
	}
	delete(h.open, e.Op)
	if begin.Cmd != "scan" {
		h.add(begin, e.Seq, begin.Key, e.Number, e.Code != 0 || e.ReplyLost)
		return nil
	}
	if e.Code != 0 || e.ReplyLost {
		return nil
	}
	seen := map[int64]int64{}
	for _, row := range e.Rows {
		if _, twice := seen[row.Key]; twice {
			found = append(found, Violation{
				"M9", fmt.Sprintf("%s: a scan returned key %d twice", e.NS, row.Key),
				[]int{e.Seq},
			})
		}
		seen[row.Key] = row.Increments
	}
	for key := range h.keys {
		if _, ok := seen[key]; !ok {
			seen[key] = 0
		}
	}
	for key, number := range seen { // also of a key that nobody has written, as far as is known yet
		h.add(begin, e.Seq, key, number, false)
	}
	return found
}

func (h *writeHistory) add(begin Event, end int, key, number int64, unknown bool) {
	if unknown && begin.Cmd != "inc" {
		return
	}
	returned := int64(end)
	if unknown {
		returned = math.MaxInt64
	}
	h.last[key] = max(h.last[key], end)
	h.keys[key] = append(h.keys[key], porcupine.Operation{
		Input: counterInput{begin.Cmd == "inc"}, Output: counterOutput{number, unknown},
		Call: int64(begin.Seq), Return: returned,
	})
}

// addUnanswered records operations without a reply as unknown.
func (h *writeHistory) addUnanswered() {
	for _, e := range h.open {
		h.add(e, 0, e.Key, 0, true)
	}
}
