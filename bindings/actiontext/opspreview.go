package actiontext

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// OpsPreviewText returns a line for each collection.
func OpsPreviewText(l action.OpsPreview) string {
	var text strings.Builder
	for _, ns := range slices.Sorted(maps.Keys(l.Collections)) {
		shards := l.Collections[ns]
		var total int64
		for _, n := range shards {
			total += n
		}
		fmt.Fprintf(&text, "%s: %d operations in %g s", ns, total, l.Seconds)
		if total == 0 {
			text.WriteString(", nothing to balance\n")
			continue
		}
		ids := slices.SortedFunc(maps.Keys(shards), func(a, b catalog.ShardID) int {
			return cmp.Or(cmp.Compare(shards[b], shards[a]), cmp.Compare(a, b))
		})
		for _, id := range ids {
			fmt.Fprintf(&text, ", %s %s", id, humanize.Percent(float64(shards[id])/float64(total)))
		}
		first, last := ids[0], ids[len(ids)-1]
		if apart := shards[first] - shards[last]; 10*apart*int64(len(ids)) < total {
			text.WriteString(": balanced to within 10% of the ideal\n")
		} else {
			fmt.Fprintf(&text, ": chunks move from %s to %s first\n", first, last)
		}
	}
	return text.String()
}
