package mock

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store/expr"
)

// LanguageOf returns the query language of a release. Expressions depend on the feature compatibility
// version, the matching of null on the server's release.
func LanguageOf(r catalog.Release) expr.Language {
	return expr.Language{
		ArrayAccumulators: r.FCVAtLeast(catalog.Release81),
		CurrentDate:       r.FCVAtLeast(catalog.Release82),
		Operators83:       r.FCVAtLeast(catalog.Release83),
		NullInArrays:      r.YieldsNullsInArrays(),

		RefusesEmptyGroupFields: r.RefusesEmptyGroupFields(),
	}
}
