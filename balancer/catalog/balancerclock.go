package catalog

import (
	"fmt"
	"strings"
	"time"

	"shardsh/balancer/humanize"
)

// BalancerClock is the clock with which the balancer reads its windows: the local time of the config
// servers' primary. No command returns it, but log entries contain it.
type BalancerClock struct {
	// Location is the time zone of the clock; nil if it is not known. If it is from a log, it is the
	// UTC offset at the time SeenAt.
	Location *time.Location
	// SeenAt is the time of the newest log entry that shows the zone; zero if the user has named the
	// zone.
	SeenAt time.Time
}

// ParseTimeZone parses UTC, an offset such as +02:00, or a name such as Europe/Berlin.
func ParseTimeZone(name string) (*time.Location, error) {
	for _, form := range []string{offsetLayout, "-0700"} {
		if at, err := time.Parse(form, name); err == nil {
			return offsetLocation(at), nil
		}
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || strings.EqualFold(name, "local") {
		return nil, fmt.Errorf("%q is not a valid time zone, such as UTC, +02:00 or Europe/Berlin", name)
	}
	return zone, nil
}

const offsetLayout = "-07:00"

// offsetLocation returns the zone of the offset of a time that was parsed.
func offsetLocation(at time.Time) *time.Location {
	_, offset := at.Zone()
	if offset == 0 {
		return time.UTC
	}
	return time.FixedZone(at.Format(offsetLayout), offset)
}

// LogTimeFormat returns the layout of the times in the _ids of log entries.
func (r Release) LogTimeFormat() string {
	if r.FCVAtLeast(Release44) {
		return logTimeLayout + offsetLayout
	}
	return logTimeLayout + "-0700"
}

const logTimeLayout = "2006-01-02T15:04:05.000"

// ClockFromLogs returns the clock that the newest entry of a config server shows in some logs, whose
// entries are in the order of time. The _id of an entry is
// <server>-2026-11-22T03:40:00.000+01:00-<ObjectId>, with the local time of the server that wrote it.
func ClockFromLogs(logs ...[]LogEntry) (clock BalancerClock) {
	for _, log := range logs {
		for i := len(log) - 1; i >= 0; i-- {
			if zone := log[i].configServerLocation(); zone != nil {
				if log[i].Time.After(clock.SeenAt) {
					clock = BalancerClock{zone, log[i].Time}
				}
				break
			}
		}
	}
	return clock
}

// configServerLocation returns the time zone in which a config server wrote the entry; nil if another
// server wrote it, or if the entry does not show the zone.
func (e LogEntry) configServerLocation() *time.Location {
	shard, told := e.Raw.Lookup("shard").StringValueOK()
	switch {
	case told && shard != string(ConfigServerID):
		return nil
	case !told && !strings.HasPrefix(e.What, "balancer."): // before 4.0 entries do not name the server that wrote them
		return nil
	}
	id, _ := e.Raw.Lookup("_id").StringValueOK()
	server, _ := e.Raw.Lookup("server").StringValueOK()
	id = strings.TrimPrefix(strings.TrimPrefix(id, server), "-")
	cut := strings.LastIndexByte(id, '-')
	if cut < len(logTimeLayout) {
		return nil
	}
	// The _id may begin with another name for the server.
	for _, form := range []string{logTimeLayout + offsetLayout, logTimeLayout + "-0700"} {
		if from := cut - len(form); from >= 0 {
			if at, err := time.Parse(form, id[from:cut]); err == nil {
				return offsetLocation(at)
			}
		}
	}
	return nil
}

// possibleLocations returns the time zones that the clock may have at a time.
func (c BalancerClock) possibleLocations(now time.Time) []*time.Location {
	switch {
	case c.Location == nil:
		var all []*time.Location
		for minutes := -12 * 60; minutes <= 14*60; minutes += 15 {
			all = append(all, time.FixedZone("", minutes*60))
		}
		return all
	case c.SeenAt.IsZero() || now.Sub(c.SeenAt) <= LogSpan:
		return []*time.Location{c.Location}
	}
	// Daylight saving may have begun or ended since.
	_, offset := c.SeenAt.In(c.Location).Zone()
	const hour = 60 * 60
	return []*time.Location{c.Location, time.FixedZone("", offset-hour), time.FixedZone("", offset+hour)}
}

// IsKnownAt reports whether the clock's offset is certain at a time.
func (c BalancerClock) IsKnownAt(now time.Time) bool { return len(c.possibleLocations(now)) == 1 }

// String returns the zone as text: "UTC", "-08:00", "Europe/Berlin".
func (c BalancerClock) String() string {
	if c.Location == nil {
		return "unknown time zone"
	}
	return c.Location.String()
}

// Opening is the next time at which the balancer's window is open. The two times are equal if the clock
// is known.
type Opening struct {
	Earliest, Latest time.Time
	// Never says that the window never opens.
	Never bool
}

// IsExact reports whether the time at which the window opens is certain.
func (o Opening) IsExact() bool { return o.Earliest.Equal(o.Latest) }

// HasWindow reports whether the balancer works only in windows.
func (s *Settings) HasWindow() bool { return s.Window != nil || len(s.Days) > 0 }

// NextOpening returns when the balancer's window is open next: now if it is open or if there is no
// window. The times are in the zone of the clock if the zone is known.
func (s *Snapshot) NextOpening() (o Opening) {
	settings, now := s.parts.Settings, s.BalancerTime()
	if !settings.HasWindow() {
		return Opening{Earliest: now, Latest: now}
	}
	for _, zone := range s.parts.Clock.possibleLocations(now) {
		at, ever := settings.NextOpen(now.In(zone))
		if !ever {
			return Opening{Never: true}
		}
		at = at.In(now.Location())
		if o.Earliest.IsZero() || at.Before(o.Earliest) {
			o.Earliest = at
		}
		if at.After(o.Latest) {
			o.Latest = at
		}
	}
	return o
}

// BalancerTime returns the time on the clock with which the balancer reads its windows; in UTC if the
// clock is not known.
func (s *Snapshot) BalancerTime() time.Time {
	if s.parts.Clock.Location == nil {
		return s.parts.Time.UTC()
	}
	return s.parts.Time.In(s.parts.Clock.Location)
}

// WithClock returns a copy in which the balancer's windows are in a time zone that the user has named;
// nil changes nothing.
func (s *Snapshot) WithClock(zone *time.Location) *Snapshot {
	if zone == nil {
		return s
	}
	next := *s
	next.parts.Clock = BalancerClock{Location: zone}
	return &next
}

// WindowText returns the balancer's window with its time zone; empty without a window.
func (s *Snapshot) WindowText() string {
	settings := s.parts.Settings
	var text string
	switch {
	case len(settings.Days) > 0:
		text = humanize.Count(int64(len(settings.Days)), "window") + " a week"
	case settings.Window != nil:
		text = settings.Window.String()
	default:
		return ""
	}
	switch clock := s.parts.Clock; {
	case clock.Location == nil:
		return text + " in an unknown time zone"
	case !clock.IsKnownAt(s.parts.Time):
		return fmt.Sprintf("%s %s (as of %s)", text, clock, clock.SeenAt.UTC().Format("2006-01-02"))
	default:
		return text + " " + clock.String()
	}
}

// ExtremeTimeZones returns the two extreme time zones if the clock is not known: the zone in which the
// window opens first and stays open longest, and the zone in which it opens last. If the clock is
// known, both are the zone of the clock.
func (s *Snapshot) ExtremeTimeZones() (first, last *time.Location) {
	settings, now := s.parts.Settings, s.BalancerTime()
	if s.parts.Clock.Location != nil || !settings.HasWindow() {
		return now.Location(), now.Location()
	}
	const step, most = 15 * time.Minute, 24 * time.Hour
	var earliest, latest, stays time.Duration
	for _, zone := range s.parts.Clock.possibleLocations(now) {
		opens, ever := settings.NextOpen(now.In(zone))
		if !ever {
			break
		}
		wait, open := opens.Sub(now), time.Duration(0)
		for open < most && settings.inWindow(opens.Add(open)) {
			open += step
		}
		if first == nil || wait < earliest || wait == earliest && open > stays {
			first, earliest, stays = zone, wait, open
		}
		if last == nil || wait > latest {
			last, latest = zone, wait
		}
	}
	if first == nil { // the window never opens
		return time.UTC, time.UTC
	}
	return first, last
}
