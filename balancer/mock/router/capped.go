package router

import (
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mongoerr"
)

// convertToCapped limits a collection that is there.
func convertToCapped(c *call) (bson.D, error) {
	ns, err := c.namespace()
	if err != nil {
		return nil, err
	}
	v := c.args["size"]
	size, _ := args.Number(v)
	if !(size >= 1 && size <= maxCappedBytes) {
		return nil, mongoerr.New(mongoerr.BadValue,
			"BSON field 'convertToCapped.size' value must be > 0 and <= %d, actual value '%s'", int64(maxCappedBytes), v)
	}
	return bson.D{}, c.cluster.Collections().ConvertToCapped(ns, int64(math.Ceil(size/256))*256) // as the server rounds it
}
