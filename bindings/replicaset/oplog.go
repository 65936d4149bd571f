package replicaset

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
	"shardsh/bindings/stats"
)

const megabyte = 1 << 20

// ReplicationInfo returns the size and the time span of local.oplog.rs.
func ReplicationInfo(h Host, d *server.Database) *goja.Object {
	local := d.Sibling("local")
	if !slices.ContainsFunc(local.ListCollections(rawdoc.Empty, true, nil),
		func(info bson.Raw) bool { return rawdoc.Text(info, "name") == "oplog.rs" }) {
		h.JS.ThrowCoded(script.InvalidInputErrorName, script.CodeNoReplicaSet,
			"Replication not detected. Are you connected to a replset?")
	}
	sizes, _ := stats.Collection{JS: h.JS, Gateway: h.Gateway, Display: h.Display, Database: local,
		Name: "oplog.rs"}.Stats(stats.Options{Scale: 1}).(*goja.Object)
	most := script.Property(sizes, "maxSize")
	if most == nil || !most.ToBoolean() {
		h.JS.ThrowCoded(script.RuntimeErrorName, script.CodeCommandFailed,
			"Could not get stats for local.oplog.rs collection. collstats returned %s", h.JS.EJSONText(sizes))
	}
	size := 0.0
	if v := script.Property(sizes, "size"); v != nil {
		size = v.ToFloat()
	}
	first := local.FindOne("oplog.rs", rawdoc.Empty, server.SortField("$natural", 1))
	last := local.FindOne("oplog.rs", rawdoc.Empty, server.SortField("$natural", -1))
	if first == nil || last == nil {
		h.JS.ThrowCoded(script.RuntimeErrorName, script.CodeCommandFailed,
			"objects not found in local.oplog.$main -- is this a new and empty db instance?")
	}
	o := h.JS.NewObject(
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
	script.Must(o.Set("now", dateText(h.JS.Clock.Now())))
	return o
}

func hours(seconds float64) float64 { return math.Round(seconds/36) / 100 }

// dateText formats a time like Date.prototype.toString.
func dateText(t time.Time) string { return t.Local().Format("Mon Jan 02 2006 15:04:05 GMT-0700 (MST)") }

// PrintReplicationInfo implements db.printReplicationInfo().
func PrintReplicationInfo(h Host, d *server.Database) goja.Value {
	var info *goja.Object
	if ex := h.JS.Runtime.Try(func() { info = ReplicationInfo(h, d) }); ex != nil {
		hello := d.Run(server.Command("hello"), server.Repeatable)
		switch {
		case rawdoc.IsFieldTruthy(hello, "arbiterOnly"):
			return h.Display.StatsResult(h.JS.NewObject("message", "cannot provide replication status from an arbiter"))
		case !rawdoc.IsFieldTruthy(hello, "isWritablePrimary"):
			o := h.JS.NewObject("message", "this is a secondary, printing secondary replication info.")
			addSecondaryInfo(h, d, o)
			return h.Display.StatsResult(o)
		}
		panic(ex)
	}
	text := func(name string) string { return script.OptionalText(info.Get(name)) }
	return h.Display.StatsResult(h.JS.NewObject(
		"actual oplog size", text("logSizeMB")+" MB",
		"configured oplog size", text("configuredLogSizeMB")+" MB",
		"log length start to end", text("timeDiff")+" secs ("+text("timeDiffHours")+" hrs)",
		"oplog first event time", text("tFirst"),
		"oplog last event time", text("tLast"),
		"now", text("now"),
	))
}

// PrintSecondaryReplicationInfo implements db.printSecondaryReplicationInfo().
func PrintSecondaryReplicationInfo(h Host, d *server.Database) goja.Value {
	o := h.JS.Runtime.NewObject()
	addSecondaryInfo(h, d, o)
	return h.Display.StatsResult(o)
}

// The states of members in replSetGetStatus.
const (
	statePrimary = 1
	stateArbiter = 7
)

// addSecondaryInfo adds a section for each data-bearing secondary.
func addSecondaryInfo(h Host, d *server.Database, o *goja.Object) {
	if d.Sibling("local").FindOne("system.replset", rawdoc.Empty) == nil {
		h.JS.ThrowCoded(script.InvalidInputErrorName, script.CodeNoReplicaSet,
			"local.system.replset is empty. Are you connected to a replica set?")
	}
	list, _ := d.RunAdmin(server.Command("replSetGetStatus"), server.Repeatable).Lookup("members").ArrayOK()
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
		section := h.JS.Runtime.NewObject()
		_, optimeErr := m.LookupErr("optime")
		health, healthErr := m.LookupErr("health")
		if optimeErr == nil && (healthErr != nil || catalog.IsTruthyInJS(health)) {
			at, _ := m.Lookup("optimeDate").TimeOK()
			ago := newest.Sub(at).Seconds()
			script.Must(section.Set("syncedTo", dateText(at)))
			script.Must(section.Set("replLag", fmt.Sprintf("%s secs (%s hrs) behind the %s",
				plaintext.JSNumber(math.Round(ago)), plaintext.JSNumber(hours(ago)), behind)))
		} else {
			script.Must(section.Set("no replication info, yet.  State", rawdoc.Text(m, "stateStr")))
		}
		script.Must(o.Set("source: "+rawdoc.Text(m, "name"), section))
	}
}

// IsMaster implements db.isMaster(), the old name of hello.
func IsMaster(h Host, d *server.Database) goja.Value {
	o := h.Display.ReplyValue(d.Run(server.Command("isMaster"), server.Repeatable)).(*goja.Object)
	if o.Get("isWritablePrimary") == nil {
		script.Must(o.Set("isWritablePrimary", o.Get("ismaster")))
	}
	return o
}
