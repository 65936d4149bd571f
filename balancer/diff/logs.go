package diff

import (
	"slices"
	"strings"
	"time"

	"shardsh/balancer/catalog"
)

// attachLogs tells of each change what the newer snapshot's logs have of it: entries after the
// older snapshot, about the same thing.
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
	found := map[about]*Logged{}
	for _, e := range slices.Concat(d.new.Changes, d.new.Actions) {
		if e.Time.After(d.old.Time) {
			at := about{e.What, entryName(e)}
			if found[at] == nil {
				found[at] = &Logged{First: e.Time}
			}
			found[at].add(e)
		}
	}
	for i := range d.result.Changes {
		c := &d.result.Changes[i]
		for _, what := range called[c.Kind] {
			if l := found[about{what, c.logName()}]; l != nil {
				c.Logged = c.Logged.merge(l)
			}
		}
	}
}

// entryName is what an entry is about: a namespace, a shard, or nothing.
func entryName(e catalog.LogEntry) string {
	switch e.What {
	case "addShard":
		return e.DetailText("name")
	case "removeShard", "removeShard.start", "removeShard.stopShardDraining":
		return e.DetailText("shard")
	}
	return e.Namespace
}

// logName is what a change is about, as entries of logs have it.
func (c Change) logName() string {
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

func (l *Logged) add(e catalog.LogEntry) {
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

// merge adds the entries of another name to those there are.
func (l *Logged) merge(o *Logged) *Logged {
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
