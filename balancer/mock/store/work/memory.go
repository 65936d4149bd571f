package store

import "go.mongodb.org/mongo-driver/v2/bson"

// stageMemory is how much a stage may keep: a server's 100 MiB, after which it
// goes to its disk or, if it can't or may not, gives up. The mock has no use
// for a disk: it keeps what would go there in memory as well, up to the budget
// of the process.
const stageMemory = 100 << 20

// memory is what one stage keeps. It is given back when the pipeline ends, at
// the latest.
type memory struct {
	work *work
	used int64
	// refuse returns the error of a stage that keeps too much; nil where it may.
	refuse func(used int64) error
}

// itemBytes is what a value or document takes besides its own bytes.
const itemBytes = 40

// keep notes that n bytes more are kept.
func (m *memory) keep(n int) error {
	m.used += int64(n)
	if m.used > stageMemory && m.refuse != nil {
		if err := m.refuse(m.used); err != nil {
			return err
		}
	}
	return m.work.hold(n)
}

// free gives all back.
func (m *memory) free() {
	m.work.release(m.used)
	m.used = 0
}

// drain reads a stream to its end, into a memory.
func (m *memory) drain(in docs) ([]bson.Raw, error) {
	var all []bson.Raw
	for doc, err := range in {
		if err == nil {
			err = m.keep(len(doc) + itemBytes)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, doc)
	}
	return all, nil
}

// values reads a stream into an array.
func (m *memory) values(in docs) (value, error) {
	all, err := m.drain(in)
	if err != nil {
		return value{}, err
	}
	list := make([]value, len(all))
	for i, doc := range all {
		list[i] = objectValue(doc)
	}
	return arrayOf(list), m.work.step(len(list))
}
