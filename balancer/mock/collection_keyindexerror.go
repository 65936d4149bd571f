package mock

import (
	"fmt"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

// noKeyIndexError returns the shard's error if no index serves a shard key. If the first field is
// indexed, the error has the reasons for all indexes, else the reason for the last index that has one.
// purpose is the operation that needs the index.
func noKeyIndexError(docs *store.Collection, pattern catalog.KeyPattern, purpose string) error {
	var shown string
	all := []string{"couldn't find valid index for shard key"}
	served := false
	for _, ix := range docs.Indexes() {
		prefix := docs.IndexHasPrefix(pattern.Doc(), ix.Name)
		multikey := prefix && !ix.Sparse && !ix.IsPartial() && docs.IsIndexMultikey(ix.Name)
		served = served || prefix && !ix.Sparse && (ix.IsPartial() || multikey)
		var reasons []string
		for _, r := range []struct {
			holds bool
			text  string
		}{
			{ix.IsPartial(), "Index key is partial."},
			{ix.Sparse, "Index key is sparse."},
			{multikey, "Index key is multikey."},
			{!prefix, "Shard key is not a prefix of index key."},
		} {
			if r.holds {
				reasons = append(reasons, r.text)
			}
		}
		all = append(all,
			fmt.Sprintf("Index %s cannot be used for sharding because: %s", ix.Name, strings.Join(reasons, " ")))
		if ix.Sparse {
			shown = fmt.Sprintf(" Index %s cannot be used for sharding because [ Index key is sparse. ]", ix.Name)
		}
	}
	if served {
		return mongoerr.New(mongoerr.InvalidOptions, "%s", strings.Join(all, "\n"))
	}
	return mongoerr.New(mongoerr.InvalidOptions,
		"Please create an index that starts with the proposed shard key before %s. %s", purpose, shown)
}
