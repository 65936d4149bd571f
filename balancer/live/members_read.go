package live

import (
	"cmp"
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/pace"
)

// readQuantities reads the wanted quantities of a replica set.
func (m *replicaSetClient) readQuantities(
	ctx context.Context,
	id catalog.ShardID,
	wanted []pace.Quantity,
) ([]pace.Reading, error) {
	a := NewCommandRunner(m.client)
	wants := func(list ...pace.Quantity) bool {
		return slices.ContainsFunc(list, func(q pace.Quantity) bool { return slices.Contains(wanted, q) })
	}
	status, err := a.RunCommand(ctx, "admin", bson.D{
		{Key: "serverStatus", Value: 1}, {Key: "metrics", Value: 0}, {Key: "locks", Value: 0}, {Key: "repl", Value: 1},
	})
	if err != nil {
		return nil, ServerError(err)
	}
	own := pace.Reading{
		Member: string(id) + "/" + cmp.Or(text(status, "repl", "me"), text(status, "host")),
		Values: parseLoad(status),
	}
	list := []pace.Reading{own}
	if wants(pace.Lag, pace.MajorityLag) {
		set, err := a.RunCommand(ctx, "admin", bson.D{{Key: "replSetGetStatus", Value: 1}})
		switch err = ServerError(err); {
		case mongoerr.Is(err, mongoerr.NoReplicationEnabled): // there are no secondaries
		case err != nil:
			return nil, err
		case wants(pace.Lag):
			list = append(list, parseLags(id, set, delayedMembers(ctx, a))...)
			fallthrough
		default:
			if behind, told := majorityLag(set); told {
				own.Values[pace.MajorityLag] = behind.Seconds()
			}
		}
	}
	if wants(pace.Oplog) {
		if window, told := readOplogWindow(ctx, a); told {
			own.Values[pace.Oplog] = window.Seconds()
		}
	}
	if wants(pace.CPU) {
		if busy, told := m.cpuShare(ctx, a, status); told {
			own.Values[pace.CPU] = busy
		}
	}
	return list, readDisksAndDeletions(ctx, a, own.Values, wants)
}

// readDisksAndDeletions reads the fraction of the volume in use, and the data to be deleted.
func readDisksAndDeletions(ctx context.Context, a CommandRunner, values map[pace.Quantity]float64,
	wants func(...pace.Quantity) bool) error {
	if wants(pace.Disk) {
		database, command := VolumesCommand()
		reply, err := a.RunCommand(ctx, database, command)
		if err != nil {
			return ServerError(err)
		}
		if d := parseVolume(reply); d.Known() {
			values[pace.Disk] = d.UsedShare()
		}
	}
	if !wants(pace.Deletions, pace.Orphans) {
		return nil
	}
	docs, err := a.RunCursorCommand(ctx, "config", bson.D{
		{Key: "find", Value: "rangeDeletions"}, {Key: "projection", Value: bson.D{{Key: "numOrphanDocs", Value: 1}}},
	})
	if err != nil {
		return ServerError(err)
	}
	values[pace.Deletions] = float64(len(docs))
	orphans, told := 0.0, len(docs) == 0
	for _, doc := range docs {
		n, ok := doc.Lookup("numOrphanDocs").AsFloat64OK()
		orphans, told = orphans+n, told || ok
	}
	if told { // releases before 6.0 do not count them
		values[pace.Orphans] = orphans
	}
	return nil
}

// majorityLag returns the time by which the majority commit point is behind the primary's last applied
// entry.
func majorityLag(status bson.Raw) (time.Duration, bool) {
	applied, ok := status.Lookup("optimes", "lastAppliedWallTime").TimeOK()
	committed, also := status.Lookup("optimes", "lastCommittedWallTime").TimeOK()
	return max(0, applied.Sub(committed)), ok && also
}

// parseLoad parses the reply of serverStatus. Without WiredTiger, and on a mock, there is no cache.
func parseLoad(status bson.Raw) map[pace.Quantity]float64 {
	values := map[pace.Quantity]float64{}
	for q, path := range map[pace.Quantity][]string{
		pace.Queue:       {"globalLock", "currentQueue", "total"},
		pace.Active:      {"globalLock", "activeClients", "total"},
		pace.Connections: {"connections", "current"},
	} {
		if v, ok := status.Lookup(path...).AsFloat64OK(); ok {
			values[q] = v
		}
	}
	of := func(name string) float64 {
		v, _ := status.Lookup("wiredTiger", "cache", name).AsFloat64OK()
		return v
	}
	if most := of("maximum bytes configured"); most > 0 {
		values[pace.Cache] = of("bytes currently in the cache") / most
		values[pace.Dirty] = of("tracked dirty bytes in the cache") / most
	}
	return values
}

// These are the states of members in replSetGetStatus.
const (
	statePrimary    = 1
	stateSecondary  = 2
	stateRecovering = 3
)

// parseLags returns the replication lag of the secondaries, without members that are down, in initial
// sync, or delayed by configuration.
func parseLags(id catalog.ShardID, status bson.Raw, late map[string]bool) (list []pace.Reading) {
	members, _ := status.Lookup("members").ArrayOK()
	values, _ := members.Values()
	var newest time.Time
	for _, v := range values {
		m, _ := v.DocumentOK()
		if at, ok := m.Lookup("optimeDate").TimeOK(); ok && integer(m, "state") == statePrimary {
			newest = at
		}
	}
	for _, v := range values {
		m, _ := v.DocumentOK()
		state := integer(m, "state")
		at, ok := m.Lookup("optimeDate").TimeOK()
		if name := text(m, "name"); ok && !newest.IsZero() && !late[name] &&
			(state == stateSecondary || state == stateRecovering) {
			behind := max(0, newest.Sub(at).Seconds())
			list = append(list, pace.Reading{
				Member: string(id) + "/" + name, Values: map[pace.Quantity]float64{pace.Lag: behind},
			})
		}
	}
	if len(list) == 0 && !newest.IsZero() { // there is no secondary to consider
		list = append(list, pace.Reading{Member: string(id), Values: map[pace.Quantity]float64{pace.Lag: 0}})
	}
	return list
}

// delayedMembers returns the members that are delayed by configuration; none if the user may not read
// the configuration.
func delayedMembers(ctx context.Context, a CommandRunner) map[string]bool {
	config, err := a.RunCommand(ctx, "admin", bson.D{{Key: "replSetGetConfig", Value: 1}})
	if err != nil {
		return nil
	}
	list := map[string]bool{}
	members, _ := config.Lookup("config", "members").ArrayOK()
	values, _ := members.Values()
	for _, v := range values {
		m, _ := v.DocumentOK()
		if integer(m, "secondaryDelaySecs") > 0 || integer(m, "slaveDelay") > 0 { // up to 4.4
			list[text(m, "host")] = true
		}
	}
	return list
}

// readOplogWindow returns the time that the oplog covers, and whether it could be read.
func readOplogWindow(ctx context.Context, a CommandRunner) (time.Duration, bool) {
	var ends [2]time.Time
	for i, direction := range []int{1, -1} {
		docs, err := a.RunCursorCommand(ctx, "local", bson.D{
			{Key: "find", Value: "oplog.rs"}, {Key: "sort", Value: bson.D{{Key: "$natural", Value: direction}}},
			{Key: "limit", Value: 1}, {Key: "projection", Value: bson.D{{Key: "ts", Value: 1}}},
		})
		if err != nil || len(docs) == 0 {
			return 0, false
		}
		at, _, ok := docs[0].Lookup("ts").TimestampOK()
		if !ok {
			return 0, false
		}
		ends[i] = time.Unix(int64(at), 0)
	}
	return ends[1].Sub(ends[0]), true
}

// cpuUsage is the CPU time that a server has used.
type cpuUsage struct {
	micros float64
	at     time.Time // by the server's clock
}

// cpuSampleInterval is the minimum time between two reads from which the CPU load is computed.
const cpuSampleInterval = time.Second

// cpuShare returns the fraction of the CPU that a server has used since the last read. It is unknown at
// the first read.
func (m *replicaSetClient) cpuShare(ctx context.Context, a CommandRunner, status bson.Raw) (float64, bool) {
	user, ok := status.Lookup("extra_info", "user_time_us").AsFloat64OK() // on Linux
	system, _ := status.Lookup("extra_info", "system_time_us").AsFloat64OK()
	at, timed := status.Lookup("localTime").TimeOK()
	if !ok || !timed {
		return 0, false
	}
	if m.cores == 0 {
		host, err := a.RunCommand(ctx, "admin", bson.D{{Key: "hostInfo", Value: 1}})
		if err != nil {
			return 0, false
		}
		m.cores, _ = host.Lookup("system", "numCores").AsFloat64OK()
	}
	last, current := m.lastUsage, cpuUsage{user + system, at}
	elapsed := current.at.Sub(last.at)
	if elapsed >= 0 && elapsed < cpuSampleInterval/2 {
		return m.lastCPUShare, m.shareKnown // of the last two reads
	}
	// If less was used than before, the server has restarted.
	m.lastUsage, m.shareKnown = current, !last.at.IsZero() && elapsed > 0 && current.micros >= last.micros && m.cores > 0
	if m.shareKnown {
		m.lastCPUShare = min(1, (current.micros-last.micros)/1e6/elapsed.Seconds()/m.cores)
	}
	return m.lastCPUShare, m.shareKnown
}
