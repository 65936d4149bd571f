package quota

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/value"
)

// StageMemory is a server's memory limit of a stage, 100 MiB. Above it a stage spills to disk, or fails
// if it cannot or must not spill. The mock keeps spilled data in memory, too, up to the budget of the
// process.
const StageMemory = 100 << 20

// Memory is the memory account of one stage. It is released at the end of the pipeline at the latest.
type Memory struct {
	Meter *Meter
	used  int64
	// LimitErr returns the error of a stage above its limit; nil if it has no limit.
	LimitErr func(used int64) error
}

// ItemOverheadBytes is the memory of a value or document besides its own bytes.
const ItemOverheadBytes = 40

// Hold charges n more bytes. It fails if the stage exceeds its limit.
func (m *Memory) Hold(n int) error {
	m.used += int64(n)
	if m.used > StageMemory && m.LimitErr != nil {
		if err := m.LimitErr(m.used); err != nil {
			return err
		}
	}
	return m.Meter.Hold(n)
}

// Release releases all memory of the stage.
func (m *Memory) Release() {
	m.Meter.Release(m.used)
	m.used = 0
}

// ReadAll reads a stream to its end and charges the memory of the documents.
func (m *Memory) ReadAll(in Docs) ([]bson.Raw, error) {
	var all []bson.Raw
	for doc, err := range in {
		if err == nil {
			err = m.Hold(len(doc) + ItemOverheadBytes)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, doc)
	}
	return all, nil
}

// ReadAllToArray reads a stream into an array.
func (m *Memory) ReadAllToArray(in Docs) (value.Value, error) {
	all, err := m.ReadAll(in)
	if err != nil {
		return value.Value{}, err
	}
	list := make([]value.Value, len(all))
	for i, doc := range all {
		list[i] = value.Object(doc)
	}
	return document.Array(list), m.Meter.Charge(len(list))
}
