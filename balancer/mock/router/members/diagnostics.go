package members

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/router/servers"
	"shardsh/balancer/mongoerr"
)

func memberDiagnosticHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"getCmdLineOpts":    memberCommandLine,
		"getDiagnosticData": memberDiagnosticData,
		"killOp":            memberKillOp,
		"profile":           memberProfile,
	}
}

// memberDiagnosticData returns the samples, since 8.0 grouped by service.
func memberDiagnosticData(c *call.Call) (bson.D, error) {
	own := []servers.DiagnosticCommand{{Name: "serverStatus", Run: servers.ServerStatus},
		{Name: "replSetGetStatus", Run: replicaSetStatus}}
	pools := servers.DiagnosticCommand{Name: "connPoolStats", Run: servers.ConnPoolStats}
	if !c.Cluster.Release().FCVAtLeast(catalog.Release80) {
		data, err := servers.RunDiagnosticCommands(c, append(own, pools)...)
		return bson.D{{Key: "data", Value: data}}, err
	}
	data, err := servers.RunDiagnosticCommands(c)
	if err != nil {
		return nil, err
	}
	for _, service := range []struct {
		name    string
		samples []servers.DiagnosticCommand
	}{{"shard", own}, {"router", []servers.DiagnosticCommand{pools}}, {"common", nil}} {
		part, err := servers.RunDiagnosticCommands(c, service.samples...)
		if err != nil {
			return nil, err
		}
		data = slices.Insert(data, len(data)-1, bson.E{Key: service.name, Value: part})
	}
	return bson.D{{Key: "data", Value: data}}, nil
}

// memberOps returns the member's operations: commands of clients, and the member's parts of migrations.
func memberOps(c *call.Call, allUsers, idle bool) ([]bson.Raw, error) {
	ops, err := servers.LocalOps(c, allUsers)
	if err != nil || c.Node.AuthRequired && !allUsers {
		return ops, err
	}
	var docs []bson.D
	for _, m := range c.Cluster.Migrations().List() {
		for _, op := range servers.MigrationOps(c.Cluster, m, idle) {
			if op[0].Value == string(c.Node.Member.Shard) {
				docs = append(docs, asLocalOp(op))
			}
		}
	}
	raws, err := call.MarshalAll(docs)
	return append(ops, raws...), err
}

// asLocalOp converts an operation in the format of a router to the format of the shard, without the
// shard's name.
func asLocalOp(op bson.D) bson.D {
	op = slices.Clone(op[1:])
	for i, e := range op {
		if e.Key == "client_s" {
			op[i].Key = "client"
		}
		if text, isText := e.Value.(string); e.Key == "opid" && isText {
			id, _ := localOpID(text)
			op[i].Value = id
		}
	}
	return op
}

// localOpID returns the number of "<shard>:<number>".
func localOpID(text string) (int32, error) {
	n, err := strconv.ParseInt(text[strings.LastIndexByte(text, ':')+1:], 10, 32)
	return int32(n), err
}

// memberKillOp kills an operation by its number.
func memberKillOp(c *call.Call) (bson.D, error) {
	v := c.Body.Lookup("op")
	n, isNumber := args.Number(v)
	switch {
	case v.IsZero():
		return nil, mongoerr.New(mongoerr.NoSuchKey, "Missing expected field \"op\"")
	case !isNumber:
		return nil, mongoerr.New(mongoerr.TypeMismatch, "Expected field \"op\" to have numeric type, but found %s",
			args.TypeName(v.Type))
	}
	id, err := servers.ToOpID(int64(n))
	if err != nil {
		return nil, err
	}
	c.Node.Operations.Kill(id)
	c.Cluster.Migrations().Kill(c.Node.Member.Shard, id)
	return bson.D{{Key: "info", Value: "attempting to kill op"}}, nil
}

// memberProfile reports that the profiler is off. It cannot be switched on.
func memberProfile(c *call.Call) (bson.D, error) {
	level, isNumber := args.Number(c.Body.Lookup("profile"))
	switch {
	case !isNumber:
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"BSON field 'profile.profile' is the wrong type '%s', expected types '[long, int, decimal, double']",
			args.TypeName(c.Body.Lookup("profile").Type))
	case level == 1 || level == 2:
		return nil, mongoerr.New(mongoerr.NotImplemented,
			"the mock's shards have no profiler: use currentOp to see running operations")
	}
	return bson.D{{Key: "was", Value: int32(0)}, {Key: "slowms", Value: int32(100)}, {Key: "sampleRate", Value: 1.0}}, nil
}

// featureFlag is a feature flag of servers from 8.0 on: its state, and the version that introduced it. A
// flag without a version does not depend on the feature compatibility version.
type featureFlag struct {
	on      bool
	version string
}

// unshardedFlag is the flag that would let the balancer move unsharded collections.
const unshardedFlag = "featureFlagBalanceUnshardedCollections"

// featureFlags returns the sharding feature flags of a shard or config server and their defaults.
func featureFlags() map[string]featureFlag {
	return map[string]featureFlag{
		"featureFlag80CollectionCreationPath":                    {true, "8.0"},
		unshardedFlag:                                            {false, ""},
		"featureFlagCheckForDirectShardOperations":               {true, "7.0"},
		"featureFlagClusterFsyncLock":                            {true, "7.1"},
		"featureFlagConcurrencyInChunkMigration":                 {true, "6.3"},
		"featureFlagMoveCollection":                              {true, "8.0"},
		"featureFlagReshardingImprovements":                      {true, "7.2"},
		"featureFlagTrackUnshardedCollectionsUponCreation":       {false, ""},
		"featureFlagTrackUnshardedCollectionsUponMoveCollection": {true, "8.0"},
		"featureFlagUnshardCollection":                           {true, "8.0"},
	}
}

// compatibilityParameter is the parameter with the feature compatibility version.
const compatibilityParameter = "featureCompatibilityVersion"

func memberParameterNames() []string {
	return append(slices.Collect(maps.Keys(featureFlags())), compatibilityParameter, "authSchemaVersion")
}

// memberParameter returns a read-only parameter.
func memberParameter(c *call.Call, name string) (any, bool) {
	if name == compatibilityParameter {
		shown := bson.D{}
		for _, field := range []string{"version", "targetVersion", "previousVersion"} {
			if v, ok := c.Cluster.ClusterParameters().FCVDocument().Lookup(field).StringValueOK(); ok {
				shown = append(shown, bson.E{Key: field, Value: v})
			}
		}
		return shown, true
	}
	if name == "authSchemaVersion" {
		return servers.AuthSchemaVersion, true
	}
	flag, known := featureFlags()[name]
	if !known || !c.Cluster.Release().FCVAtLeast(catalog.Release80) ||
		name == unshardedFlag && !c.Cluster.Release().HasBalanceUnshardedFlag() {
		return nil, false
	}
	shown := bson.D{{Key: "value", Value: flag.on}}
	if flag.on {
		shown = append(shown, bson.E{Key: "version", Value: flag.version})
	}
	return append(shown, bson.E{Key: "shouldBeFCVGated", Value: true}), true
}
