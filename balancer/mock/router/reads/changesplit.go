package reads

import (
	"cmp"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

// takeSplitStage removes $changeStreamSplitLargeEvent from the end of a pipeline, the only
// place where it is allowed.
func takeSplitStage(stages []bson.Raw) (rest []bson.Raw, split bool, err error) {
	for i, s := range stages {
		name, spec, err := call.Stage(s)
		if err != nil || name != "$changeStreamSplitLargeEvent" {
			continue
		}
		if doc, isDoc := spec.DocumentOK(); !isDoc || !document.IsEmpty(doc) {
			return nil, false, mongoerr.New(7182800, "$changeStreamSplitLargeEvent spec should be an empty object")
		}
		if i < len(stages)-1 {
			return nil, false, mongoerr.New(7182802, "$changeStreamSplitLargeEvent must be the last stage in the pipeline")
		}
		return stages[:i], true, nil
	}
	return stages, false, nil
}

func tokenTextOf(event bson.Raw) string {
	text, _ := event.Lookup("_id", "_data").StringValueOK()
	return text
}

// fragments splits an event that is too large into several fragments, which together have its fields.
// The smallest fields come first.
func fragments(event bson.Raw) ([]bson.Raw, error) {
	if len(event) <= document.MaxSize {
		return []bson.Raw{event}, nil
	}
	fields, err := event.Elements()
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(fields, func(a, b bson.RawElement) int { return cmp.Compare(len(a), len(b)) })
	const head = 1 << 10 // space for the token and the fragment number
	var parts []bson.D
	size := document.MaxSize
	for _, f := range fields {
		if f.Key() == "_id" {
			continue
		}
		if size += len(f); size > document.MaxSize-head {
			parts, size = append(parts, nil), len(f)
		}
		last := len(parts) - 1
		parts[last] = append(parts[last], bson.E{Key: f.Key(), Value: f.Value()})
	}
	token := tokenTextOf(event)
	var list []bson.D
	for i, part := range parts {
		own := token + strings.Repeat("00", i+1)
		list = append(list, append(bson.D{{Key: "_id", Value: bson.D{{Key: "_data", Value: own}}},
			{Key: "splitEvent", Value: bson.D{{Key: "fragment", Value: int32(i + 1)}, {Key: "of", Value: int32(len(parts))}}}},
			part...))
	}
	return call.MarshalAll(list)
}
