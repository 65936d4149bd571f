package snapfile

import (
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// beginCollection begins a collection.
func (r *reader) beginCollection() error {
	var c collection
	if err := decode(r.registry, r.payload.Bytes(), &c); err != nil {
		return err
	}
	if c.Entry.Pattern.IsZero() && (c.Table || c.Zones) {
		return fmt.Errorf("%w: the collection %q has no key", ErrDamaged, c.Entry.Namespace)
	}
	state := &catalog.CollectionState{Collection: c.Entry, Counts: c.Counts, Sizes: c.Sizes, ReportedStatus: c.Reported,
		Unindexed: c.Unindexed, IndexesKnown: c.IndexesKnown}
	var err error
	if state.EmptyZones, err = keysOf(c.Entry.Pattern, c.EmptyZones); err != nil {
		return err
	}
	if state.Sampled, err = keysOf(c.Entry.Pattern, c.Sampled); err != nil {
		return err
	}
	if !slices.IsSortedFunc(state.Sampled, catalog.Key.Compare) {
		return fmt.Errorf("%w: the sampled keys of %q are not in order", ErrDamaged, c.Entry.Namespace)
	}
	if c.Zones {
		state.Zones = catalog.NewZoneSet(c.Entry.Pattern)
	}
	r.current = &partialCollection{state: state}
	if c.Table {
		r.current.table = catalog.NewPageReader(c.Entry.Pattern, c.Entry.Epoch, c.Entry.Timestamp)
	}
	return nil
}

func keysOf(p catalog.KeyPattern, bounds []bson.Raw) (keys []catalog.Key, err error) {
	for _, bound := range bounds {
		key, err := p.ParseKey(bound)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// addCollectionRecord adds a record to the collection being read.
func (r *reader) addCollectionRecord(k recordKind) error {
	c := r.current
	switch {
	case c == nil:
		return fmt.Errorf("%w: a record of kind %d of no collection", ErrDamaged, k)
	case k == kindPage && c.table != nil:
		before := c.table.Len()
		if err := c.table.Add(r.payload.Bytes()); err != nil {
			return err
		}
		if r.limits.Chunks -= int64(c.table.Len() - before); r.limits.Chunks < 0 {
			return fmt.Errorf("%w: it has too many chunks", ErrTooLarge)
		}
		return nil
	case k == kindZone && c.state.Zones != nil:
		return r.addZone()
	case k == kindSizes:
		return r.addSizes()
	}
	return fmt.Errorf("%w: a record of kind %d that its collection does not announce", ErrDamaged, k)
}

func (r *reader) addZone() error {
	var z zone
	if err := decode(r.registry, r.payload.Bytes(), &z); err != nil {
		return err
	}
	c := r.current.state
	lower, err := c.Pattern.ParseKey(z.Min)
	if err != nil {
		return err
	}
	upper, err := c.Pattern.ParseKey(z.Max)
	if err != nil {
		return err
	}
	// Zones are in order, so adding a zone is cheap.
	return c.Zones.Add(catalog.ZoneRange{ID: z.ID, Min: lower, Max: upper, Zone: z.Zone})
}

func (r *reader) addSizes() error {
	var s sizes
	if err := decode(r.registry, r.payload.Bytes(), &s); err != nil {
		return err
	}
	extremes := len(s.First) > 0 || len(s.Last) > 0
	if len(s.Bytes) != len(s.Min) || len(s.Documents) != len(s.Min) ||
		extremes && (len(s.First) != len(s.Min) || len(s.Last) != len(s.Min)) {
		return fmt.Errorf("%w: sizes of chunks without all their fields", ErrDamaged)
	}
	c := r.current.state
	for i, lower := range s.Min {
		key, err := c.Pattern.ParseKey(lower)
		if err != nil {
			return err
		}
		size := catalog.ChunkSize{Min: key, Bytes: s.Bytes[i], Documents: s.Documents[i]}
		if extremes {
			if size.First, err = keyOrNone(c, s.First[i]); err != nil {
				return err
			}
			if size.Last, err = keyOrNone(c, s.Last[i]); err != nil {
				return err
			}
		}
		c.ChunkSizes = append(c.ChunkSizes, size)
	}
	return nil
}

// keyOrNone returns the key of a bound; the zero Key for an empty bound.
func keyOrNone(c *catalog.CollectionState, bound bson.Raw) (catalog.Key, error) {
	if len(bound) == 0 {
		return catalog.Key{}, nil
	}
	return c.Pattern.ParseKey(bound)
}

// endCollection ends the collection being read.
func (r *reader) endCollection() error {
	c := r.current
	if c == nil {
		return nil
	}
	r.current = nil
	if c.table != nil {
		table, err := c.table.Table()
		if err != nil {
			return fmt.Errorf("%s: %w", c.state.Namespace, err)
		}
		c.state.Table = table
	}
	r.parts.Collections = append(r.parts.Collections, c.state)
	return nil
}
