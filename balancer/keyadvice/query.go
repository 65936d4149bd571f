package keyadvice

import (
	"cmp"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// QueryOf returns the kind of a query with a filter: the fields that are compared for equality, and
// those of which a range is requested. It leaves out conditions that no shard key can use.
func QueryOf(filter bson.Raw) Query {
	var q Query
	q.collect(filter)
	q.Range = slices.DeleteFunc(q.Range, func(name string) bool { return slices.Contains(q.Equal, name) })
	slices.Sort(q.Equal)
	slices.Sort(q.Range)
	q.Equal, q.Range = slices.Compact(q.Equal), slices.Compact(q.Range)
	return q
}

func (q *Query) collect(filter bson.Raw) {
	elements, err := filter.Elements()
	if err != nil {
		return
	}
	for _, e := range elements {
		name, v := e.Key(), e.Value()
		if name == "$and" {
			list, _ := v.ArrayOK()
			parts, _ := list.Values()
			for _, part := range parts {
				doc, _ := part.DocumentOK()
				q.collect(doc)
			}
			continue
		}
		if !strings.HasPrefix(name, "$") {
			q.addComparison(name, v)
		}
	}
}

// addComparison adds the condition of a filter on a field.
func (q *Query) addComparison(name string, v bson.RawValue) {
	doc, isDoc := v.DocumentOK()
	operators, err := doc.Elements()
	switch {
	case v.Type == bson.TypeRegex:
		q.Range = append(q.Range, name)
	case !isDoc, err == nil && (len(operators) == 0 || !strings.HasPrefix(operators[0].Key(), "$")):
		q.Equal = append(q.Equal, name)
	}
	if !isDoc {
		return
	}
	for _, op := range operators {
		switch op.Key() {
		case "$eq", "$in":
			q.Equal = append(q.Equal, name)
		case "$gt", "$gte", "$lt", "$lte", "$regex":
			q.Range = append(q.Range, name)
		}
	}
}

// MergeQueries merges queries of the same kind. The most frequent kinds come first.
func MergeQueries(list []Query) []Query {
	var kinds []Query
	for _, q := range list {
		i := slices.IndexFunc(kinds, func(o Query) bool {
			return slices.Equal(o.Equal, q.Equal) && slices.Equal(o.Range, q.Range)
		})
		if i < 0 {
			kinds = append(kinds, q)
			continue
		}
		kinds[i].Weight += q.Weight
	}
	slices.SortStableFunc(kinds, func(a, b Query) int { return cmp.Compare(b.Weight, a.Weight) })
	return kinds
}
