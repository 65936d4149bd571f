package diagnosis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"shardsh/balancer/catalog"
)

// findingJSON is the JSON form of a finding.
type findingJSON struct {
	Code     Code      `json:"code"`
	Severity string    `json:"severity"`
	Actor    string    `json:"actor"`
	About    Scope     `json:"about"`
	Sentence string    `json:"sentence"`
	Since    time.Time `json:"since,omitzero"`
	Due      time.Time `json:"due,omitzero"`
	Numbers  []Number  `json:"numbers,omitempty"`
	Commands []string  `json:"commands,omitempty"`
	Instead  []string  `json:"instead,omitempty"`
	Remedy   string    `json:"remedy"`
}

// MarshalJSON returns the finding as an object, with the remedy of its code.
func (f Finding) MarshalJSON() ([]byte, error) {
	return json.Marshal(findingJSON{
		f.Code, f.Severity.String(), f.Actor.String(), f.Scope, f.Sentence, f.Since, f.BalancerActsAt, f.Numbers, f.Commands,
		f.InsteadOfWaiting,
		DefinitionOf(f.Code).Remedy,
	})
}

// MarshalJSON returns the answer as an object. Empty lists are present as empty arrays.
func (a Answer) MarshalJSON() ([]byte, error) { return json.Marshal(a.toJSON()) }

type answerJSON struct {
	Headline    string    `json:"headline"`
	Healthy     bool      `json:"healthy"`
	Time        time.Time `json:"time,omitzero"`
	About       Scope     `json:"about"`
	Symptoms    []Finding `json:"symptoms"`
	Causes      []Finding `json:"causes"`
	Notes       []Finding `json:"notes"`
	KnownFaults []Finding `json:"knownFaults,omitempty"`
	Spreads     []Spread  `json:"spreads,omitempty"`
}

func (a Answer) toJSON() answerJSON {
	list := func(of []Finding) []Finding { return append([]Finding{}, of...) }
	return answerJSON{
		a.Headline(), a.Healthy(), a.Time, a.About, list(a.Symptoms), list(a.Causes), list(a.Notes), a.KnownFaults, a.Spreads,
	}
}

type chunkAnswerJSON struct {
	answerJSON
	Chunk     catalog.Chunk      `json:"chunk"`
	Zone      string             `json:"zone,omitempty"`
	Decisions []decisionJSON     `json:"decisions"`
	Verdicts  []RecipientVerdict `json:"verdicts"`
}

type decisionJSON struct {
	Code      Code            `json:"code"`
	Chosen    bool            `json:"chosen"`
	Shard     catalog.ShardID `json:"shard,omitempty"`
	Recipient catalog.ShardID `json:"recipient,omitempty"`
	Zone      string          `json:"zone,omitempty"`
	Sentence  string          `json:"sentence"`
}

// MarshalJSON returns the answer as an object: the fields of the collection's answer, and those of the
// chunk.
func (a ChunkAnswer) MarshalJSON() ([]byte, error) {
	form := chunkAnswerJSON{a.toJSON(), a.Chunk, a.Zone, []decisionJSON{}, a.Verdicts}
	form.Headline = a.Headline()
	for _, d := range a.Decisions {
		form.Decisions = append(form.Decisions,
			decisionJSON{d.Code, d.IsChosen(), d.Shard, d.Recipient, d.Zone, d.Text()})
	}
	return json.Marshal(form)
}

// UnmarshalJSON reads the output of MarshalJSON. The remedy is taken from the definition of the code.
func (f *Finding) UnmarshalJSON(data []byte) error {
	var form findingJSON
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&form); err != nil {
		return err
	}
	next := Finding{
		Code: form.Code, Scope: form.About, Sentence: form.Sentence, Since: form.Since, BalancerActsAt: form.Due,
		Numbers: form.Numbers, Commands: form.Commands, InsteadOfWaiting: form.Instead,
	}
	for s := Info; s <= Critical && next.Severity == 0; s++ {
		if s.String() == form.Severity {
			next.Severity = s
		}
	}
	for a := Nobody; a <= Operator && next.Actor == 0; a++ {
		if a.String() == form.Actor {
			next.Actor = a
		}
	}
	if next.Code == "" || next.Severity == 0 || next.Actor == 0 {
		return fmt.Errorf("not a valid finding: code %q, severity %q, actor %q", form.Code, form.Severity, form.Actor)
	}
	*f = next
	return nil
}
