package check

import (
	"encoding/json"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

// reportJSON is the JSON form of a Report.
type reportJSON struct {
	OK      bool   `json:"ok"`
	Status  Status `json:"status"`
	Address string `json:"address"`
	// Cluster and Labels are set for the clusters of a fleet.
	Cluster string            `json:"cluster,omitzero"`
	Labels  map[string]string `json:"labels,omitzero"`
	Error   *ReadFailure      `json:"error,omitempty"`
	*resultJSON
}

type resultJSON struct {
	ClusterID bson.ObjectID `json:"clusterId,omitzero"`
	Source    string        `json:"source"`
	Version   string        `json:"version"`
	Time      time.Time     `json:"time"`
	FailOn    string        `json:"failOn"`
	Allow     []AllowedWork `json:"allow,omitempty"`
	Compliant bool          `json:"compliant"`
	Rules     []ruleJSON    `json:"rules"`
	Findings  []findingJSON `json:"findings"`
	Colls     []collJSON    `json:"collections"`
	Shards    []shardJSON   `json:"shards"`
}

type ruleJSON struct {
	Name     string    `json:"name"`
	About    string    `json:"about"`
	Status   Status    `json:"status"`
	Severity string    `json:"severity"`
	Max      *Quantity `json:"max,omitempty"`
}

type findingJSON struct {
	Rule     string          `json:"rule"`
	Severity string          `json:"severity"`
	Fails    bool            `json:"fails"`
	Unknown  bool            `json:"unknown,omitempty"`
	Excuse   string          `json:"excuse,omitempty"`
	About    diagnosis.Scope `json:"about"`
	Number   *Quantity       `json:"number,omitempty"`
	Max      *Quantity       `json:"max,omitempty"`
	Sentence string          `json:"sentence"`
	Since    time.Time       `json:"since,omitzero"`
	Commands []string        `json:"commands,omitempty"`
}

// collJSON begins with the fields of the first version of the JSON document.
type collJSON struct {
	Namespace   string      `json:"ns"`
	Compliant   bool        `json:"compliant"`
	Known       bool        `json:"known"`
	Violation   string      `json:"violation,omitempty"`
	Reason      string      `json:"reason,omitempty"`
	ChunkSizeMB float64     `json:"chunkSizeMB,omitempty"`
	NoBalance   bool        `json:"balancingDisabled,omitempty"`
	Chunks      int64       `json:"chunks"`
	Jumbo       int64       `json:"jumboChunks"`
	Shards      []shareJSON `json:"shards,omitempty"`
}

// shareJSON is a shard's part of a collection. The deviation is measured from the shard's fair share.
type shareJSON struct {
	Shard     catalog.ShardID `json:"shard"`
	Chunks    int64           `json:"chunks"`
	Bytes     *int64          `json:"bytes,omitempty"`
	Documents *int64          `json:"documents,omitempty"`
	Orphans   *int64          `json:"orphans,omitempty"`
	FairShare *float64        `json:"fairShareBytes,omitempty"`
	Deviation *float64        `json:"deviationPercent,omitempty"`
}

type shardJSON struct {
	Shard       catalog.ShardID `json:"shard"`
	Draining    bool            `json:"draining,omitempty"`
	Unreachable string          `json:"unreachable,omitempty"`
	Chunks      int64           `json:"chunks"`
	Bytes       *int64          `json:"bytes,omitempty"`
}

// MarshalJSON returns the report as an object. If the cluster could not be reached, the object
// describes the error.
func (r Report) MarshalJSON() ([]byte, error) {
	doc := reportJSON{OK: r.Status() == Passed, Status: r.Status(), Address: r.Address,
		Cluster: r.Cluster, Labels: r.Labels}
	if r.Result == nil {
		doc.Error = &r.Failure
	} else {
		doc.resultJSON = r.Result.toJSON()
	}
	return json.Marshal(doc)
}

func (r *Result) toJSON() *resultJSON {
	p := r.Parts()
	form := &resultJSON{
		ClusterID: p.ClusterID, Source: string(p.Source.Kind), Version: p.Version, Time: p.Time,
		FailOn: r.Policy.FailOn.String(), Allow: r.Policy.Allow, Compliant: true,
		Rules: []ruleJSON{}, Findings: []findingJSON{}, Colls: []collJSON{}, Shards: []shardJSON{},
	}
	limits := map[string]*Quantity{}
	for _, c := range r.Policy.Choices {
		if !c.On {
			continue
		}
		if len(c.Units) > 0 {
			limits[c.Name] = &c.Max
		}
		form.Rules = append(form.Rules,
			ruleJSON{c.Name, c.Description, r.RuleStatus(c.Name), c.Severity.String(), limits[c.Name]})
	}
	for _, f := range r.Findings {
		form.Findings = append(form.Findings, findingJSON{
			f.Rule, f.Severity.String(), f.Fails(r.Policy.FailOn), f.Unknown, f.Excuse, f.About, f.Number, limits[f.Rule],
			f.Sentence, f.Since, f.Commands,
		})
	}
	for _, b := range r.CoveredBalances() {
		form.Colls = append(form.Colls, r.collectionToJSON(b))
		form.Compliant = form.Compliant && b.Balanced
	}
	for _, shard := range r.Shards() {
		form.Shards = append(form.Shards, r.shardToJSON(shard))
	}
	return form
}

func (r *Result) collectionToJSON(b diagnosis.Balance) collJSON {
	c := r.Collection(b.Namespace)
	n := c.Count()
	form := collJSON{
		Namespace: b.Namespace, Compliant: b.Balanced, Known: b.Known, Violation: b.Violation, Reason: b.Reason,
		ChunkSizeMB: b.ChunkSizeMB, NoBalance: b.DisabledBy == diagnosis.DisabledNoBalance, Chunks: n.Chunks, Jumbo: n.Jumbo,
	}
	shares := map[catalog.ShardID]Deviation{}
	for _, d := range Deviations(r.Snapshot, c) {
		shares[d.Shard] = d
	}
	for _, shard := range r.Shards() {
		share := shareJSON{Shard: shard.ID, Chunks: c.CountOn(shard.ID).Chunks}
		data, told := c.Sizes[shard.ID]
		if told {
			share.Bytes, share.Documents, share.Orphans = &data.Bytes, &data.Documents, &data.Orphans
		}
		d, fair := shares[shard.ID]
		if fair {
			share.FairShare, share.Deviation = &d.ShareBytes, &d.ExcessPercent
		}
		if told || fair || share.Chunks > 0 {
			form.Shards = append(form.Shards, share)
		}
	}
	return form
}

func (r *Result) shardToJSON(s catalog.ShardState) shardJSON {
	form := shardJSON{Shard: s.ID, Draining: s.Draining, Unreachable: s.Unreachable}
	for _, c := range diagnosis.Sharded(r.Snapshot) {
		form.Chunks += c.CountOn(s.ID).Chunks
		if data, told := c.Sizes[s.ID]; told {
			if form.Bytes == nil {
				form.Bytes = new(int64)
			}
			*form.Bytes += data.Bytes
		}
	}
	return form
}
