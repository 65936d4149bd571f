package pipeline

import (
	"context"

	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mongoerr"
)

// stageMemory returns the memory account of a stage that may spill to disk on a server.
func (e *execution) stageMemory(limitErr func(used int64) error) *quota.Memory {
	if !e.env.NoDisk {
		limitErr = nil
	}
	return &quota.Memory{Meter: e.meter, LimitErr: limitErr}
}

func errSortTooLarge(int64) error {
	return servererr.New(mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed, "Sort exceeded memory limit of %d bytes, but "+
		"did not opt in to external sorting. Aborting operation. Pass allowDiskUse:true to opt in.", quota.StageMemory)
}

func errGroupTooLarge(int64) error {
	return servererr.New(mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed,
		"Exceeded memory limit for $group, but didn't allow external sort. Pass allowDiskUse:true to opt in.")
}

func errWindowsTooLarge(used int64) error {
	return servererr.NewCode(5414201,
		"Exceeded memory limit in DocumentSourceSetWindowFields, used %d bytes but max allowed is %d",
		used, quota.StageMemory)
}

func errFacetTooLarge(used int64) error {
	return servererr.NewCode(4031700, "document constructed by $facet is %d bytes, which exceeds the limit of %d bytes",
		used, quota.StageMemory)
}

func errGraphTooLarge(int64) error {
	return servererr.NewCode(40099, "$graphLookup reached maximum memory consumption")
}

// errJoinTooLarge returns the error for too many documents that $lookup finds for one document.
func errJoinTooLarge(from string) func(int64) error {
	return func(int64) error {
		return servererr.NewCode(4568, "Total size of documents in %s matching pipeline's $lookup stage exceeds %d bytes",
			from, quota.StageMemory)
	}
}

// NewSortMemory returns the memory account of a sort. It charges the account of a context, and applies
// the server's limit if disk use is not allowed.
func NewSortMemory(ctx context.Context, noDisk bool) *quota.Memory {
	held := &quota.Memory{Meter: quota.New(ctx)}
	if noDisk {
		held.LimitErr = errSortTooLarge
	}
	return held
}
