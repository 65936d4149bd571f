package plan

import (
	"encoding/json"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

// Plan is a sequence of steps to a goal. Equal Snapshots and options result in equal plans.
type Plan struct {
	// Format is the version of the plan's JSON form.
	Format int `json:"format"`
	// ID identifies the plan. It is a short string computed from all other fields except prose, so that
	// rewording a sentence does not change the ID.
	ID string `json:"id"`
	// Hash is the value that is approved: it changes with the ID, and it is not feasible to make
	// another plan with the same Hash. Plans of earlier versions have none.
	Hash string `json:"hash,omitzero"`
	// Basis is the state of the cluster for which the plan was made.
	Basis Basis `json:"basis"`
	Goal  Goal  `json:"goal"`
	// Undoes is the journal whose steps the goal Undo reverts.
	Undoes string `json:"undoes,omitzero"`
	// SizeModel is the name of the model of chunk contents from which sizes are computed. Seed is the seed
	// of its random choices.
	SizeModel string `json:"model"`
	Seed      uint64 `json:"seed,omitzero"`
	// Limits are the limits of the plan.
	Limits Limits `json:"limits,omitzero"`
	Steps  []Step `json:"steps"`
	// Shards contains what each shard had and will have, by id.
	Shards []ShardChange `json:"shards"`
	Totals Totals        `json:"totals"`
	// Load is the balance that the goal Load reaches; nil for other goals.
	Load *LoadImbalance `json:"load,omitzero"`
	// ReachesGoal says whether the goal is reached when all steps are done. If it is not, Left contains
	// what remains, with reasons.
	ReachesGoal bool                `json:"reached"`
	Left        []diagnosis.Finding `json:"left"`
	// Note says how certain the times of the steps are, and what may undo the steps; empty if there is
	// nothing to say.
	Note string `json:"note,omitzero"`
}

// Basis is the cluster for which a plan was made, in its state at that time.
type Basis struct {
	ClusterID bson.ObjectID `json:"clusterId,omitzero"`
	Source    string        `json:"source"` // without credentials
	Time      time.Time     `json:"time"`   // of the cluster
	Release   string        `json:"release"`
	// Hash changes with everything on which the plan depends.
	Hash        string            `json:"hash"`
	Collections []CollectionBasis `json:"collections"`
}

// CollectionBasis is a collection that the plan changes, in its state before the plan.
type CollectionBasis struct {
	Namespace string `json:"ns"`
	// UUID is written as hexadecimal digits in five groups.
	UUID string `json:"uuid"`
	// Key is the shard key pattern in canonical extended JSON.
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
	// Bytes and Documents are the moved amounts.
	Bytes     int64 `json:"bytes"`
	Documents int64 `json:"documents"`
	// Duration is the end of the last step, counted from the time of the basis.
	Duration time.Duration `json:"timeNanos"`
}

// ShardChange contains what a shard had and will have of the plan's collections.
type ShardChange struct {
	Shard  catalog.ShardID `json:"shard"`
	Before Holding         `json:"before"`
	After  Holding         `json:"after"`
}

// Holding is the amount that a shard has.
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
