package quota

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/value"
)

// StageMemory is how much a stage may keep: a server's 100 MiB, after which it
// goes to its disk or, if it can't or may not, gives up. The mock has no use
// for a disk: it keeps what would go there in memory as well, up to the budget
// of the process.
const StageMemory = 100 << 20

// Memory is what one stage keeps. It is given back when the pipeline ends, at
// the latest.
type Memory struct {
	Meter *Meter
	used  int64
	// Refuse returns the error of a stage that keeps too much; nil where it may.
	Refuse func(used int64) error
}

// ItemBytes is what a value or document takes besides its own bytes.
const ItemBytes = 40

// Keep notes that n bytes more are kept.
func (m *Memory) Keep(n int) error {
	m.used += int64(n)
	if m.used > StageMemory && m.Refuse != nil {
		if err := m.Refuse(m.used); err != nil {
			return err
		}
	}
	return m.Meter.Hold(n)
}

// Free gives all back.
func (m *Memory) Free() {
	m.Meter.Release(m.used)
	m.used = 0
}

// Drain reads a stream to its end, into a memory.
func (m *Memory) Drain(in Docs) ([]bson.Raw, error) {
	var all []bson.Raw
	for doc, err := range in {
		if err == nil {
			err = m.Keep(len(doc) + ItemBytes)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, doc)
	}
	return all, nil
}

// Values reads a stream into an array.
func (m *Memory) Values(in Docs) (value.Value, error) {
	all, err := m.Drain(in)
	if err != nil {
		return value.Value{}, err
	}
	list := make([]value.Value, len(all))
	for i, doc := range all {
		list[i] = value.Object(doc)
	}
	return document.Array(list), m.Meter.Step(len(list))
}
