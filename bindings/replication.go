package bindings

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/plaintext"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// replicationMethods() look at the oplog and at the members of a replica set.
func replicationMethods() []method[*database] {
	return []method[*database]{
		{"getReplicationInfo", "", func(c *call, d *database) goja.Value { return c.replicationInfo(d) },
			"Returns size and time span of the oplog."},
		{"printReplicationInfo", "", dbPrintReplicationInfo, "Shows size and time span of the oplog."},
		{"printSecondaryReplicationInfo", "", dbPrintSecondaryReplicationInfo,
			"Shows how far the secondaries are behind."},
		{"printSlaveReplicationInfo", "", func(c *call, _ *database) goja.Value {
			c.JS.ThrowCoded(script.Deprecated, script.CodeDeprecated,
				"Method deprecated, use db.printSecondaryReplicationInfo instead")
			return nil
		}, ""},
	}
}

const megabyte = 1 << 20

// replicationInfo measures local.oplog.rs.
func (c *call) replicationInfo(d *database) *goja.Object {
	local := d.sibling("local")
	if !slices.ContainsFunc(local.listCollections(rawdoc.Empty, true, nil),
		func(info bson.Raw) bool { return rawdoc.Text(info, "name") == "oplog.rs" }) {
		c.JS.ThrowCoded(script.InvalidInput, script.CodeNoReplicaSet,
			"Replication not detected. Are you connected to a replset?")
	}
	stats, _ := c.s.collectionStats(local.collection("oplog.rs"), statsOptions{scale: 1}).(*goja.Object)
	most := script.Property(stats, "maxSize")
	if most == nil || !most.ToBoolean() {
		c.JS.ThrowCoded(script.RuntimeError, script.CodeCommandFailed,
			"Could not get stats for local.oplog.rs collection. collstats returned %s", c.json(stats))
	}
	size := 0.0
	if v := script.Property(stats, "size"); v != nil {
		size = v.ToFloat()
	}
	first := local.FindOne("oplog.rs", rawdoc.Empty, server.SortedBy("$natural", 1))
	last := local.FindOne("oplog.rs", rawdoc.Empty, server.SortedBy("$natural", -1))
	if first == nil || last == nil {
		c.JS.ThrowCoded(script.RuntimeError, script.CodeCommandFailed,
			"objects not found in local.oplog.$main -- is this a new and empty db instance?")
	}
	o := c.JS.NewObject(
		"configuredLogSizeMB", most.ToFloat()/megabyte,
		"logSizeMB", max(most.ToFloat(), size)/megabyte,
		"usedMB", math.Ceil(size/megabyte*100)/100,
	)
	from, _, okFrom := first.Lookup("ts").TimestampOK()
	to, _, okTo := last.Lookup("ts").TimestampOK()
	if !okFrom || !okTo {
		script.Must(o.Set("errmsg", "ts element not found in oplog objects"))
		return o
	}
	span := float64(to) - float64(from)
	script.Must(o.Set("timeDiff", span))
	script.Must(o.Set("timeDiffHours", hours(span)))
	script.Must(o.Set("tFirst", dateText(time.Unix(int64(from), 0))))
	script.Must(o.Set("tLast", dateText(time.Unix(int64(to), 0))))
	script.Must(o.Set("now", dateText(c.JS.Clock.Now())))
	return o
}

func hours(seconds float64) float64 { return math.Round(seconds/36) / 100 }

// dateText is Date.prototype.toString.
func dateText(t time.Time) string { return t.Local().Format("Mon Jan 02 2006 15:04:05 GMT-0700 (MST)") }

func dbPrintReplicationInfo(c *call, d *database) goja.Value {
	var info *goja.Object
	if ex := c.JS.Runtime.Try(func() { info = c.replicationInfo(d) }); ex != nil {
		hello := d.Run(server.Command("hello"), server.Reads)
		switch {
		case rawdoc.TruthyAt(hello, "arbiterOnly"):
			return c.s.display.StatsResult(c.JS.NewObject("message", "cannot provide replication status from an arbiter"))
		case !rawdoc.TruthyAt(hello, "isWritablePrimary"):
			o := c.JS.NewObject("message", "this is a secondary, printing secondary replication info.")
			c.secondaryInfo(d, o)
			return c.s.display.StatsResult(o)
		}
		panic(ex)
	}
	text := func(name string) string { return script.OptionalText(info.Get(name)) }
	return c.s.display.StatsResult(c.JS.NewObject(
		"actual oplog size", text("logSizeMB")+" MB",
		"configured oplog size", text("configuredLogSizeMB")+" MB",
		"log length start to end", text("timeDiff")+" secs ("+text("timeDiffHours")+" hrs)",
		"oplog first event time", text("tFirst"),
		"oplog last event time", text("tLast"),
		"now", text("now"),
	))
}

func dbPrintSecondaryReplicationInfo(c *call, d *database) goja.Value {
	o := c.JS.Runtime.NewObject()
	c.secondaryInfo(d, o)
	return c.s.display.StatsResult(o)
}

// States of members as replSetGetStatus numbers them.
const (
	statePrimary = 1
	stateArbiter = 7
)

// secondaryInfo adds a section for each member that copies data.
func (c *call) secondaryInfo(d *database, o *goja.Object) {
	if d.sibling("local").FindOne("system.replset", rawdoc.Empty) == nil {
		c.JS.ThrowCoded(script.InvalidInput, script.CodeNoReplicaSet,
			"local.system.replset is empty. Are you connected to a replica set?")
	}
	list, _ := d.Admin(server.Command("replSetGetStatus"), server.Reads).Lookup("members").ArrayOK()
	values, _ := list.Values()
	var members []bson.Raw
	var newest time.Time
	behind := "freshest member (no primary available at the moment)"
	for _, v := range values {
		m, _ := v.DocumentOK()
		members = append(members, m)
		if t, ok := m.Lookup("optimeDate").TimeOK(); ok && t.After(newest) {
			newest = t
		}
	}
	for _, m := range members {
		if rawdoc.Int(m, "state") == statePrimary {
			newest, _ = m.Lookup("optimeDate").TimeOK()
			behind = "primary "
		}
	}
	for _, m := range members {
		if state := rawdoc.Int(m, "state"); state == statePrimary || state == stateArbiter {
			continue
		}
		section := c.JS.Runtime.NewObject()
		_, noOptime := m.LookupErr("optime")
		health, noHealth := m.LookupErr("health")
		if noOptime == nil && (noHealth != nil || rawdoc.Truthy(health)) {
			at, _ := m.Lookup("optimeDate").TimeOK()
			ago := newest.Sub(at).Seconds()
			script.Must(section.Set("syncedTo", dateText(at)))
			script.Must(section.Set("replLag", fmt.Sprintf("%s secs (%s hrs) behind the %s",
				plaintext.PlainNumber(math.Round(ago)), plaintext.PlainNumber(hours(ago)), behind)))
		} else {
			script.Must(section.Set("no replication info, yet.  State", rawdoc.Text(m, "stateStr")))
		}
		script.Must(o.Set("source: "+rawdoc.Text(m, "name"), section))
	}
}
