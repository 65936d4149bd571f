package mocktest

import (
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/wire"
)

// chunkOrders are the sort patterns that an index of config.chunks supports for the chunks of some
// collections (rules/03-catalog-and-keys §3).
var chunkOrders = [][]string{
	{}, {"min"}, {"lastmod"}, {"uuid"}, {"uuid", "min"}, {"uuid", "lastmod"}, {"ns"}, {"ns", "min"}, {"ns", "lastmod"},
}

// ScanReason returns the reason why a command would scan a large collection of a real cluster's config
// database; on a mock the scan would go unnoticed. Reasons are a read of config.chunks that no index
// supports and a read of a log that does not start at its end. It is empty for other commands.
// Aggregations of the change log may scan it, because it is capped.
func ScanReason(r wire.Request) string {
	if db, _ := r.Body.Lookup("$db").StringValueOK(); db != "config" {
		return ""
	}
	collection, _ := r.Body.Lookup(r.Command).StringValueOK()
	filter, order := queryOf(r)
	why := ""
	switch {
	case r.Command == "count" && len(filter) == 0: // the server stores the number of documents
	case collection == "chunks" && !namesCollections(filter):
		why = "its filter names no collection"
	case collection == "chunks" &&
		!slices.ContainsFunc(chunkOrders, func(o []string) bool { return slices.Equal(o, order) }):
		why = fmt.Sprintf("no index has the order %v", order)
	case (collection == "changelog" || collection == "actionlog") && r.Command == "find" &&
		!(slices.Equal(order, []string{"$natural"}) && !r.Body.Lookup("limit").IsZero()):
		why = "it does not go backwards from the end, up to a limit"
	}
	if why == "" {
		return ""
	}
	return fmt.Sprintf("%s %s: %s: %s", r.Command, collection, why, r.Body)
}

// queryOf returns the filter of a find, a count or an aggregation, and the sort fields of a find.
func queryOf(r wire.Request) (filter bson.Raw, order []string) {
	switch r.Command {
	case "find":
		filter, _ = r.Body.Lookup("filter").DocumentOK()
		sort, _ := r.Body.Lookup("sort").DocumentOK()
		return filter, append([]string{}, catalog.FieldNames(sort)...)
	case "count":
		filter, _ = r.Body.Lookup("query").DocumentOK()
	case "aggregate":
		filter, _ = r.Body.Lookup("pipeline", "0", "$match").DocumentOK()
	}
	return filter, []string{}
}

// namesCollections reports whether a filter has bounds in the indexes of config.chunks: it
// names collections, each of its alternatives one.
func namesCollections(filter bson.Raw) bool {
	for _, field := range []string{"uuid", "ns", "_id"} {
		if _, err := filter.LookupErr(field); err == nil {
			return true
		}
	}
	either, isArray := filter.Lookup("$or").ArrayOK()
	values, err := either.Values()
	if !isArray || err != nil {
		return false
	}
	return !slices.ContainsFunc(values, func(v bson.RawValue) bool {
		branch, _ := v.DocumentOK()
		return !namesCollections(branch)
	})
}
