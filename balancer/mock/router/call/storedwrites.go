package call

import (
	"crypto/sha256"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The cluster stores the results of retryable writes, so that a write whose reply was lost in a crash is
// not executed twice.

// storedWrites is the storage format of a session's newest retryable write.
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

// key returns the storage key of the writes of a session.
func (s SessionID) key() string { return string(s.ID[:]) + string(s.User[:]) }

// StoreWrites stores the results of a retryable command and deletes those of ended sessions.
func (n *Node) StoreWrites(c *Call) {
	for _, id := range n.Sessions.takeEnded() {
		n.Cluster.Storage().StoreRetryableWrite(id.key(), nil)
	}
	if c.TxnNumber == nil || !n.Cluster.Storage().CanStoreRetryableWrites() || c.Session.LastWrite == nil ||
		!c.Session.LastWrite.Unsaved {
		return
	}
	w := c.Session.LastWrite
	w.Unsaved = false
	kept := storedWrites{Number: w.Number, User: c.Session.user, Used: time.Now()}
	for id, o := range w.Outcomes {
		kept.Done = append(kept.Done, storedOutcome{id, o.Matched, o.Modified, o.Upserted, o.Removed, o.Reply})
	}
	raw, err := bson.Marshal(kept)
	if err != nil {
		n.Logger.Error("retryable write not stored", "error", err)
		return
	}
	n.Cluster.Storage().StoreRetryableWrite(c.LSID.key(), raw)
}

// RestoreWrites restores the results of a session's retryable write. It returns false if the session has
// expired.
func (n *Node) RestoreWrites(session string, raw bson.Raw) bool {
	var id SessionID
	var kept storedWrites
	if len(session) != len(id.ID)+sha256.Size || bson.Unmarshal(raw, &kept) != nil ||
		time.Since(kept.Used) > SessionTimeout {
		return false
	}
	copy(id.ID[:], session)
	copy(id.User[:], session[len(id.ID):])
	s, err := n.Sessions.Use(id, kept.User)
	if err != nil {
		return false
	}
	s.used = kept.Used
	s.LastWrite = &RetryableWrite{Number: kept.Number, Outcomes: map[int32]*Outcome{}}
	for _, o := range kept.Done {
		s.LastWrite.Outcomes[o.ID] = &Outcome{Matched: o.Matched, Modified: o.Modified, Upserted: o.Upserted,
			Removed: o.Removed,
			Reply:   o.Reply}
	}
	return true
}
