package servers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

func operationHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"currentOp": currentOp,
		"killOp":    killOp,
	}
}

// opTypes maps commands to their op in $currentOp. All others are "command".
var opTypes = map[string]string{
	"find": "query", "getMore": "getmore", "insert": "insert", "update": "update", "delete": "remove",
	"killCursors": "killcursors",
}

// operationDoc returns a command of the mongos in the format of $currentOp.
func operationDoc(o call.Operation, cluster *mock.Cluster) bson.D {
	c := o.Call
	running := c.Now
	if running.IsZero() { // the command is waiting for the lock
		running = cluster.Now()
	}
	elapsed := max(0, cluster.Now().Sub(running))
	kind, known := opTypes[o.Name]
	if !known {
		kind = "command"
	}
	ns := c.DB + ".$cmd"
	if name, isText := c.Body.Lookup(c.InvokedAs).StringValueOK(); isText && !strings.Contains(name, ".") && name != "" {
		ns = c.DB + "." + name
	} else if o.Name == "aggregate" {
		ns += ".aggregate"
	}
	doc := bson.D{
		{Key: "type", Value: "op"},
		{Key: "host", Value: c.Node.Host()},
		{Key: "desc", Value: "conn" + strconv.Itoa(int(c.Client.ID))},
		{Key: "connectionId", Value: c.Client.ID},
		{Key: "client", Value: c.Client.Remote},
	}
	if metadata := c.Conn.Metadata; metadata != nil {
		if app := args.Text(metadata.Lookup("application", "name")); app != "" {
			doc = append(doc, bson.E{Key: "appName", Value: app})
		}
		doc = append(doc, bson.E{Key: "clientMetadata", Value: metadata})
	}
	doc = append(doc,
		bson.E{Key: "active", Value: true},
		bson.E{Key: "currentOpTime", Value: opTime(cluster)},
		bson.E{Key: "opid", Value: o.ID},
	)
	if c.LSID != nil {
		doc = append(doc, bson.E{Key: "lsid", Value: c.LSID.Doc()})
	}
	return append(doc,
		bson.E{Key: "secs_running", Value: int64(elapsed.Seconds())},
		bson.E{Key: "microsecs_running", Value: elapsed.Microseconds()},
		bson.E{Key: "op", Value: kind},
		bson.E{Key: "ns", Value: ns},
		bson.E{Key: "redacted", Value: false},
		bson.E{Key: "command", Value: c.Body.Raw},
	)
}

// currentOpOptions are the options of the stage (rules/03-commands §1.7).
type currentOpOptions struct{ allUsers, localOps, idle bool }

func readCurrentOpOptions(spec bson.RawValue) (o currentOpOptions, err error) {
	doc, isDoc := spec.DocumentOK()
	if !isDoc {
		return o, mongoerr.New(mongoerr.FailedToParse, "$currentOp options must be specified in an object, but found: %s",
			args.TypeName(spec.Type))
	}
	elems, err := doc.Elements()
	if err != nil {
		return o, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	var ignored bool
	known := map[string]*bool{
		"allUsers": &o.allUsers, "localOps": &o.localOps, "idleConnections": &o.idle, "idleCursors": &ignored,
		"idleSessions": &ignored, "truncateOps": &ignored, "backtrace": &ignored, "targetAllNodes": &ignored,
	}
	for _, e := range elems {
		into := known[e.Key()]
		if into == nil {
			return o, mongoerr.New(mongoerr.FailedToParse, "Unrecognized option '%s' in $currentOp stage.", e.Key())
		}
		v, isBool := e.Value().BooleanOK()
		if !isBool {
			return o, mongoerr.New(mongoerr.TypeMismatch,
				"The '%s' parameter of the $currentOp stage must be a boolean value, but found: %s", e.Key(),
				args.TypeName(e.Value().Type))
		}
		*into = v
	}
	return o, nil
}

// currentOpStage generates the documents of $currentOp: the mongos's own operations, or those of the
// shards. The latter are migrations and reshardings in progress, and the stage itself on each shard.
func currentOpStage(c *call.Call, _ string, spec bson.RawValue) ([]bson.Raw, error) {
	options, err := readCurrentOpOptions(spec)
	if err != nil {
		return nil, err
	}
	if c.Node.Member != nil {
		return c.Node.MemberState.Operations(c, options.allUsers, options.idle)
	}
	if options.localOps {
		return LocalOps(c, options.allUsers)
	}
	if err := c.Request.ContactShards(); err != nil {
		return nil, err
	}
	docs := stageOps(c)
	if c.Node.AuthRequired && !options.allUsers { // operations of the shards belong to no user
		return call.MarshalAll(docs)
	}
	for _, m := range c.Cluster.Migrations().List() {
		docs = append(docs, MigrationOps(c.Cluster, m, options.idle)...)
	}
	for _, a := range c.Cluster.Balancer().Actions() {
		seconds := int64(c.Cluster.Now().Sub(a.Started).Seconds())
		docs = append(docs, nodeOp(c.Cluster, a.Shard, a.Op, catalog.ConfigServerID, a.Command, seconds))
	}
	return call.MarshalAll(append(docs, reshardingOps(c.Cluster)...))
}

// LocalOps returns the commands in progress on this node, either all or those of the caller.
func LocalOps(c *call.Call, allUsers bool) ([]bson.Raw, error) {
	var docs []bson.D
	for _, op := range c.Node.Operations.List() {
		if allUsers || op.Call.Conn.UserName() == c.Conn.UserName() {
			docs = append(docs, operationDoc(op, c.Cluster))
		}
	}
	return call.MarshalAll(docs)
}

// stageOps returns the operations of the $currentOp stage itself, which runs on each shard and appears in
// its own result.
func stageOps(c *call.Call) []bson.D {
	shards, err := c.Cluster.ConfigDB().Shards()
	if err != nil {
		return nil
	}
	var docs []bson.D
	for _, s := range shards {
		docs = append(docs, bson.D{
			{Key: "shard", Value: string(s.ID)},
			{Key: "type", Value: "op"},
			{Key: "host", Value: c.Cluster.Addresses().FirstMember(s.ID)},
			{Key: "desc", Value: "conn" + strconv.Itoa(int(c.Client.ID))},
			{Key: "connectionId", Value: c.Client.ID},
			{Key: "client_s", Value: c.Client.Remote},
			{Key: "active", Value: true},
			{Key: "currentOpTime", Value: opTime(c.Cluster)},
			{Key: "opid", Value: fmt.Sprintf("%s:%d", s.ID, c.OpID)},
			{Key: "secs_running", Value: int64(0)},
			{Key: "microsecs_running", Value: int64(1)},
			{Key: "op", Value: "command"},
			{Key: "ns", Value: "admin.$cmd.aggregate"},
			{Key: "redacted", Value: false},
			{Key: "command", Value: c.Body.Raw},
			{Key: "numYields", Value: int32(0)},
			{Key: "waitingForLock", Value: false},
		})
	}
	return docs
}

// currentOp runs the stage $currentOp as a command. Fields that begin with $ are options, the others are
// a filter (rules/03-commands §1.7).
func currentOp(c *call.Call) (bson.D, error) {
	options := bson.D{{Key: "allUsers", Value: !args.IsTrueOrNonzero(c.Body.Lookup("$ownOps"))},
		{Key: "idleConnections", Value: args.IsTrueOrNonzero(c.Body.Lookup("$all"))}}
	elems, err := c.Body.Elements()
	if err != nil {
		return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	filter := bson.D{}
	for _, e := range elems[1:] {
		if !args.IsGeneric(e.Key()) && !strings.HasPrefix(e.Key(), "$") {
			filter = append(filter, bson.E{Key: e.Key(), Value: e.Value()})
		}
	}
	raw, err := bson.Marshal(bson.D{{Key: "o", Value: options}, {Key: "f", Value: filter}})
	if err != nil {
		return nil, err
	}
	docs, err := currentOpStage(c, "", bson.Raw(raw).Lookup("o"))
	if err != nil {
		return nil, err
	}
	if docs, err = c.MatchingDocuments(bson.Raw(raw).Lookup("f").Document(), docs); err != nil {
		return nil, err
	}
	slices.SortStableFunc(docs, func(a, b bson.Raw) int {
		return cmp.Compare(args.Text(a.Lookup("shard")), args.Text(b.Lookup("shard")))
	})
	return bson.D{{Key: "inprog", Value: document.ListOf(docs)}}, nil
}

// killOp kills an operation of the mongos by its number, or of a shard by "<shard>:<number>". It
// succeeds even if the operation does not exist.
func killOp(c *call.Call) (bson.D, error) {
	v := c.Body.Lookup("op")
	if v.IsZero() {
		return nil, mongoerr.New(50759, "Did not provide \"op\" field")
	}
	if text, isText := v.StringValueOK(); isText {
		return killOnShard(c.Cluster, text)
	}
	n, isNumber := args.Number(v)
	if !isNumber {
		return nil, mongoerr.New(50760, "\"op\" field was of unsupported type %s", args.TypeName(v.Type))
	}
	if n != math.Trunc(n) {
		return nil, mongoerr.New(mongoerr.BadValue,
			"Expected field \"op\" to have a value exactly representable as a 64-bit integer, but found op: %v", n)
	}
	id, err := ToOpID(int64(n))
	if err != nil {
		return nil, err
	}
	c.Node.Operations.Kill(id)
	return bson.D{}, nil
}

// ToOpID checks the range of an operation id.
func ToOpID(n int64) (int32, error) {
	if n < math.MinInt32 || n > math.MaxInt32 {
		return 0, mongoerr.New(26823, "invalid op : %d. Op ID cannot be represented with 32 bits", n)
	}
	return int32(n), nil
}

func killOnShard(cluster *mock.Cluster, text string) (bson.D, error) {
	at := strings.LastIndex(text, ":")
	if at <= 0 || at == len(text)-1 {
		return nil, mongoerr.New(28625, "The op argument to killOp must be of the format shardid:opid but found \"%s\"", text)
	}
	shard, err := cluster.ConfigDB().ShardByID(text[:at])
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseInt(text[at+1:], 10, 64)
	if err != nil {
		return nil, mongoerr.New(mongoerr.FailedToParse, "Failed to parse the op id of \"%s\": it is not a number", text)
	}
	id, err := ToOpID(n)
	if err != nil {
		return nil, err
	}
	cluster.Migrations().Kill(shard.ID, id)
	return bson.D{{Key: "shard", Value: string(shard.ID)}, {Key: "shardid", Value: id}}, nil
}
