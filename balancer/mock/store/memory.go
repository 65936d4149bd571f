package store

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

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

// spilling is the memory of a stage that a server lets go to its disk.
func (r *execution) spilling(refuse func(used int64) error) *memory {
	if !r.env.NoDisk {
		refuse = nil
	}
	return &memory{work: r.work, refuse: refuse}
}

func sortTooLarge(int64) error {
	return serverError(mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed, "Sort exceeded memory limit of %d bytes, but "+
		"did not opt in to external sorting. Aborting operation. Pass allowDiskUse:true to opt in.", stageMemory)
}

func groupTooLarge(int64) error {
	return serverError(mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed,
		"Exceeded memory limit for $group, but didn't allow external sort. Pass allowDiskUse:true to opt in.")
}

func windowsTooLarge(used int64) error {
	return fail(5414201, "Exceeded memory limit in DocumentSourceSetWindowFields, used %d bytes but max allowed is %d",
		used, stageMemory)
}

func facetTooLarge(used int64) error {
	return fail(4031700, "document constructed by $facet is %d bytes, which exceeds the limit of %d bytes", used,
		stageMemory)
}

func graphTooLarge(int64) error {
	return fail(40099, "$graphLookup reached maximum memory consumption")
}

// joinTooLarge is about the documents that $lookup finds for one.
func joinTooLarge(from string) func(int64) error {
	return func(int64) error {
		return fail(4568, "Total size of documents in %s matching pipeline's $lookup stage exceeds %d bytes", from,
			stageMemory)
	}
}

func accumulatorTooLarge(op string) error {
	return serverError(mongoerr.ExceededMemoryLimit,
		"%s used too much memory and cannot spill to disk. Memory limit: %d bytes", op, stageMemory)
}

// Gathered counts what a sort keeps of documents before it can give the first:
// to the account of a context, and up to a server's limit where there is no disk
// to go to.
type Gathered struct{ held memory }

// NewGathered begins with nothing.
func NewGathered(ctx context.Context, noDisk bool) *Gathered {
	g := &Gathered{memory{work: newWork(ctx)}}
	if noDisk {
		g.held.refuse = sortTooLarge
	}
	return g
}

// Add counts a document more.
func (g *Gathered) Add(doc bson.Raw) error { return g.held.keep(len(doc) + itemBytes) }

// Free gives all back.
func (g *Gathered) Free() { g.held.free() }

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
