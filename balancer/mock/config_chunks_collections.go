package mock

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/filter"
)

// collectionsIn returns the collections whose chunks a filter can match, by the encoded value of the
// owner field, each with the minimum chunk version to read. It returns false if the filter does not
// restrict the collections.
func collectionsIn(f *filter.Filter, field string) (map[string]catalog.ChunkVersion, bool) {
	if owner, ok := f.Equality(field); ok {
		return map[string]catalog.ChunkVersion{string(owner.Value): {}}, true
	}
	if f == nil {
		return nil, false
	}
	for _, c := range f.Clauses {
		owners, only := map[string]catalog.ChunkVersion{}, c.Op == "$in" && c.Path == field || c.Op == "$or"
		if c.Op == "$in" && only {
			for _, v := range document.Items(c.Arg) {
				only = only && v.Type != bson.TypeRegex
				owners[string(v.Value)] = catalog.ChunkVersion{}
			}
		}
		for _, branch := range c.Or {
			only = addBranchCollection(branch, field, owners) && only
		}
		if only {
			return owners, true
		}
	}
	return nil, false
}

// addBranchCollection adds the collection that a branch of $or requires. It returns false if the branch
// does not require one.
func addBranchCollection(branch []filter.Clause, field string, owners map[string]catalog.ChunkVersion) (found bool) {
	var owner string
	var from catalog.ChunkVersion
	for _, c := range branch {
		switch {
		case c.Path == field && c.Op == "$eq":
			owner, found = string(c.Arg.Value), true
		case c.Path == "lastmod" && (c.Op == "$gt" || c.Op == "$gte") && c.Arg.Type == bson.TypeTimestamp:
			from.Major, from.Minor = c.Arg.Timestamp()
		}
	}
	if had, twice := owners[owner]; twice && had.Compare(from) < 0 {
		from = had // another branch needs older chunks, too
	}
	if found {
		owners[owner] = from
	}
	return found
}

// collectionFieldBytes returns the encoded value of the field that identifies the collection of a chunk.
func collectionFieldBytes(coll catalog.Collection) string {
	_, value, err := bson.MarshalValue(coll.ChunkFilter().Value)
	if err != nil {
		return ""
	}
	return string(value)
}
