package diff

import (
	"slices"
	"strings"
	"time"

	"shardsh/balancer/catalog"
)

// attachLogs adds to each change the entries in the newer snapshot's logs that are later than the older
// snapshot and about the same object.
func (d *differ) attachLogs() {
	d.result.LogsSince = d.new.Time.Add(-catalog.LogSpan)
	if d.result.LogsSince.Before(d.old.Time) {
		d.result.LogsSince = d.old.Time
	}
	called := map[Kind][]string{}
	for _, k := range Kinds() {
		called[k.Kind] = k.logEvents
	}
	type about struct{ what, name string }
	found := map[about]*LogSummary{}
	for _, e := range slices.Concat(d.new.Changes, d.new.Actions) {
		if e.Time.After(d.old.Time) {
			at := about{e.What, entryObject(e)}
			if found[at] == nil {
				found[at] = &LogSummary{First: e.Time}
			}
			found[at].add(e)
		}
	}
	for i := range d.result.Changes {
		c := &d.result.Changes[i]
		for _, what := range called[c.Kind] {
			if l := found[about{what, c.logObject()}]; l != nil {
				c.Logged = c.Logged.merge(l)
			}
		}
	}
}

// entryObject returns the object of an entry: a namespace, a shard, or an empty string.
func entryObject(e catalog.LogEntry) string {
	switch e.What {
	case "addShard":
		return e.DetailText("name")
	case "removeShard", "removeShard.start", "removeShard.stopShardDraining":
		return e.DetailText("shard")
	}
	return e.Namespace
}

// logObject returns the object of a change in the form in which log entries name it.
func (c Change) logObject() string {
	switch {
	case c.Kind == Renamed:
		return c.Old
	case c.Namespace != "":
		return c.Namespace
	case c.Database != "":
		return c.Database
	}
	return string(c.Shard)
}

func (l *LogSummary) add(e catalog.LogEntry) {
	l.Entries++
	l.Last = latest(l.Last, e.Time)
	client, _ := e.Raw.Lookup("clientAddr").StringValueOK()
	if port := strings.LastIndexByte(client, ':'); port > strings.LastIndexByte(client, ']') {
		client = client[:port]
	}
	if client != "" && !slices.Contains(l.Clients, client) {
		l.Clients = append(l.Clients, client)
	}
}

// merge merges the entries of another name into l.
func (l *LogSummary) merge(o *LogSummary) *LogSummary {
	if l == nil {
		copied := *o
		return &copied
	}
	l.Entries += o.Entries
	l.Last = latest(l.Last, o.Last)
	if o.First.Before(l.First) {
		l.First = o.First
	}
	for _, client := range o.Clients {
		if !slices.Contains(l.Clients, client) {
			l.Clients = append(slices.Clip(l.Clients), client)
		}
	}
	return l
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
