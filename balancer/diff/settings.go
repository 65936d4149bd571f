package diff

import (
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// settings compares what is in effect, by the release of each side.
func (d *differ) settings() {
	if !d.known("settings", "") {
		return
	}
	was, is := d.was.Settings, d.is.Settings
	for _, s := range []struct {
		kind Kind
		name string
		text func(catalog.Settings) string
	}{
		{Balancer, "balancer", modeText},
		{Window, "window", func(s catalog.Settings) string { return s.Window.String() }},
		{DayWindows, "windows of weekdays", daysText},
		{ChunkSize, "chunk size", func(s catalog.Settings) string { return humanize.Bytes(s.MaxChunkSizeBytes) }},
		{AutoMerge, "auto-merger", func(s catalog.Settings) string { return onOff(s.AutoMerge) }},
		{AutoSplit, "auto-split", func(s catalog.Settings) string { return onOff(s.AutoSplit) }},
		{Throttle, "secondary throttle", throttleText},
		{WaitForDelete, "waiting for deletions", func(s catalog.Settings) string { return onOff(s.WaitForDelete) }},
		{AttemptJumbo, "moving jumbo chunks", func(s catalog.Settings) string { return onOff(s.AttemptJumbo) }},
	} {
		if before, now := s.text(was), s.text(is); before != now {
			d.add(Change{Kind: s.kind, Old: before, New: now}, "%s: %s, was %s", s.name, now, before)
		}
	}
	if before, now := d.was.SettingsProblem, d.is.SettingsProblem; before != now {
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

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
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

// databases compares them. A database that is gone has its collections along.
func (d *differ) databases() {
	if !d.known("databases", "") {
		return
	}
	pairs, names := match(d.was.Databases, d.is.Databases, func(b *catalog.Database) string { return b.Name })
	for i, p := range pairs {
		c := Change{Database: names[i]}
		switch {
		case p.was == nil:
			c.Kind, c.Shard = DatabaseAdded, p.is.Primary
			d.add(c, "%s is new, on %s", c.Database, c.Shard)
		case p.is == nil:
			c.Kind, c.Shard = DatabaseDropped, p.was.Primary
			d.add(c, "%s was dropped%s", c.Database, d.collectionsIn(c.Database))
		case p.was.Primary != p.is.Primary:
			c.Kind, c.Old, c.New = PrimaryMoved, string(p.was.Primary), string(p.is.Primary)
			d.add(c, "the primary of %s is %s, was %s", c.Database, c.New, c.Old)
		}
	}
}

// collectionsIn names the sharded collections that a database had.
func (d *differ) collectionsIn(database string) string {
	n := 0
	for _, c := range d.was.Collections {
		if !c.Unsplittable && strings.HasPrefix(c.Namespace, database+".") {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return ", with " + humanize.Count(n, "sharded collection")
}

// runs compares who has the lease, and whether runs are paused.
func (d *differ) runs() {
	if !d.known("lease", "") {
		return
	}
	was, is := running(d.was.Lease), running(d.is.Lease)
	if was != is {
		if was != "" {
			d.add(Change{Kind: RunEnded, Old: was}, "ended: %s", was)
		}
		if is != "" {
			d.add(Change{Kind: RunStarted, New: is}, "running: %s", is)
		}
	}
	before, now := paused(d.was.Pause), paused(d.is.Pause)
	if before != now {
		if before != "" {
			d.add(Change{Kind: PauseEnded, Old: before}, "not paused any more: %s", before)
		}
		if now != "" {
			d.add(Change{Kind: PauseSet, New: now}, "paused: %s", now)
		}
	}
}

func running(l *catalog.Lease) string {
	if l == nil || !l.Running {
		return ""
	}
	return l.Holder() + ", since " + humanize.Time(l.Since.UTC())
}

func paused(p *catalog.Pause) string {
	if p == nil || !p.Active {
		return ""
	}
	return p.String()
}
