package router

import (
	"crypto/sha256"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The cluster keeps what retryable writes have done, so that one whose reply was lost
// with the process is not done twice.

// storedWrites is a session's newest retryable write.
type storedWrites struct {
	Number int64           `bson:"number"`
	User   string          `bson:"user"`
	Used   time.Time       `bson:"used"`
	Done   []storedOutcome `bson:"done"`
}

type storedOutcome struct {
	ID       int32         `bson:"id"`
	Matched  int           `bson:"matched"`
	Modified int           `bson:"modified"`
	Upserted bson.RawValue `bson:"upserted,omitempty"`
	Removed  bool          `bson:"removed,omitempty"`
	Reply    bson.D        `bson:"reply,omitempty"`
}

// key is what the cluster keeps the writes of a session under.
func (s sessionID) key() string { return string(s.id[:]) + string(s.user[:]) }

// storeWrites keeps what a retryable command has done, and nothing more of
// sessions that have ended.
func (n *node) storeWrites(c *call) {
	for _, id := range n.sessions.takeOver() {
		n.cluster.KeepWrite(id.key(), nil)
	}
	if c.txnNumber == nil || !n.cluster.KeepsWrites() || c.session.writes == nil || !c.session.writes.fresh {
		return
	}
	w := c.session.writes
	w.fresh = false
	kept := storedWrites{Number: w.number, User: c.session.user, Used: time.Now()}
	for id, o := range w.done {
		kept.Done = append(kept.Done, storedOutcome{id, o.matched, o.modified, o.upserted, o.removed, o.reply})
	}
	raw, err := bson.Marshal(kept)
	if err != nil {
		n.logger.Error("retryable write not kept", "error", err)
		return
	}
	n.cluster.KeepWrite(c.lsid.key(), raw)
}

// restoreWrites is false for a session that is over.
func (n *node) restoreWrites(session string, raw bson.Raw) bool {
	var id sessionID
	var kept storedWrites
	if len(session) != len(id.id)+sha256.Size || bson.Unmarshal(raw, &kept) != nil || time.Since(kept.Used) > sessionLife {
		return false
	}
	copy(id.id[:], session)
	copy(id.user[:], session[len(id.id):])
	s, err := n.sessions.use(id, kept.User)
	if err != nil {
		return false
	}
	s.used = kept.Used
	s.writes = &retryableWrite{number: kept.Number, done: map[int32]*outcome{}}
	for _, o := range kept.Done {
		s.writes.done[o.ID] = &outcome{matched: o.Matched, modified: o.Modified, upserted: o.Upserted, removed: o.Removed,
			reply: o.Reply}
	}
	return true
}
