package catalog

import (
	"slices"
	"sort"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/humanize"
	"shardsh/balancer/mongoerr"
)

// NoZone is the zone name for keys outside all zone ranges.
const NoZone = ""

// ZoneRange assigns the keys [Min, Max) of a collection to a zone. It is an entry of config.tags
// (rules/03-catalog-and-keys §3.5).
type ZoneRange struct {
	ID       bson.ObjectID // zero if the document has an _id of the old form
	Min, Max Key
	Zone     string
}

// ParseZone parses a config.tags document of a sharded collection. Bounds with only the first fields of
// the key are extended with MinKey. Bounds with other fields fail with 16634, and longer bounds with
// 349 (rules/01-rounds-and-settings §4.1).
func ParseZone(p KeyPattern, raw bson.Raw) (ZoneRange, error) {
	var z ZoneRange
	var lower, upper bson.Raw
	err := eachField(raw, func(f field) error {
		switch f.name {
		case "_id":
			if f.value.Type == bson.TypeObjectID {
				return f.objectID(&z.ID)
			}
		case "min":
			return f.document(&lower)
		case "max":
			return f.document(&upper)
		case "tag":
			return f.text(&z.Zone)
		}
		return nil
	})
	switch {
	case err != nil:
		return ZoneRange{}, mongoerr.Wrap(err, "invalid config.tags document")
	case lower == nil:
		return ZoneRange{}, missingFieldError("config.tags document", "min")
	case upper == nil:
		return ZoneRange{}, missingFieldError("config.tags document", "max")
	case z.Zone == "":
		return ZoneRange{}, missingFieldError("config.tags document", "tag")
	}
	if z.Min, err = p.extend(lower, mongoerr.BoundFieldMismatch, mongoerr.KeyPatternShorterThanBound); err != nil {
		return ZoneRange{}, err
	}
	if z.Max, err = p.extend(upper, mongoerr.BoundFieldMismatch, mongoerr.KeyPatternShorterThanBound); err != nil {
		return ZoneRange{}, err
	}
	return z, nil
}

// Doc returns the config.tags document.
func (z ZoneRange) Doc(p KeyPattern, ns string) bson.D {
	return bson.D{
		{Key: "_id", Value: z.ID},
		{Key: "ns", Value: ns},
		{Key: "min", Value: p.Bound(z.Min)},
		{Key: "max", Value: p.Bound(z.Max)},
		{Key: "tag", Value: z.Zone},
	}
}

// ZoneSet contains the zone ranges of one collection, which never overlap (rules/01-rounds-and-settings
// §4.2). Add must not run concurrently with other methods.
type ZoneSet struct {
	pattern KeyPattern
	ranges  []ZoneRange // by key
	names   []string    // ascending, each once
}

// NewZoneSet returns an empty set for a shard key.
func NewZoneSet(p KeyPattern) *ZoneSet { return &ZoneSet{pattern: p} }

// Add adds a range. Adding an identical range again changes nothing. A range that shares keys with
// another range is RangeOverlapConflict, with both ranges in the text. A range whose min is not below
// its max is FailedToParse.
func (z *ZoneSet) Add(r ZoneRange) error {
	if !r.Min.Less(r.Max) {
		return mongoerr.New(mongoerr.FailedToParse, "zone range %s has its min not below its max", z.rangeText(r))
	}
	i := z.firstAbove(r.Min)
	if i < len(z.ranges) && z.ranges[i].Min.Less(r.Max) {
		old := z.ranges[i]
		if old.Min.Equal(r.Min) && old.Max.Equal(r.Max) && old.Zone == r.Zone {
			return nil
		}
		return mongoerr.New(mongoerr.RangeOverlapConflict, "zone range %s overlaps the existing %s", z.rangeText(r),
			z.rangeText(old))
	}
	z.ranges = slices.Insert(z.ranges, i, r)
	if at, found := slices.BinarySearch(z.names, r.Zone); !found {
		z.names = slices.Insert(z.names, at, r.Zone)
	}
	return nil
}

func (z *ZoneSet) rangeText(r ZoneRange) string {
	return humanize.Literal(z.pattern.Bound(r.Min)) + " to " + humanize.Literal(z.pattern.Bound(r.Max)) + " on " + r.Zone
}

// firstAbove returns the index of the first range that ends above the key.
func (z *ZoneSet) firstAbove(k Key) int {
	return sort.Search(len(z.ranges), func(i int) bool { return k.Less(z.ranges[i].Max) })
}

// Pattern returns the shard key of the bounds.
func (z *ZoneSet) Pattern() KeyPattern { return z.pattern }

// Ranges returns the ranges in key order. The slice must not be changed.
func (z *ZoneSet) Ranges() []ZoneRange {
	if z == nil {
		return nil
	}
	return slices.Clip(z.ranges)
}

// Names returns the zones of the collection in ascending byte order, including zones without shards.
func (z *ZoneSet) Names() []string {
	if z == nil {
		return nil
	}
	return slices.Clip(z.names)
}

// Len returns the number of ranges.
func (z *ZoneSet) Len() int {
	if z == nil {
		return 0
	}
	return len(z.ranges)
}

// ZoneOf returns the zone whose range contains all of [lower, upper), and NoZone if there is none
// (rules/01-rounds-and-settings §4.3).
func (z *ZoneSet) ZoneOf(lower, upper Key) string {
	if z == nil {
		return NoZone
	}
	i := z.firstAbove(lower)
	if i == len(z.ranges) || lower.Less(z.ranges[i].Min) || z.ranges[i].Max.Less(upper) {
		return NoZone
	}
	return z.ranges[i].Zone
}
