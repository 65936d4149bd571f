package controls

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/workload"
	"shardsh/balancer/mongoerr"
)

// mockWorkload starts a workload on a sharded collection and replaces the current one. A rate of 0 ends
// the workload.
func mockWorkload(c *call.Call) (bson.D, error) {
	ns, err := nameArg(c, "a namespace")
	if err != nil {
		return nil, err
	}
	s := workload.Spec{Namespace: ns, KeyDistribution: c.Args.Text("keys"), HotRangeDrift: c.Args.Text("moves"),
		RateCycle: c.Args.Text("wave")}
	numbers := map[string]*float64{"rate": &s.Rate, "scatter": &s.ScatterShare}
	count, size := 0.0, 0.0
	numbers["count"], numbers["documentBytes"] = &count, &size
	for name, into := range numbers {
		if err := readNumber(c, c.Args[name], name, into); err != nil {
			return nil, err
		}
	}
	s.KeyCount, s.DocumentBytes = int(count), int64(size)
	parts := map[string]*float64{"reads": &s.Mix.Reads, "inserts": &s.Mix.Inserts, "updates": &s.Mix.Updates,
		"deletes": &s.Mix.Deletes}
	elements, _ := c.Args.Object("mix").Elements()
	for _, e := range elements {
		into, known := parts[e.Key()]
		if !known {
			return nil, mongoerr.New(mongoerr.BadValue,
				"BSON field 'mockWorkload.mix.%s' is none of reads, inserts, updates, deletes", e.Key())
		}
		if err := readNumber(c, e.Value(), "mix."+e.Key(), into); err != nil {
			return nil, err
		}
	}
	if s.Rate == 0 {
		c.Cluster.Workloads().Stop(ns)
		return bson.D{}, nil
	}
	return bson.D{}, c.Cluster.Workloads().Start(s)
}

func readNumber(c *call.Call, v bson.RawValue, field string, into *float64) error {
	if v.IsZero() {
		return nil
	}
	n, isNumber := args.Number(v)
	if !isNumber {
		return typeError(c, field, v, "a number")
	}
	*into = n
	return nil
}
