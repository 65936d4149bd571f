package plan

import (
	"encoding/json"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

// Plan is a sequence of steps to a goal. Equal Snapshots and options make equal
// plans.
type Plan struct {
	// Format is the version of the plan's form in JSON.
	Format int `json:"format"`
	// ID names the plan: a short text that is computed from all the rest but for
	// prose, so that rewording a sentence names no plan again.
	ID string `json:"id"`
	// Hash is what is approved: it changes when the ID does, and nobody can make another
	// plan with it. Plans of earlier versions have none.
	Hash string `json:"hash,omitzero"`
	// Basis is what it was made for.
	Basis Basis `json:"basis"`
	Goal  Goal  `json:"goal"`
	// Undoes is the journal of an applying that the goal Undo takes back.
	Undoes string `json:"undoes,omitzero"`
	// Model names the model of chunk contents that sizes come from, Seed is that of
	// its lots.
	Model string `json:"model"`
	Seed  uint64 `json:"seed,omitzero"`
	// Limits are the bounds it was asked to keep.
	Limits Limits `json:"limits,omitzero"`
	Steps  []Step `json:"steps"`
	// Shards are what each shard had and will have, by id.
	Shards []ShardChange `json:"shards"`
	Totals Totals        `json:"totals"`
	// Load is how even the goal Load makes it; nil for others.
	Load *Evenness `json:"load,omitzero"`
	// Reached tells whether the goal is reached when all steps are done; where it
	// is not, Left says what stays, and why.
	Reached bool                `json:"reached"`
	Left    []diagnosis.Finding `json:"left"`
	// Note says what the times of the steps leave open, and what may undo them; empty for
	// nothing.
	Note string `json:"note,omitzero"`
}

// Basis is the cluster that a plan was made for, and the state it was in.
type Basis struct {
	ClusterID bson.ObjectID `json:"clusterId,omitzero"`
	Source    string        `json:"source"` // without credentials
	Time      time.Time     `json:"time"`   // the cluster's
	Release   string        `json:"release"`
	// Hash changes when anything does that the plan depends on.
	Hash        string            `json:"hash"`
	Collections []CollectionBasis `json:"collections"`
}

// CollectionBasis is a collection that the plan changes, as it was.
type CollectionBasis struct {
	Namespace string `json:"ns"`
	// UUID is in hexadecimal digits in five groups.
	UUID string `json:"uuid"`
	// Key is the pattern of the shard key as canonical extended JSON.
	Key     json.RawMessage      `json:"key"`
	Version catalog.ChunkVersion `json:"version"`
	Chunks  int                  `json:"chunks"`
}

// Totals are the sums over all steps.
type Totals struct {
	Rounds int `json:"rounds"`
	Moves  int `json:"moves"`
	Splits int `json:"splits"`
	Merges int `json:"merges"`
	// Bytes and Documents move.
	Bytes     int64 `json:"bytes"`
	Documents int64 `json:"documents"`
	// Time is when the last step has ended, counted from the time of the basis.
	Time time.Duration `json:"timeNanos"`
}

// ShardChange is what a shard had and will have of the collections that the plan
// is about.
type ShardChange struct {
	Shard  catalog.ShardID `json:"shard"`
	Before Holding         `json:"before"`
	After  Holding         `json:"after"`
}

// Holding is what a shard has.
type Holding struct {
	Chunks int64 `json:"chunks"`
	Bytes  int64 `json:"bytes"`
}

// addNote adds to the note.
func (p *Plan) addNote(text string) {
	if p.Note != "" {
		p.Note += "; "
	}
	p.Note += text
}
