package sharding

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

// maxSampleRate is the maximum of samplesPerSecond.
const maxSampleRate = 50

// configureQueryAnalyzer starts or stops the sampling of a collection's queries.
func configureQueryAnalyzer(c *call.Call) (bson.D, error) {
	ns, mode := c.Args.Text("configureQueryAnalyzer"), c.Args.Text("mode")
	rate, hasRate := args.Number(c.Args["samplesPerSecond"])
	switch {
	case mode != "full" && mode != "off":
		return nil, mongoerr.New(mongoerr.BadValue,
			"Enumeration value '%s' for field 'configureQueryAnalyzer.mode' is not a valid value.", mode)
	case c.Args.Has("samplesPerSecond") && !hasRate:
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"BSON field 'configureQueryAnalyzer.samplesPerSecond' is the wrong type '%s', expected types '[decimal, int, "+
				"double, long']", args.TypeName(c.Args["samplesPerSecond"].Type))
	case mode == "off" && hasRate:
		return nil, mongoerr.New(mongoerr.InvalidOptions, "Cannot specify 'samplesPerSecond' when 'mode' is \"off\"")
	case mode == "full" && !hasRate:
		return nil, mongoerr.New(mongoerr.InvalidOptions, "'samplesPerSecond' must be specified when 'mode' is not \"off\"")
	case hasRate && !(rate > 0): // also NaN
		return nil, mongoerr.New(mongoerr.InvalidOptions, "'samplesPerSecond' must be greater than 0")
	case hasRate && rate > maxSampleRate:
		return nil, mongoerr.New(mongoerr.InvalidOptions,
			"'samplesPerSecond' must be greater than 0 and less than or equal to %d", maxSampleRate)
	}
	if err := checkAnalyzable(c, ns, "configureQueryAnalyzer"); err != nil {
		return nil, err
	}
	c.Cluster.Workloads().CatchUp() // with the previous rate
	newConfig := bson.D{{Key: "mode", Value: mode}}
	if hasRate {
		newConfig = append(newConfig, bson.E{Key: "samplesPerSecond", Value: rate})
	}
	oldConfig, err := c.Cluster.Statistics().ConfigureAnalyzer(ns, newConfig)
	if err != nil {
		return nil, err
	}
	c.Node.Analyzers.SetSampling(ns, mode, rate)
	reply := bson.D{}
	if oldConfig != nil {
		reply = append(reply, bson.E{Key: "oldConfiguration", Value: oldConfig})
	}
	return append(reply, bson.E{Key: "newConfiguration", Value: newConfig}), nil
}
