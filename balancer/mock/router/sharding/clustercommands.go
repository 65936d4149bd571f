package sharding

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/router/servers"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

// clusterHandlers returns the commands for the cluster as a whole or for the node.
func clusterHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"transitionFromDedicatedConfigServer": func(c *call.Call) (bson.D, error) {
			return bson.D{},
				c.Cluster.ShardMembership().AddConfigShard()
		},
		"transitionToDedicatedConfigServer": func(c *call.Call) (bson.D, error) {
			removal, err := c.Cluster.ShardMembership().RemoveConfigShard()
			if err != nil {
				return nil, err
			}
			return removalDoc(removal), nil
		},
		"setFeatureCompatibilityVersion": setCompatibility,
		"getDefaultRWConcern":            getDefaultConcerns,
		"setDefaultRWConcern":            setDefaultConcerns,
		"features":                       features,
		"profile":                        profile,
		"replSetGetStatus": func(*call.Call) (bson.D, error) {
			refused := mongoerr.NewNoCode("replSetGetStatus is not supported through mongos")
			refused.Extra = bson.D{{Key: "info", Value: "mongos"}}
			return nil, refused
		},
		"refreshLogicalSessionCacheNow": func(c *call.Call) (bson.D, error) {
			return bson.D{}, c.Cluster.Collections().CreateSessionsCollection()
		},
		"reapLogicalSessionCacheNow": call.OK,
		"planCacheClear":             servers.FixedReplyOfOwners(bson.D{}),
	}
}

// getDefaultConcerns returns the default concerns. inMemory asks for the router's copy, which is never stale.
func getDefaultConcerns(c *call.Call) (bson.D, error) {
	reply := servers.ConcernStatus(c).(bson.D)
	if c.Args.Bool("inMemory") {
		reply = append(reply, bson.E{Key: "inMemory", Value: true})
	}
	return reply, nil
}

// setCompatibility starts a change of the feature compatibility version. It requires confirm: true.
func setCompatibility(c *call.Call) (bson.D, error) {
	v := c.Body.Lookup("setFeatureCompatibilityVersion")
	version, isText := v.StringValueOK()
	if !isText {
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"BSON field 'setFeatureCompatibilityVersion.setFeatureCompatibilityVersion' is the wrong type '%s', expected "+
				"type 'string'", args.TypeName(v.Type))
	}
	if c.Node.Release().FCVAtLeast(catalog.Release70) && !args.IsTrueOrNonzero(c.Body.Lookup("confirm")) {
		return nil, mongoerr.New(7369100,
			"Once you have upgraded to %s, you will not be able to downgrade FCV and binary version without support "+
				"assistance. "+
				"Please re-run this command with 'confirm: true' to acknowledge this and continue with the FCV upgrade.", version)
	}
	return bson.D{}, c.Cluster.ClusterParameters().ChangeFCV(c.Ctx, c.Deadline, version)
}

func setDefaultConcerns(c *call.Call) (bson.D, error) {
	read, write := c.Args.Object("defaultReadConcern"), c.Args.Object("defaultWriteConcern")
	if read == nil && write == nil {
		return nil, mongoerr.New(mongoerr.BadValue,
			"At least one of the \"defaultReadConcern\" or \"defaultWriteConcern\" fields must be present")
	}
	if !document.IsEmpty(read) {
		level := args.Text(read.Lookup("level"))
		if !slices.Contains([]string{"local", "available", "majority"}, level) {
			return nil, mongoerr.New(mongoerr.BadValue, "level: '%s' is not suitable for the default read concern", level)
		}
	}
	if !document.IsEmpty(write) {
		elems, err := write.Elements()
		if err != nil {
			return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
		}
		for _, e := range elems {
			if err := call.CheckWriteConcernField(e.Key(), e.Value()); err != nil {
				return nil, err
			}
		}
		if n, isNumber := args.Number(write.Lookup("w")); isNumber && n == 0 {
			return nil, mongoerr.New(mongoerr.BadValue, "w: 0 is not suitable for the default write concern")
		}
	}
	if err := c.Cluster.ClusterParameters().SetDefaultConcerns(read, write); err != nil {
		return nil, err
	}
	return servers.ConcernStatus(c).(bson.D), nil
}

// features returns the machine number that a node uses in its ObjectIds. The balancer checks whether two
// shards use the same number (rules/01-rounds-and-settings §1.4). With oidReset the shard gets a new
// number.
func features(c *call.Call) (bson.D, error) {
	id := catalog.ShardID(c.Node.Host())
	if c.Node.Member != nil {
		id = c.Node.Member.Shard
	}
	reset := c.Body.Lookup("oidReset")
	on, _ := reset.BooleanOK()
	if n, _ := args.Number(reset); on || n != 0 {
		c.Cluster.MachineIDs().Reset(id)
	}
	return bson.D{
		{Key: "js", Value: bson.D{{Key: "utf8", Value: true}}}, {Key: "oidMachine", Value: c.Cluster.MachineIDs().IDOf(id)},
	}, nil
}

// profile rejects profiling, which mongos does not support because it stores no data.
func profile(c *call.Call) (bson.D, error) {
	level, isNumber := args.Number(c.Body.Lookup("profile"))
	if !isNumber {
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"BSON field 'profile.profile' is the wrong type '%s', expected types '[long, int, decimal, double']",
			args.TypeName(c.Body.Lookup("profile").Type))
	}
	if level != 0 && level != -1 {
		return nil, mongoerr.New(mongoerr.BadValue, "Profiling is not permitted on mongoS: the profile level must be 0 or -1")
	}
	return bson.D{{Key: "was", Value: int32(0)}, {Key: "slowms", Value: int32(100)}, {Key: "sampleRate", Value: 1.0}}, nil
}
