package explain

import (
	"maps"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/router/reads"
	"shardsh/balancer/mock/store"
)

// mergingShard returns the shard that merges the results of the shards: the shard with the unsharded
// collection that the rest of the pipeline reads or writes. It returns "" for the router.
func mergingShard(a reads.Aggregation, merger []bson.Raw, h fallbackShard) catalog.ShardID {
	for _, s := range merger {
		switch name, spec, _ := call.Stage(s); name {
		case "$lookup", "$graphLookup":
			from, _ := spec.Document().Lookup("from").StringValueOK()
			reads := a.Joins.ByName[from].Reads
			switch {
			case from == "":
			case len(reads) == 0:
				return h.shard
			case len(reads) == 1 && reads[0].ShardKey == nil:
				return reads[0].Shard
			}
		case "$out", "$merge":
			if !a.WritesToSharded {
				return h.shard
			}
		}
	}
	return ""
}

// neededProjection returns the stage with which shards return only the fields that the rest of a
// pipeline reads. It returns no stage if the pipeline needs whole documents.
func neededProjection(shards, merger []bson.Raw) bson.A {
	n := fieldUse{fields: map[string]bool{}}
	if slices.ContainsFunc(shards, (&fieldUse{fields: map[string]bool{}}).addStage) || !n.addStages(merger) ||
		n.allFields {
		return bson.A{}
	}
	if len(n.fields) == 0 {
		n.fields["_id"] = true
	}
	project := bson.D{{Key: "_id", Value: n.fields["_id"]}}
	for _, name := range slices.Sorted(maps.Keys(n.fields)) {
		if name != "_id" {
			project = append(project, bson.E{Key: name, Value: true})
		}
	}
	return bson.A{bson.D{{Key: "$project", Value: project}}}
}

// fieldUse is the set of fields that stages read.
type fieldUse struct {
	fields    map[string]bool
	allFields bool // the stages may read every field
}

// addStages adds the fields that stages read. It reports whether one of the stages is the last one that
// can read other fields of the input.
func (f *fieldUse) addStages(list []bson.Raw) bool { return slices.ContainsFunc(list, f.addStage) }

// addStage adds the fields that a stage reads. It reports whether later stages see only fields that the
// stage computes.
func (f *fieldUse) addStage(s bson.Raw) bool {
	name, spec, err := call.Stage(s)
	switch {
	case err != nil:
		f.allFields = true
	case name == "$limit", name == "$skip", name == "$sample":
	case name == "$sort":
		elems, _ := spec.Document().Elements()
		for _, e := range elems {
			f.fields[e.Key()] = true
		}
	case name == "$unwind" && spec.Type == bson.TypeString, name == "$group", name == "$sortByCount":
		f.addExpression(spec)
		return name != "$unwind"
	case name == "$count":
		return true
	case name == "$project" && store.IsInclusion(spec.Document()):
		elems, _ := spec.Document().Elements()
		for _, e := range elems {
			f.fields[e.Key()] = true
		}
		return true
	case name == "$facet":
		return f.addFacet(spec.Document())
	default:
		f.allFields = true
	}
	return false
}

func (f *fieldUse) addFacet(parts bson.Raw) bool {
	values, _ := parts.Values()
	for _, v := range values {
		list, _ := v.Array().Values()
		var inner []bson.Raw
		for _, s := range list {
			doc, isDoc := s.DocumentOK()
			if !isDoc {
				return false
			}
			inner = append(inner, doc)
		}
		if !f.addStages(inner) {
			return false
		}
	}
	return true
}

// addExpression adds the field paths in an expression.
func (f *fieldUse) addExpression(v bson.RawValue) {
	if text, isText := v.StringValueOK(); isText {
		switch {
		case strings.HasPrefix(text, "$$ROOT"), strings.HasPrefix(text, "$$CURRENT"):
			f.allFields = true
		case strings.HasPrefix(text, "$") && !strings.HasPrefix(text, "$$"):
			f.fields[text[1:]] = true
		}
		return
	}
	var values []bson.RawValue
	if doc, isDoc := v.DocumentOK(); isDoc {
		if !doc.Lookup("$literal").IsZero() {
			return
		}
		values, _ = doc.Values()
	} else if list, isArray := v.ArrayOK(); isArray {
		values, _ = list.Values()
	}
	for _, inner := range values {
		f.addExpression(inner)
	}
}

// writesToSharded reports whether an aggregation writes to a sharded collection.
func writesToSharded(c *call.Call, o reads.Output) bool {
	merge, isMerge := o.(reads.MergeOutput)
	if !isMerge {
		return false
	}
	_, err := c.Cluster.ConfigDB().RequireSharded(merge.NS)
	return err == nil
}

// desugar replaces each stage that is an abbreviation for two other stages.
func desugar(stages []bson.Raw) (list []bson.Raw) {
	for _, s := range stages {
		name, spec, _ := call.Stage(s)
		var two []bson.D
		switch name {
		case "$count":
			two = []bson.D{
				{{Key: "$group", Value: bson.D{{Key: "_id", Value: nil},
					{Key: spec.StringValue(), Value: bson.D{{Key: "$sum", Value: int32(1)}}}}}},
				{{Key: "$project", Value: bson.D{{Key: spec.StringValue(), Value: true}, {Key: "_id", Value: false}}}},
			}
		case "$sortByCount":
			two = []bson.D{
				{{Key: "$group", Value: bson.D{{Key: "_id", Value: spec},
					{Key: "count", Value: bson.D{{Key: "$sum", Value: int32(1)}}}}}},
				{{Key: "$sort", Value: bson.D{{Key: "count", Value: int32(-1)}}}},
			}
		}
		if two == nil {
			list = append(list, s)
		}
		encoded, err := call.MarshalAll(two)
		if err != nil {
			return stages
		}
		list = append(list, encoded...)
	}
	return list
}
