package collections

import (
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

// convertToCapped makes an existing collection capped.
func convertToCapped(c *call.Call) (bson.D, error) {
	ns, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	v := c.Args["size"]
	size, _ := args.Number(v)
	if !(size >= 1 && size <= maxCappedBytes) {
		return nil, mongoerr.New(mongoerr.BadValue,
			"BSON field 'convertToCapped.size' value must be > 0 and <= %d, actual value '%s'", int64(maxCappedBytes), v)
	}
	return bson.D{}, c.Cluster.Collections().ConvertToCapped(ns, int64(math.Ceil(size/256))*256) // server's rounding
}
