package plan

import (
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// checker validates the steps of a plan.
type checker struct {
	patterns map[string]catalog.KeyPattern
	totals   Totals
	touched  []catalog.ShardID // in the current round
}

// check returns why a plan is invalid; nil for a valid one.
func (p *Plan) check() error {
	if p.Goal.Kind != Undo && p.Goal.Kind != Presplit && !slices.Contains(GoalKinds(), p.Goal.Kind) {
		return fmt.Errorf("%q is not a valid goal", p.Goal.Kind)
	}
	if (p.Goal.Kind == Drain) != (p.Goal.Shard != "") {
		return fmt.Errorf("the goal %s does not go with the shard %q", p.Goal.Kind, p.Goal.Shard)
	}
	if p.Basis.Time.IsZero() || p.Basis.Hash == "" {
		return errors.New("its cluster time or its hash is missing")
	}
	c := checker{patterns: map[string]catalog.KeyPattern{}}
	for _, coll := range p.Basis.Collections {
		pattern, err := coll.Pattern()
		if err != nil {
			return fmt.Errorf("collection %s: %w", coll.Namespace, err)
		}
		c.patterns[coll.Namespace] = pattern
	}
	for i, s := range p.Steps {
		if s.Number != i+1 {
			return fmt.Errorf("step %d is at position %d", s.Number, i+1)
		}
		if err := c.checkStep(s); err != nil {
			return fmt.Errorf("step %d: %w", s.Number, err)
		}
	}
	if c.totals != p.Totals {
		return fmt.Errorf("its totals %+v are not the sum of its steps, %+v", p.Totals, c.totals)
	}
	return nil
}

// Pattern returns the shard key of the collection.
func (c CollectionBasis) Pattern() (catalog.KeyPattern, error) {
	var raw bson.Raw
	if err := bson.UnmarshalExtJSON(c.Key, true, &raw); err != nil {
		return catalog.KeyPattern{}, fmt.Errorf("the shard key %s: %w", c.Key, err)
	}
	return catalog.ParseKeyPattern(raw)
}

func (c *checker) checkStep(s Step) error {
	pattern, known := c.patterns[s.Namespace]
	switch {
	case !known:
		return fmt.Errorf("%q is not one of its collections", s.Namespace)
	case s.From == "":
		return errors.New("it has no shard")
	case s.Bytes < 0 || s.Documents < 0 || s.Start < 0 || s.Takes < 0:
		return errors.New("a quantity is negative")
	}
	bounds := append([]catalog.Key{s.Min, s.Max}, s.Points...)
	for _, k := range bounds {
		if len(k.Values()) != pattern.Len() {
			return fmt.Errorf("the bound %s is not a valid key of %s", k, pattern)
		}
	}
	if !s.Min.Less(s.Max) {
		return fmt.Errorf("its range from %s to %s is empty", s.Min, s.Max)
	}
	if w := s.KnownRange; w != nil && (len(w.Min.Values()) != pattern.Len() || len(w.Max.Values()) != pattern.Len() ||
		s.Min.Less(w.Min) || w.Max.Less(s.Max)) {
		return fmt.Errorf("its range from %s to %s is not within that from %s to %s", s.Min, s.Max, w.Min, w.Max)
	}
	if err := s.checkKind(); err != nil {
		return err
	}
	return c.checkRound(s)
}

// checkKind checks that the step has exactly the fields of its kind.
func (s Step) checkKind() error {
	switch s.Kind {
	case Move:
		if s.To == "" || s.To == s.From || s.Points != nil || s.Chunks != 0 {
			return errors.New("a move needs another shard, and has neither points nor a number of chunks")
		}
		return nil
	case Split:
		ascending := slices.IsSortedFunc(s.Points, catalog.Key.Compare) &&
			len(slices.CompactFunc(slices.Clone(s.Points), catalog.Key.Equal)) == len(s.Points)
		inside := len(s.Points) > 0 && s.Min.Less(s.Points[0]) && s.Points[len(s.Points)-1].Less(s.Max)
		if s.To != "" || s.Chunks != 0 || !ascending || !inside {
			return errors.New("a split needs points inside its chunk, in ascending order")
		}
		return nil
	case Merge:
		if s.To != "" || s.Points != nil || s.Chunks < 2 {
			return errors.New("a merge needs two chunks or more, and has no other shard")
		}
		return nil
	}
	return fmt.Errorf("%q is not a valid kind of step", s.Kind)
}

// checkRound checks that the steps of a round use different shards, and counts rounds.
func (c *checker) checkRound(s Step) error {
	switch s.Round - c.totals.Rounds {
	case 0:
	case 1:
		c.touched = c.touched[:0]
	default:
		return fmt.Errorf("round %d follows round %d", s.Round, c.totals.Rounds)
	}
	for _, id := range s.shards() {
		if slices.Contains(c.touched, id) {
			return fmt.Errorf("round %d uses the shard %s twice", s.Round, id)
		}
		c.touched = append(c.touched, id)
	}
	c.totals.add(s)
	if c.totals.Rounds == 0 {
		return errors.New("rounds are numbered from 1")
	}
	return nil
}

// shards returns the shards that a step uses.
func (s Step) shards() []catalog.ShardID {
	if s.Kind == Move {
		return []catalog.ShardID{s.From, s.To}
	}
	return []catalog.ShardID{s.From}
}

// add adds a step to the totals.
func (t *Totals) add(s Step) {
	t.Rounds, t.Duration = s.Round, max(t.Duration, s.Start+s.Takes)
	switch s.Kind {
	case Move:
		t.Moves++
		t.Bytes += s.Bytes
		t.Documents += s.Documents
	case Split:
		t.Splits++
	case Merge:
		t.Merges++
	}
}
