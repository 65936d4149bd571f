package mock

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// quiescePeriod is how long the result of a resharding is kept that was asked
// for with a UUID of the user's (spec 03 §1.4).
const quiescePeriod = 15 * time.Minute

// quiesced is a resharding that has ended and whose result is kept: the same
// request gets it again.
type quiesced struct {
	op  *resharding
	err error
}

// ended is the resharding with this UUID, if there was one of late.
func (rs *Reshardings) ended(plan reshardPlan) (quiesced, bool) {
	kept, ok := rs.results[plan.Namespace]
	return kept, ok && plan.UserID != nil && plan.UserID.Equal(*kept.op.request.UserID)
}

// keepResult keeps the result of an operation for a while, or until the next one
// of the collection begins. Its document shows it.
func (op *resharding) keepResult(err error) {
	op.c.reshardings.results[op.request.Namespace] = quiesced{op, err}
	op.c.after(quiescePeriod, func() {
		if op.c.reshardings.results[op.request.Namespace].op == op {
			op.c.reshardings.dropResult(op.request.Namespace)
		}
	})
}

func (rs *Reshardings) dropResult(ns string) {
	kept, ok := rs.results[ns]
	if !ok {
		return
	}
	delete(rs.results, ns)
	if docs, record, ok := kept.op.record(); ok {
		docs.Delete(record)
	}
	kept.op.logTransition(reshardDone)
}

// userUUID reads the UUID of a user's request; nil without one.
func userUUID(data []byte) *bson.Binary {
	if data == nil {
		return nil
	}
	return &bson.Binary{Subtype: bson.TypeBinaryUUID, Data: data}
}
