package controls

import (
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/timespan"
)

// mockHandlers returns the mock's own commands for time, faults and virtual data. A server does not have
// them (CommandNotFound). docs/mock.md describes each.
func mockHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"mockStatus":        mockStatus,
		"mockNow":           mockNow,
		"mockAdvance":       mockAdvance,
		"mockAddShard":      mockAddShard,
		"mockCrash":         mockCrash,
		"mockRestart":       mockRestart,
		"mockPartition":     mockPartition,
		"mockHeal":          mockHeal,
		"mockSlow":          mockSlow,
		"mockFailNext":      mockFailNext,
		"mockSameMachineId": mockSameMachineID,
		"mockStepDown":      mockStepDown,
		"mockChangeFCV":     mockChangeFCV,
		"mockInstall":       mockInstall,
		"mockFill":          mockFill,
		"mockWorkload":      mockWorkload,
		"mockInvariants":    mockInvariants,
	}
}

func typeError(c *call.Call, field string, v bson.RawValue, expected string) error {
	return mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.%s' is the wrong type '%s', expected %s", c.InvokedAs,
		field, args.TypeName(v.Type), expected)
}

// nameArg returns the command's value as the name of a node or a namespace.
func nameArg(c *call.Call, what string) (string, error) {
	v := c.TargetArg()
	name, isText := v.StringValueOK()
	if !isText {
		return "", typeError(c, c.InvokedAs, v, what)
	}
	return name, nil
}

// durationArg reads a duration: a string such as "2h", "30d" or "20ms", or a number of milliseconds.
func durationArg(c *call.Call, field string) (time.Duration, error) {
	v := c.Args[field]
	if text, isText := v.StringValueOK(); isText {
		d, err := timespan.Parse(text)
		if err != nil {
			return 0, mongoerr.New(mongoerr.BadValue,
				"BSON field '%s.%s': %q is not a duration like \"2h\", \"1d12h\" or \"20ms\"", c.InvokedAs, field, text)
		}
		return d, nil
	}
	ms, isNumber := args.Number(v)
	if !isNumber {
		return 0, typeError(c, field, v, "a duration like \"2h\" or a number of milliseconds")
	}
	if !(ms >= 0 && ms <= float64(timespan.Max/time.Millisecond)) { // also NaN
		return 0, mongoerr.New(mongoerr.BadValue, "BSON field '%s.%s': %v milliseconds are out of range", c.InvokedAs, field,
			ms)
	}
	return time.Duration(ms * float64(time.Millisecond)), nil
}

// sizeArg reads a size: a string such as "10GB", or a number of bytes.
func sizeArg(c *call.Call, field string) (int64, error) {
	v := c.Args[field]
	if text, isText := v.StringValueOK(); isText {
		n, err := catalog.ParseSize(text)
		if err != nil {
			return 0, mongoerr.New(mongoerr.BadValue, "BSON field '%s.%s': %s", c.InvokedAs, field, err)
		}
		return n, nil
	}
	n, isNumber := args.Number(v)
	if !isNumber {
		return 0, typeError(c, field, v, "a size like \"10GB\" or a number of bytes")
	}
	if !(n >= 0 && n < 1<<62) {
		return 0, mongoerr.New(mongoerr.BadValue, "BSON field '%s.%s': %v bytes are out of range", c.InvokedAs, field, n)
	}
	return int64(n), nil
}

func mockNow(c *call.Call) (bson.D, error) {
	return bson.D{{Key: "now", Value: bson.NewDateTimeFromTime(c.Cluster.Now())}}, nil
}

func mockAdvance(c *call.Call) (bson.D, error) {
	d, err := durationArg(c, c.InvokedAs)
	if err != nil {
		return nil, err
	}
	if d > timespan.Max {
		return nil, mongoerr.New(mongoerr.BadValue, "time jumps by at most %v at once", timespan.Max)
	}
	if err := c.Cluster.ClockUnderLock().Advance(d); err != nil {
		return nil, err
	}
	return mockNow(c)
}

// mockAddShard adds an empty shard. The options name, host and zones are optional.
func mockAddShard(c *call.Call) (bson.D, error) {
	options, isDoc := c.TargetArg().DocumentOK()
	if n, isNumber := args.Number(c.TargetArg()); !isDoc && (!isNumber || n != 1) {
		return nil, typeError(c, c.InvokedAs, c.TargetArg(), "an object {name, host, zones} or 1")
	}
	var shard mock.ShardSpec
	elems, err := options.Elements()
	if err != nil && isDoc {
		return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	for _, e := range elems {
		isText := e.Value().Type == bson.TypeString
		switch key := e.Key(); {
		case key == "name" && isText:
			shard.Name = e.Value().StringValue()
		case key == "host" && isText:
			shard.Host = e.Value().StringValue()
		case key == "zones":
			if shard.Zones, err = stringsArg(c, "zones", e.Value()); err != nil {
				return nil, err
			}
		default:
			return nil, mongoerr.New(mongoerr.BadValue,
				"mockAddShard takes {name: string, host: string, zones: [string]}, not %s: %s", key, e.Value())
		}
	}
	id, err := c.Cluster.ShardMembership().AddEmpty(shard)
	if err != nil {
		return nil, err
	}
	return bson.D{{Key: "shardAdded", Value: string(id)}}, nil
}

// stringsArg reads an array of strings.
func stringsArg(c *call.Call, field string, v bson.RawValue) ([]string, error) {
	array, isArray := v.ArrayOK()
	if !isArray {
		return nil, typeError(c, field, v, "an array of strings")
	}
	values, err := array.Values()
	if err != nil {
		return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	list := make([]string, len(values))
	for i, v := range values {
		text, isText := v.StringValueOK()
		if !isText {
			return nil, typeError(c, field, v, "an array of strings")
		}
		list[i] = text
	}
	return list, nil
}

func mockCrash(c *call.Call) (bson.D, error) {
	name, err := nameArg(c, "a shard's id or \"config\"")
	if err != nil {
		return nil, err
	}
	return bson.D{}, c.Cluster.Faults().Crash(name)
}

// mockRestart restarts a node, or for 1 all nodes that are down.
func mockRestart(c *call.Call) (bson.D, error) {
	if n, isNumber := args.Number(c.TargetArg()); isNumber && n == 1 {
		return bson.D{}, c.Cluster.Faults().Restart("")
	}
	name, err := nameArg(c, "a shard's id, \"config\", or 1 for all")
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, mongoerr.New(mongoerr.BadValue,
			"mockRestart takes a shard id, \"config\", or 1 for all nodes that are down")
	}
	return bson.D{}, c.Cluster.Faults().Restart(name)
}

func mockPartition(c *call.Call) (bson.D, error) {
	nodes, err := stringsArg(c, c.InvokedAs, c.TargetArg())
	if err != nil {
		return nil, err
	}
	if len(nodes) != 2 {
		return nil, mongoerr.New(mongoerr.BadValue, "mockPartition takes two nodes ([a, b]), not %d", len(nodes))
	}
	return bson.D{}, c.Cluster.Faults().Partition(nodes[0], nodes[1])
}

// mockSameMachineID makes the second of two shards use the machine id of the first.
func mockSameMachineID(c *call.Call) (bson.D, error) {
	shards, err := stringsArg(c, c.InvokedAs, c.TargetArg())
	if err != nil {
		return nil, err
	}
	if len(shards) != 2 {
		return nil, mongoerr.New(mongoerr.BadValue, "mockSameMachineId takes two shards, [a, b], not %d", len(shards))
	}
	return bson.D{}, c.Cluster.MachineIDs().Share(shards[0], shards[1])
}

// mockHeal heals the partition between two nodes, all partitions of one node, or for 1 all faults.
func mockHeal(c *call.Call) (bson.D, error) {
	v := c.TargetArg()
	if n, isNumber := args.Number(v); isNumber && n == 1 {
		return bson.D{}, c.Cluster.Faults().Heal()
	}
	if name, isText := v.StringValueOK(); isText {
		return bson.D{}, c.Cluster.Faults().Heal(name)
	}
	nodes, err := stringsArg(c, c.InvokedAs, v)
	if err != nil {
		return nil, err
	}
	if len(nodes) != 2 {
		return nil, mongoerr.New(mongoerr.BadValue, "mockHeal takes two nodes ([a, b]), one node, or 1 for all faults")
	}
	return bson.D{}, c.Cluster.Faults().Heal(nodes...)
}

// mockSlow makes a node slow. Without values it restores the normal speed.
func mockSlow(c *call.Call) (bson.D, error) {
	name, err := nameArg(c, "a shard's id, \"config\" or \"router\"")
	if err != nil {
		return nil, err
	}
	var s mock.Slowness
	if c.Args.Has("bandwidth") {
		if s.Bandwidth, err = sizeArg(c, "bandwidth"); err != nil {
			return nil, err
		}
		if s.Bandwidth == 0 {
			return nil, mongoerr.New(mongoerr.BadValue,
				"the bandwidth cannot be 0: use mockPartition to cut the network, or omit bandwidth for no limit")
		}
	}
	for _, d := range []struct {
		name string
		into *time.Duration
	}{{"latency", &s.Latency}, {"lag", &s.ReportedLag}, {"secondary", &s.SecondaryLag}, {"ahead", &s.ClockSkew}} {
		if !c.Args.Has(d.name) {
			continue
		}
		if *d.into, err = durationArg(c, d.name); err != nil {
			return nil, err
		}
	}
	if c.Args.Has("queue") {
		n, isNumber := args.Number(c.Args["queue"])
		if !isNumber || n != float64(int32(n)) {
			return nil, typeError(c, "queue", c.Args["queue"], "a number of operations")
		}
		s.Queue = int32(n)
	}
	return bson.D{}, c.Cluster.Faults().SetSlowness(name, s)
}

func mockStepDown(c *call.Call) (bson.D, error) {
	zone, err := timeZoneArg(c)
	if err != nil {
		return nil, err
	}
	if err := c.Cluster.Balancer().StepDown(zone); err != nil {
		return nil, err
	}
	return bson.D{{Key: "term", Value: c.Cluster.Term()}}, nil
}

// mockChangeFCV starts a change of the feature compatibility version, which completes by itself.
func mockChangeFCV(c *call.Call) (bson.D, error) {
	version, err := nameArg(c, "a version such as \"9.0\"")
	if err != nil {
		return nil, err
	}
	var takes time.Duration
	if c.Args.Has("takes") {
		if takes, err = durationArg(c, "takes"); err != nil {
			return nil, err
		}
	}
	return bson.D{}, c.Cluster.ClusterParameters().StartFCVChange(version, takes)
}

// mockInstall installs another release on some or all servers.
func mockInstall(c *call.Call) (bson.D, error) {
	version := args.Text(c.Args["version"])
	r, err := catalog.ParseRelease(version)
	if err != nil {
		return nil, mongoerr.New(mongoerr.BadValue, "%v", err)
	}
	on := mock.ServerSelector{
		Shard: args.Text(c.Args["shard"]), Member: args.Text(c.Args["member"]), Router: args.Text(c.Args["router"]),
		ConfigServers: args.IsTrueOrNonzero(c.Args["configServers"]), Routers: args.IsTrueOrNonzero(c.Args["routers"]),
	}
	return bson.D{}, c.Cluster.InstalledReleases().Install(on, r)
}

// timeZoneArg returns the time zone of the new primary. It returns nil if the new primary has the time
// zone of the old one.
func timeZoneArg(c *call.Call) (*time.Location, error) {
	name, given := c.Args["timeZone"].StringValueOK()
	if !given {
		return nil, nil
	}
	zone, err := catalog.ParseTimeZone(name)
	if err != nil {
		return nil, mongoerr.New(mongoerr.BadValue, "BSON field 'mockStepDown.timeZone': %v", err)
	}
	return zone, nil
}

func mockInvariants(c *call.Call) (bson.D, error) {
	broken := document.ListOf(c.Cluster.BrokenInvariants())
	return bson.D{{Key: "holds", Value: len(broken) == 0}, {Key: "broken", Value: broken}}, nil
}

func mockStatus(c *call.Call) (bson.D, error) {
	state := c.Cluster.Faults().State()
	nodes := bson.A{}
	for _, id := range c.Cluster.Faults().ServerIDs() {
		nodes = append(nodes, bson.D{{Key: "node", Value: id}, {Key: "up", Value: !slices.Contains(state.Down, id)}})
	}
	partitions, slow, failures := bson.A{}, bson.D{}, bson.A{}
	for _, p := range state.Partitions {
		partitions = append(partitions, bson.A{p[0], p[1]})
	}
	for id, s := range state.Slow {
		slow = append(slow,
			bson.E{Key: id, Value: bson.D{{Key: "bandwidth", Value: s.Bandwidth},
				{Key: "latencyMillis", Value: s.Latency.Milliseconds()},
				{Key: "lagMillis", Value: s.ReportedLag.Milliseconds()}, {Key: "queue", Value: s.Queue},
				{Key: "secondaryMillis", Value: s.SecondaryLag.Milliseconds()},
				{Key: "aheadMillis", Value: s.ClockSkew.Milliseconds()}}})
	}
	call.SortFields(slow)
	for _, f := range state.Failures {
		failures = append(failures, failureDoc(f))
	}
	clock := "virtual"
	if c.Cluster.ClockUnderLock().IsRealTime() {
		clock = "real"
	}
	routers := bson.A{}
	for _, r := range c.Cluster.Routers().List() {
		routers = append(routers, r.Address)
	}
	return bson.D{
		{Key: "now", Value: bson.NewDateTimeFromTime(c.Cluster.Now())},
		{Key: "time", Value: clock},
		{Key: "term", Value: c.Cluster.Term()},
		{Key: "routers", Value: routers},
		{Key: "nodes", Value: nodes},
		{Key: "partitions", Value: partitions},
		{Key: "slow", Value: slow},
		{Key: "failures", Value: failures},
		{Key: "migrations", Value: int32(len(c.Cluster.Migrations().List()))},
		{Key: "unfinishedMigrations", Value: int32(state.UnfinishedMigrations)},
	}, nil
}

// mockFill distributes virtual data over a collection's chunks.
func mockFill(c *call.Call) (bson.D, error) {
	ns, err := nameArg(c, "a namespace")
	if err != nil {
		return nil, err
	}
	f := mock.Fill{}
	if f.Bytes, err = sizeArg(c, "bytes"); err != nil {
		return nil, err
	}
	if v, given := c.Args["docs"]; given {
		n, _ := args.Number(v)
		if !(n >= 1 && n < 1<<62) {
			return nil, mongoerr.New(mongoerr.BadValue, "BSON field 'mockFill.docs': %v is not a number of documents", n)
		}
		f.Docs = int64(n)
	}
	if err := readDistribution(c, &f); err != nil {
		return nil, err
	}
	return bson.D{}, c.Cluster.Collections().AddVirtualData(ns, f)
}

func readDistribution(c *call.Call, f *mock.Fill) error {
	v, given := c.Args["distribution"]
	if !given {
		return nil
	}
	switch text, _ := v.StringValueOK(); {
	case text == "even":
		return nil
	case text == "skewed":
		f.Skewed = true
		return nil
	}
	doc, isDoc := v.DocumentOK()
	if !isDoc {
		return mongoerr.New(mongoerr.BadValue,
			"BSON field 'mockFill.distribution': %s must be \"even\", \"skewed\" or shares such as {shard0: 0.7, shard1: "+
				"0.3}", v)
	}
	elems, err := doc.Elements()
	if err != nil {
		return mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	f.Shares = map[catalog.ShardID]float64{}
	for _, e := range elems {
		share, isNumber := args.Number(e.Value())
		if !isNumber {
			return typeError(c, "distribution."+e.Key(), e.Value(), "a share from 0 to 1")
		}
		f.Shares[catalog.ShardID(e.Key())] = share
	}
	return nil
}
