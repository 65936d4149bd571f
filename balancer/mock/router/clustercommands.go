package router

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mongoerr"
)

// clusterCommands are about the cluster as a whole, or about the node.
func clusterHandlers() map[string]handler {
	return map[string]handler{
		"transitionFromDedicatedConfigServer": func(c *call) (bson.D, error) {
			return bson.D{},
				c.cluster.Membership().AddConfigShard()
		},
		"transitionToDedicatedConfigServer": func(c *call) (bson.D, error) {
			removal, err := c.cluster.Membership().RemoveConfigShard()
			if err != nil {
				return nil, err
			}
			return removalDoc(removal), nil
		},
		"setFeatureCompatibilityVersion": setCompatibility,
		"getDefaultRWConcern":            func(c *call) (bson.D, error) { return concernStatus(c).(bson.D), nil },
		"setDefaultRWConcern":            setDefaultConcerns,
		"features":                       features,
		"profile":                        profile,
		"replSetGetStatus": func(*call) (bson.D, error) {
			refused := mongoerr.NewNoCode("replSetGetStatus is not supported through mongos")
			refused.Extra = bson.D{{Key: "info", Value: "mongos"}}
			return nil, refused
		},
		"refreshLogicalSessionCacheNow": func(c *call) (bson.D, error) {
			return bson.D{}, c.cluster.Collections().CreateSessions()
		},
		"reapLogicalSessionCacheNow": ok,
		"planCacheClear":             onOwners(bson.D{}),
	}
}

// setCompatibility wants to be told that it is meant.
func setCompatibility(c *call) (bson.D, error) {
	v := c.body.Lookup("setFeatureCompatibilityVersion")
	version, isText := v.StringValueOK()
	if !isText {
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"BSON field 'setFeatureCompatibilityVersion.setFeatureCompatibilityVersion' is the wrong type '%s', expected "+
				"type 'string'", args.TypeName(v.Type))
	}
	if !args.Truth(c.body.Lookup("confirm")) {
		return nil, mongoerr.New(7369100,
			"Once you have upgraded to %s, you will not be able to downgrade FCV and binary version without support "+
				"assistance. "+
				"Please re-run this command with 'confirm: true' to acknowledge this and continue with the FCV upgrade.", version)
	}
	return bson.D{}, c.cluster.SetCompatibilityVersion(version)
}

func setDefaultConcerns(c *call) (bson.D, error) {
	read, write := c.args.Object("defaultReadConcern"), c.args.Object("defaultWriteConcern")
	if read == nil && write == nil {
		return nil, mongoerr.New(mongoerr.BadValue,
			"At least one of the \"defaultReadConcern\" or \"defaultWriteConcern\" fields must be present")
	}
	if len(read) > 5 {
		level := args.Text(read.Lookup("level"))
		if !slices.Contains([]string{"local", "available", "majority"}, level) {
			return nil, mongoerr.New(mongoerr.BadValue, "level: '%s' is not suitable for the default read concern", level)
		}
	}
	if len(write) > 5 {
		elems, err := write.Elements()
		if err != nil {
			return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
		}
		for _, e := range elems {
			if err := checkWriteConcernField(e.Key(), e.Value()); err != nil {
				return nil, err
			}
		}
		if n, isNumber := args.Number(write.Lookup("w")); isNumber && n == 0 {
			return nil, mongoerr.New(mongoerr.BadValue, "w: 0 is not suitable for the default write concern")
		}
	}
	if err := c.cluster.ClusterParameters().SetDefaultConcerns(read, write); err != nil {
		return nil, err
	}
	return concernStatus(c).(bson.D), nil
}

// features tells the number that a node puts into the ObjectIds it makes: the
// balancer looks whether two shards have the same (spec 01 §1.4). With oidReset
// a shard takes another one.
func features(c *call) (bson.D, error) {
	id := catalog.ShardID(c.node.host())
	if c.node.member != nil {
		id = c.node.member.ID
	}
	reset := c.body.Lookup("oidReset")
	on, _ := reset.BooleanOK()
	if n, _ := args.Number(reset); on || n != 0 {
		c.cluster.ResetMachineID(id)
	}
	return bson.D{
		{Key: "js", Value: bson.D{{Key: "utf8", Value: true}}}, {Key: "oidMachine", Value: c.cluster.MachineID(id)},
	}, nil
}

// profile refuses what a mongos can't: it has no data to look at the reading of.
func profile(c *call) (bson.D, error) {
	level, isNumber := args.Number(c.body.Lookup("profile"))
	if !isNumber {
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"BSON field 'profile.profile' is the wrong type '%s', expected types '[long, int, decimal, double']",
			args.TypeName(c.body.Lookup("profile").Type))
	}
	if level != 0 && level != -1 {
		return nil, mongoerr.New(mongoerr.BadValue, "Profiling is not permitted on mongoS: the profile level must be 0 or -1")
	}
	return bson.D{{Key: "was", Value: int32(0)}, {Key: "slowms", Value: int32(100)}, {Key: "sampleRate", Value: 1.0}}, nil
}
