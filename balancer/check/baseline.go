package check

import (
	"encoding/json"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/diagnosis"
)

// Baseline holds the findings of earlier checks.
type Baseline struct{ clusters []baselineJSON }

type baselineJSON struct {
	Address   string        `json:"address"`
	ClusterID bson.ObjectID `json:"clusterId"`
	Findings  []struct {
		Rule     string          `json:"rule"`
		Severity string          `json:"severity"`
		Unknown  bool            `json:"unknown"`
		About    json.RawMessage `json:"about"`
		Number   *Quantity       `json:"number"`
	} `json:"findings"`
}

// ParseBaseline reads the JSON output of a check: one document, or an array of documents.
func ParseBaseline(data []byte) (*Baseline, error) {
	var b Baseline
	var one baselineJSON
	err := json.Unmarshal(data, &b.clusters)
	if err != nil {
		err = json.Unmarshal(data, &one)
		b.clusters = []baselineJSON{one}
	}
	if err != nil {
		return nil, errors.New("not the output of check --json: " + err.Error())
	}
	if len(b.clusters) == 0 {
		b.clusters = make([]baselineJSON, 1)
	}
	for _, c := range b.clusters {
		if c.Address == "" && c.ClusterID.IsZero() {
			return nil, errors.New("not the output of check --json: it names no cluster")
		}
	}
	return &b, nil
}

// excuseKnown excuses findings that are in the baseline and no worse now. Clusters are matched by id,
// or by address where a document has no id.
func (b *Baseline) excuseKnown(r Report) {
	if b == nil || r.Result == nil {
		return
	}
	for _, c := range b.clusters {
		if id := r.Result.Parts().ClusterID; c.ClusterID != id || id.IsZero() && c.Address != r.Address {
			continue
		}
		for i := range r.Result.Findings {
			if f := &r.Result.Findings[i]; !f.Unknown && f.Excuse == "" && c.hasFinding(*f) {
				f.Excuse = "as in the baseline"
			}
		}
	}
}

// hasFinding reports whether the baseline has the same finding with the same or a higher severity. That it was not
// known then whether the rule was violated excuses nothing.
func (b baselineJSON) hasFinding(f Finding) bool {
	about, err := json.Marshal(f.About)
	if err != nil {
		return false
	}
	for _, then := range b.Findings {
		severity, err := ParseSeverity(then.Severity)
		if err != nil || then.Unknown || then.Rule != f.Rule || string(compactScope(then.About)) != string(about) ||
			severity < f.Severity {
			continue
		}
		if f.Number == nil || then.Number != nil && then.Number.Unit == f.Number.Unit && then.Number.Value >= f.Number.Value {
			return true
		}
	}
	return false
}

// compactScope converts a scope to the compact JSON form that this package writes.
func compactScope(about json.RawMessage) []byte {
	var scope diagnosis.Scope
	if err := json.Unmarshal(about, &scope); err != nil {
		return nil
	}
	text, err := json.Marshal(scope)
	if err != nil {
		return nil
	}
	return text
}
