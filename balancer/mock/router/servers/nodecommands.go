package servers

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

// nodeHandlers returns the commands about the mongos process, for monitoring and administration.
func nodeHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"connPoolStats":   ConnPoolStats,
		"connPoolSync":    call.OK,
		"dropConnections": call.OK,
		"echo":            func(c *call.Call) (bson.D, error) { return bson.D{{Key: "echo", Value: c.Body.Raw}}, nil },
		"filemd5":         fileMD5,
		"fsync":           fsync,
		"fsyncUnlock": func(*call.Call) (bson.D, error) {
			return nil, mongoerr.New(mongoerr.IllegalOperation, "fsyncUnlock called when not locked")
		},
		"getDiagnosticData":     getDiagnosticData,
		"invalidateUserCache":   call.OK,
		"lockInfo":              func(*call.Call) (bson.D, error) { return bson.D{{Key: "lockInfo", Value: bson.A{}}}, nil },
		"logRotate":             logRotate,
		"planCacheListFilters":  FixedReplyOfOwners(bson.D{{Key: "filters", Value: bson.A{}}}),
		"planCacheClearFilters": FixedReplyOfOwners(bson.D{}),
		"rotateFTDC":            call.OK, // there are no diagnostic files
		"_isSelf": func(c *call.Call) (bson.D, error) {
			return bson.D{{Key: "id", Value: c.Node.ProcessID}}, nil
		},
	}
}

// FixedReplyOfOwners returns a handler that contacts every shard with chunks of a collection and returns a
// fixed reply. On a server all shards give the same reply. If the collection has no chunks, the handler
// contacts the primary shard.
func FixedReplyOfOwners(reply bson.D) call.Handler {
	return func(c *call.Call) (bson.D, error) {
		ns, err := c.Namespace()
		if err != nil || c.Node.Member != nil {
			return reply, err
		}
		shards := []string{}
		for _, part := range c.Cluster.Statistics().Collection(ns) {
			shards = append(shards, string(part.Shard))
		}
		if primary := call.PrimaryOf(c.Cluster, c.DB); len(shards) == 0 && primary != "" {
			shards = []string{primary}
		}
		all := bson.D{}
		for _, id := range shards {
			all = append(all, bson.E{Key: id, Value: append(slices.Clone(reply), bson.E{Key: "ok", Value: 1.0})})
		}
		return append(all, reply...), nil
	}
}

// ConnPoolStats returns the replica sets that a mongos monitors. It shows no pools, because the mock's
// router has no connections to its shards.
func ConnPoolStats(c *call.Call) (bson.D, error) {
	shards, err := c.Cluster.ConfigDB().Shards()
	if err != nil {
		return nil, err
	}
	sets := bson.D{}
	watch := func(id catalog.ShardID, connection string) {
		name, members, _ := strings.Cut(connection, "/")
		hosts := bson.A{}
		for i, address := range strings.Split(members, ",") {
			up := !c.Cluster.Faults().IsDown(id)
			hosts = append(hosts, bson.D{
				{Key: "addr", Value: address}, {Key: "ok", Value: up}, {Key: "ismaster", Value: up && i == 0},
				{Key: "hidden", Value: false}, {Key: "secondary", Value: up && i > 0},
				{Key: "pingTimeMillis", Value: c.Cluster.Faults().Ping(id).Seconds() * 1000},
			})
		}
		sets = append(sets, bson.E{Key: name, Value: bson.D{{Key: "hosts", Value: hosts}}})
	}
	watch("config", c.Cluster.Addresses().ConfigServer())
	for _, s := range shards {
		if s.Host != c.Cluster.Addresses().ConfigServer() {
			watch(s.ID, s.Host)
		}
	}
	call.SortFields(sets)
	reply := bson.D{
		{Key: "numClientConnections", Value: int32(0)},
		{Key: "numAScopedConnections", Value: int32(0)},
	}
	for _, name := range []string{"totalInUse", "totalAvailable", "totalLeased", "totalCreated", "totalRefreshing",
		"totalRefreshed", "totalWasNeverUsed"} {
		reply = append(reply, bson.E{Key: name, Value: int32(0)})
	}
	for _, name := range []string{"acquisitionWaitTimes", "pools", "hosts"} {
		reply = append(reply, bson.E{Key: name, Value: bson.D{}})
	}
	return append(reply,
		bson.E{Key: "replicaSetMatchingStrategy", Value: "matchPrimaryNode"},
		bson.E{Key: "numReplicaSetMonitorsCreated", Value: int32(len(sets))},
		bson.E{Key: "replicaSets", Value: sets},
	), nil
}

// getDiagnosticData returns a sample of the data that a server samples every second.
func getDiagnosticData(c *call.Call) (bson.D, error) {
	data, err := RunDiagnosticCommands(c, DiagnosticCommand{"serverStatus", ServerStatus},
		DiagnosticCommand{"connPoolStats", ConnPoolStats})
	return bson.D{{Key: "data", Value: data}}, err
}

// fsync does nothing: the changes of a command are on disk before its reply. It rejects lock.
func fsync(c *call.Call) (bson.D, error) {
	if args.IsTrueOrNonzero(c.Body.Lookup("lock")) {
		return nil, mongoerr.New(mongoerr.NotImplemented,
			"the mock can't lock the cluster for a backup: use mock.save() for a snapshot")
	}
	all := bson.D{}
	for _, id := range c.Cluster.ShardIDs() {
		all = append(all, bson.E{Key: string(id), Value: bson.D{{Key: "numFiles", Value: int32(1)}, {Key: "ok", Value: 1.0}}})
	}
	return bson.D{{Key: "numFiles", Value: int32(len(all))}, {Key: "all", Value: all}}, nil
}

// logRotate only checks its argument: there is no log file.
func logRotate(c *call.Call) (bson.D, error) {
	v := c.Body.Lookup("logRotate")
	_, isNumber := args.Number(v)
	text, isText := v.StringValueOK()
	switch {
	case !isNumber && !isText && v.Type != bson.TypeBoolean:
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"BSON field 'logRotate.logRotate' is the wrong type '%s', expected types '[string, number]'", args.TypeName(v.Type))
	case isText && text != "server" && text != "audit":
		return nil, mongoerr.New(mongoerr.NoSuchKey, "Unknown log type '%s' for rotation: it is 'server' or 'audit'", text)
	}
	return bson.D{}, nil
}

// DiagnosticCommand is a command that a node runs every second for its diagnostic data.
type DiagnosticCommand struct {
	Name string
	Run  call.Handler
}

// RunDiagnosticCommands runs commands, and returns their replies with the times of each command and of
// the whole.
func RunDiagnosticCommands(c *call.Call, list ...DiagnosticCommand) (bson.D, error) {
	now := func() bson.DateTime { return bson.NewDateTimeFromTime(c.Cluster.Now()) }
	data := bson.D{{Key: "start", Value: now()}}
	for _, s := range list {
		begun := now()
		doc, err := s.Run(c.NewInner(c.DB, s.Name, document.Empty))
		if err != nil {
			return nil, err
		}
		whole := append(bson.D{{Key: "start", Value: begun}}, doc...)
		data = append(data, bson.E{Key: s.Name,
			Value: append(whole, bson.E{Key: "ok", Value: 1.0}, bson.E{Key: "end", Value: now()})})
	}
	return append(data, bson.E{Key: "end", Value: now()}), nil
}
