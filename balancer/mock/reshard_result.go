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
func (c *Cluster) ended(plan reshardPlan) (quiesced, bool) {
	kept, ok := c.quiesced[plan.Namespace]
	return kept, ok && plan.UserID != nil && plan.UserID.Equal(*kept.op.request.UserID)
}

// quiesce keeps the result of an operation for a while, or until the next one
// of the collection begins. Its document shows it.
func (c *Cluster) quiesce(op *resharding, err error) {
	c.quiesced[op.request.Namespace] = quiesced{op, err}
	c.after(quiescePeriod, func() {
		if c.quiesced[op.request.Namespace].op == op {
			c.endQuiesce(op.request.Namespace)
		}
	})
}

func (c *Cluster) endQuiesce(ns string) {
	kept, ok := c.quiesced[ns]
	if !ok {
		return
	}
	delete(c.quiesced, ns)
	if docs, record, ok := c.reshardingRecord(kept.op); ok {
		docs.Delete(record)
	}
	c.logTransition(kept.op, reshardDone)
}

// userUUID reads the UUID of a user's request; nil without one.
func userUUID(data []byte) *bson.Binary {
	if data == nil {
		return nil
	}
	return &bson.Binary{Subtype: bson.TypeBinaryUUID, Data: data}
}
