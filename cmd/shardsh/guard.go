package main

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
	"shardsh/bindings"
)

// readOnlyCommands change nothing, whatever their arguments; aggregate is
// looked at more closely. What is not listed counts as a change.
func readOnlyCommands() map[string]bool {
	names := []string{
		"aggregate", "find", "getMore", "killCursors", "count", "distinct", "explain",
		"hello", "isMaster", "ismaster", "ping", "buildInfo", "buildinfo", "connectionStatus", "whatsmyuri",
		"getLog", "hostInfo", "getCmdLineOpts", "getParameter", "getClusterParameter", "listCommands", "serverStatus",
		"isdbgrid", "netstat", "getShardMap", "getShardVersion", "getDatabaseVersion", "currentOp", "top",
		"listDatabases", "listCollections", "listIndexes", "listShards", "dbStats", "dbstats", "collStats", "collstats",
		"dataSize", "datasize", "splitVector", "validate", "dbHash", "usersInfo", "rolesInfo",
		"balancerStatus", "balancerCollectionStatus", "checkMetadataConsistency", "analyzeShardKey", "shardDrainingStatus",
		"getTransitionToDedicatedConfigServerStatus",
		"mockStatus", "mockNow", "mockInvariants",
		"startSession", "refreshSessions", "endSessions", "replSetGetStatus", "replSetGetConfig", "saslStart", "saslContinue",
		"logout",
	}
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// guard makes --read-only and --dry-run: nil when neither is on.
func (env environment) guard(o commandLine) bindings.Guard {
	if !o.readOnly && !o.dryRun {
		return nil
	}
	reading := readOnlyCommands()
	return func(database string, command bson.Raw) (bson.Raw, error) {
		elems, err := command.Elements()
		if err != nil || len(elems) == 0 {
			return nil, err
		}
		name := elems[0].Key()
		if reading[name] && !writesResult(command) {
			return nil, nil
		}
		if o.readOnly {
			return nil, mongoerr.New(mongoerr.IllegalOperation, "--read-only refuses the command %s", name)
		}
		text, err := bson.MarshalExtJSON(command, false, false)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(env.stdout, "would send to %s: %s\n", database, text)
		return bson.Marshal(bson.D{{Key: "ok", Value: 1.0}, {Key: "dryRun", Value: true}})
	}
}

// writesResult reports whether an aggregation ends in $out or $merge, or a
// validate repairs.
func writesResult(command bson.Raw) bool {
	if repair, ok := command.Lookup("repair").BooleanOK(); ok && repair {
		return true
	}
	stages, ok := command.Lookup("pipeline").ArrayOK()
	if !ok {
		return false
	}
	values, err := stages.Values()
	if err != nil {
		return true
	}
	for _, v := range values {
		if stage, ok := v.DocumentOK(); ok {
			if !stage.Lookup("$out").IsZero() || !stage.Lookup("$merge").IsZero() {
				return true
			}
		}
	}
	return false
}
