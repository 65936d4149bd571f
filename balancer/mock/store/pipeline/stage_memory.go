package pipeline

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mongoerr"
)

// spilling is the memory of a stage that a server lets go to its disk.
func (r *execution) spilling(refuse func(used int64) error) *quota.Memory {
	if !r.env.NoDisk {
		refuse = nil
	}
	return &quota.Memory{Meter: r.meter, Refuse: refuse}
}

func sortTooLarge(int64) error {
	return servererr.New(mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed, "Sort exceeded memory limit of %d bytes, but "+
		"did not opt in to external sorting. Aborting operation. Pass allowDiskUse:true to opt in.", quota.StageMemory)
}

func groupTooLarge(int64) error {
	return servererr.New(mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed,
		"Exceeded memory limit for $group, but didn't allow external sort. Pass allowDiskUse:true to opt in.")
}

func windowsTooLarge(used int64) error {
	return servererr.Of(5414201,
		"Exceeded memory limit in DocumentSourceSetWindowFields, used %d bytes but max allowed is %d",
		used, quota.StageMemory)
}

func facetTooLarge(used int64) error {
	return servererr.Of(4031700, "document constructed by $facet is %d bytes, which exceeds the limit of %d bytes", used,
		quota.StageMemory)
}

func graphTooLarge(int64) error {
	return servererr.Of(40099, "$graphLookup reached maximum memory consumption")
}

// joinTooLarge is about the documents that $lookup finds for one.
func joinTooLarge(from string) func(int64) error {
	return func(int64) error {
		return servererr.Of(4568, "Total size of documents in %s matching pipeline's $lookup stage exceeds %d bytes", from,
			quota.StageMemory)
	}
}

// Gathered counts what a sort keeps of documents before it can give the first:
// to the account of a context, and up to a server's limit where there is no disk
// to go to.
type Gathered struct{ held quota.Memory }

// NewGathered begins with nothing.
func NewGathered(ctx context.Context, noDisk bool) *Gathered {
	g := &Gathered{quota.Memory{Meter: quota.New(ctx)}}
	if noDisk {
		g.held.Refuse = sortTooLarge
	}
	return g
}

// Add counts a document more.
func (g *Gathered) Add(doc bson.Raw) error { return g.held.Keep(len(doc) + quota.ItemBytes) }

// Free gives all back.
func (g *Gathered) Free() { g.held.Free() }
