package catalog

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/humanize"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/mongoerr"
)

// CheckStorable returns an error for zone bounds and split points that must not be stored in the
// catalog: those with a regular expression, or with an object that has field names beginning with $
// (BadValue, rules/03-catalog-and-keys §4.3).
func CheckStorable(bound bson.Raw) error {
	for e := keyorder.NewWalk(bound); e.Next(); {
		if e.Value.Type == bson.TypeRegex || hasDollarNames(e.Value, 0) {
			return mongoerr.New(mongoerr.BadValue, "the value of %s in %s cannot be stored as a bound", e.Name,
				humanize.Literal(bound))
		}
	}
	return nil
}

// maxNesting is the server's internal limit of nesting; documents of users are less deep.
const maxNesting = 200

func hasDollarNames(v bson.RawValue, depth int) bool {
	if v.Type != bson.TypeEmbeddedDocument && v.Type != bson.TypeArray || depth > maxNesting {
		return false
	}
	for e := keyorder.NewWalk(v.Value); e.Next(); {
		if len(e.Name) > 0 && e.Name[0] == '$' || hasDollarNames(e.Value, depth+1) {
			return true
		}
	}
	return false
}
