package diff

import (
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// compareSettings compares the effective settings, by the release of each snapshot.
func (d *differ) compareSettings() {
	if !d.checkBothHave("settings", "") {
		return
	}
	was, is := d.old.Settings, d.new.Settings
	for _, s := range []struct {
		kind Kind
		name string
		text func(catalog.Settings) string
	}{
		{Balancer, "balancer", modeText},
		{Window, "window", func(s catalog.Settings) string { return s.Window.String() }},
		{DayWindows, "windows of weekdays", daysText},
		{ChunkSize, "chunk size", func(s catalog.Settings) string { return humanize.Bytes(s.MaxChunkSizeBytes) }},
		{AutoMerge, "auto-merger", func(s catalog.Settings) string { return humanize.OnOff(s.AutoMerge) }},
		{AutoSplit, "auto-split", func(s catalog.Settings) string { return humanize.OnOff(s.AutoSplit) }},
		{Throttle, "secondary throttle", throttleText},
		{WaitForDelete, "waiting for deletions", func(s catalog.Settings) string { return humanize.OnOff(s.WaitForDelete) }},
		{AttemptJumbo, "moving jumbo chunks", func(s catalog.Settings) string { return humanize.OnOff(s.AttemptJumbo) }},
	} {
		if before, now := s.text(was), s.text(is); before != now {
			d.add(Change{Kind: s.kind, Old: before, New: now}, "%s: %s, was %s", s.name, now, before)
		}
	}
	if before, now := d.old.SettingsProblem, d.new.SettingsProblem; before != now {
		c := Change{Kind: SettingsProblem, Old: before, New: now}
		if now == "" {
			d.add(c, "the settings can be read again")
		} else {
			d.add(c, "the balancer can't read its settings: %s", now)
		}
	}
}

func modeText(s catalog.Settings) string {
	if s.UnknownMode != "" {
		return string(s.Mode) + " (" + s.UnknownMode + " is not a mode)"
	}
	return string(s.Mode)
}

func daysText(s catalog.Settings) string {
	if len(s.Days) == 0 {
		return "none"
	}
	var list []string
	for _, day := range s.Days {
		list = append(list, day.Day.String()+" "+day.Window.String())
	}
	return strings.Join(list, ", ")
}

func throttleText(s catalog.Settings) string {
	states := [...]string{catalog.ThrottleDefault: "default", catalog.ThrottleOff: "off", catalog.ThrottleOn: "on"}
	text := states[s.SecondaryThrottle.State]
	if s.SecondaryThrottle.WriteConcern != nil {
		text += " " + humanize.Literal(s.SecondaryThrottle.WriteConcern)
	}
	return text
}

// compareDatabases compares the databases. A dropped database includes its collections.
func (d *differ) compareDatabases() {
	if !d.checkBothHave("databases", "") {
		return
	}
	pairs, names := pairByName(d.old.Databases, d.new.Databases, func(b *catalog.Database) string { return b.Name })
	for i, p := range pairs {
		c := Change{Database: names[i]}
		switch {
		case p.old == nil:
			c.Kind, c.Shard = DatabaseAdded, p.new.Primary
			d.add(c, "%s is new, on %s", c.Database, c.Shard)
		case p.new == nil:
			c.Kind, c.Shard = DatabaseDropped, p.old.Primary
			d.add(c, "%s was dropped%s", c.Database, d.collectionCountText(c.Database))
		case p.old.Primary != p.new.Primary:
			c.Kind, c.Old, c.New = DatabasePrimaryMoved, string(p.old.Primary), string(p.new.Primary)
			d.add(c, "the primary of %s is %s, was %s", c.Database, c.New, c.Old)
		}
	}
}

// collectionCountText says how many sharded collections a database had; empty for none.
func (d *differ) collectionCountText(database string) string {
	n := 0
	for _, c := range d.old.Collections {
		if !c.Unsplittable && strings.HasPrefix(c.Namespace, database+".") {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return ", with " + humanize.Count(n, "sharded collection")
}

// compareRuns compares the holders of the lease, and whether runs are paused.
func (d *differ) compareRuns() {
	if !d.checkBothHave("lease", "") {
		return
	}
	was, is := leaseText(d.old.Lease), leaseText(d.new.Lease)
	if was != is {
		if was != "" {
			d.add(Change{Kind: RunEnded, Old: was}, "ended: %s", was)
		}
		if is != "" {
			d.add(Change{Kind: RunStarted, New: is}, "running: %s", is)
		}
	}
	before, now := pauseText(d.old.RunsPause), pauseText(d.new.RunsPause)
	if before != now {
		if before != "" {
			d.add(Change{Kind: PauseEnded, Old: before}, "not paused any more: %s", before)
		}
		if now != "" {
			d.add(Change{Kind: PauseSet, New: now}, "paused: %s", now)
		}
	}
}

func leaseText(l *catalog.Lease) string {
	if l == nil || !l.Running {
		return ""
	}
	return l.Holder() + ", since " + humanize.Time(l.Since.UTC())
}

func pauseText(p *catalog.RunsPause) string {
	if p == nil || !p.Active {
		return ""
	}
	return p.String()
}
