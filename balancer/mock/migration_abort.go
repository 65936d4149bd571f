package mock

import "shardsh/balancer/mongoerr"

// abort ends the migrations of a collection that copy documents just
// now: an index that is made or dropped meanwhile would be missed on the
// recipient, and disallowing migrations goes the same way (spec 02 §8,
// countDonorMoveChunkAbortConflictingIndexOperation).
// One that is committed stays so.
func (ms *Migrations) abort(ns string) {
	for _, m := range ms.byDonor() {
		if m.req.Namespace == ns && m.cloning {
			m.donor.counters.donorAbortedByIndex++
			m.fail(mongoerr.New(mongoerr.Interrupted, "operation was interrupted: the collection's indexes change, or its migrations are not allowed any more"))
		}
	}
}
